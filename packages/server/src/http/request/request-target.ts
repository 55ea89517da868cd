import { isIPv6 } from "node:net";

const AUTHORITY = /^(?:\[(?<ipv6>[\da-f:.]+)\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;
const ABSOLUTE = /^https?:\/\/(?<authority>[^/?#]*)(?<rest>[^#]*)$/i;

/** Host and perhaps a port, as a Host header has them (RFC 9110, section 7.2): no user name, no path; may be empty. */
export function isAuthority(text: string): boolean {
  const match = AUTHORITY.exec(text);
  if (match === null) return false;
  const ipv6 = match.groups?.["ipv6"];
  return ipv6 === undefined || isIPv6(ipv6);
}

/**
 * A target in absolute form, which proxies send and a server must accept (RFC 9112, section 3.2.2), as the path and query
 * in it; its authority means nothing here, since one server has one name. Whatever is no such address comes back as it
 * was: what is refused later must not be mended here.
 */
export function toOriginForm(target: string, method: string): string {
  if (target.startsWith("/")) return target;
  const { authority = "", rest = "" } = ABSOLUTE.exec(target)?.groups ?? {};
  if (authority === "" || authority.startsWith(":") || !isAuthority(authority)) return target;
  if (rest === "" && method === "OPTIONS") return "*";
  return rest.startsWith("/") ? rest : `/${rest}`;
}
