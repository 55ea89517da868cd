/** Refuses what Node accepts in a request's head and the API does not, and reads where the request goes. */
import type { IncomingMessage } from "node:http";
import { isIPv6 } from "node:net";
import { badRequest, type Problem } from "../../platform/problem.ts";

/** Node's own limit for request line and headers together. */
export const HEADER_BYTES_MAX = 16 * 1024;
const HEADERS_MAX = 1_000;

/** Returns what is wrong with the head of the request; null: nothing. */
export function headFault(request: IncomingMessage): Problem | null {
  const { httpVersion, headers, rawHeaders, url = "" } = request;
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    return badRequest("Only HTTP/1.1 and HTTP/1.0 are supported.");
  }
  if (rawHeaders.length / 2 > HEADERS_MAX) return badRequest("The request has more than 1,000 headers. Send fewer.");
  const badHost = hostFault(request);
  if (badHost !== null) return badHost;
  if (!isExpectation(headers.expect)) return badRequest('The only Expect header accepted is "100-continue".');
  const encoding = headers["transfer-encoding"];
  if (encoding !== undefined && httpVersion === "1.0") {
    return badRequest("An HTTP/1.0 request cannot have a Transfer-Encoding. Send a Content-Length, or use HTTP/1.1.");
  }
  if (encoding !== undefined && encoding.trim().toLowerCase() !== "chunked") {
    return badRequest("The only Transfer-Encoding accepted is chunked.");
  }
  if (!url.startsWith("/") && !(url === "*" && request.method === "OPTIONS")) {
    return badRequest("The request target must be a path such as /v1/me, or a full URL such as http://host/v1/me.");
  }
  return null;
}

/** A request names its host exactly once (RFC 9112, section 3.2); HTTP/1.0 had no Host header yet. */
function hostFault({ httpVersion, rawHeaders }: IncomingMessage): Problem | null {
  const hosts = headerValues(rawHeaders, "host");
  const [host] = hosts;
  if (hosts.length > 1) return badRequest("The request has two Host headers. Send one.");
  if (host === undefined) return httpVersion === "1.1" ? badRequest("The request has no Host header. Send one.") : null;
  if (isAuthority(host)) return null;
  return badRequest("The Host header must be a host with an optional port, such as api.example.org:8787.");
}

/** Returns every value of a header in order; `name` in lower case. Node silently drops all but the first of some. */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const given = rawHeaders[i] ?? "";
    if (given.length === name.length && given.toLowerCase() === name) values.push(rawHeaders[i + 1] ?? "");
  }
  return values;
}

/** Node also finds `100-continue` among other expectations, and answers 417 if it finds none. */
function isExpectation(expect: string | undefined): boolean {
  return expect === undefined || expect.trim().toLowerCase() === "100-continue";
}

/** Whether the request asks for another protocol. It is answered, but Node reads nothing that came after it. */
export function asksToUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined;
}

const AUTHORITY = /^(?:\[(?<ipv6>[\da-f:.]+)\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;
const ABSOLUTE = /^https?:\/\/(?<authority>[^/?#]*)(?<rest>([/?][^#]*)?)$/i;

/**
 * Whether this is a host with an optional port, as in a Host header (RFC 9110, section 7.2): no user, no path; may be
 * empty.
 */
function isAuthority(text: string): boolean {
  const match = AUTHORITY.exec(text);
  if (match === null) return false;
  const ipv6 = match.groups?.["ipv6"];
  return ipv6 === undefined || isIPv6(ipv6);
}

/**
 * Returns the path and query of a target in absolute form, which proxies send and a server must accept (RFC 9112,
 * section 3.2.2). The host in it is ignored, because a server has only one name. Anything else is returned unchanged,
 * so that `headFault` refuses it.
 */
export function toOriginForm(target: string, method: string): string {
  if (target.startsWith("/")) return target;
  const { authority = "", rest = "" } = ABSOLUTE.exec(target)?.groups ?? {};
  if (authority === "" || authority.startsWith(":") || !isAuthority(authority)) return target;
  if (rest === "" && method === "OPTIONS") return "*";
  return rest.startsWith("/") ? rest : `/${rest}`;
}
