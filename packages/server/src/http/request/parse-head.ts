/** What Node accepts in a request's head and the interface does not, and where a request says it goes. */
import type { IncomingMessage } from "node:http";
import { isIPv6 } from "node:net";
import { badRequest, type Problem } from "../../platform/problem.ts";

/** Node's own bound for request line and headers together. */
export const HEADER_BYTES_MAX = 16 * 1024;
const HEADERS_MAX = 1_000;

/** Null when the request may go on. */
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
    return badRequest(
      "The request target must be a path such as /v1/me, or a whole address such as http://host/v1/me.",
    );
  }
  return null;
}

/** A request leads to one host, and says so exactly once (RFC 9112, section 3.2); HTTP/1.0 had no Host yet. */
function hostFault({ httpVersion, rawHeaders }: IncomingMessage): Problem | null {
  const hosts = headerValues(rawHeaders, "host");
  const [host] = hosts;
  if (hosts.length > 1) return badRequest("The request has two Host headers. Send one.");
  if (host === undefined) return httpVersion === "1.1" ? badRequest("The request has no Host header. Send one.") : null;
  if (isAuthority(host)) return null;
  return badRequest("The Host header must be a host with an optional port, such as api.example.org:8787.");
}

/** Every value of a header in order; `name` in lower case. Node itself keeps the first of some headers silently. */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const given = rawHeaders[i] ?? "";
    if (given.length === name.length && given.toLowerCase() === name) values.push(rawHeaders[i + 1] ?? "");
  }
  return values;
}

/** Node finds `100-continue` among other expectations, and answers 417 where it does not. */
function isExpectation(expect: string | undefined): boolean {
  return expect === undefined || expect.trim().toLowerCase() === "100-continue";
}

/** Whether the request asks for another protocol: it gets its answer, but Node reads nothing that came behind it. */
export function asksToUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined;
}

const AUTHORITY = /^(?:\[(?<ipv6>[\da-f:.]+)\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;
const ABSOLUTE = /^https?:\/\/(?<authority>[^/?#]*)(?<rest>[^#]*)$/i;

/** Host with an optional port, as a Host header has them (RFC 9110, section 7.2): no user name, no path; may be empty. */
function isAuthority(text: string): boolean {
  const match = AUTHORITY.exec(text);
  if (match === null) return false;
  const ipv6 = match.groups?.["ipv6"];
  return ipv6 === undefined || isIPv6(ipv6);
}

/**
 * The path and query of a target in absolute form, which proxies send and a server must accept (RFC 9112, section
 * 3.2.2). Its authority means nothing here, since one server has one name. Anything that is not such an address is
 * returned as it was, so that `headFault` refuses it.
 */
export function toOriginForm(target: string, method: string): string {
  if (target.startsWith("/")) return target;
  const { authority = "", rest = "" } = ABSOLUTE.exec(target)?.groups ?? {};
  if (authority === "" || authority.startsWith(":") || !isAuthority(authority)) return target;
  if (rest === "" && method === "OPTIONS") return "*";
  return rest.startsWith("/") ? rest : `/${rest}`;
}
