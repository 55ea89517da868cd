/** Headers of the interface that every answer may carry, in one place. Names in lower case, as they are merged. */
const ALLOWED_REQUEST_HEADERS =
  "Authorization, Content-Type, Prefer, Idempotency-Key, cli-agent, If-None-Match, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name";

/**
 * Every response header of the interface that a caller may act on, with what the OpenAPI document says of it. Pages may
 * read all of them: a browser hides what is not exposed, and a client in it would then repeat too early or take a
 * repeated run for a new one.
 */
export const RESPONSE_HEADERS = {
  "X-Request-Id": "UUID of this request, made by the server.",
  RateLimit: 'Requests left in this second: "account";r=4;t=1.',
  "RateLimit-Policy": '5 requests in any second: "account";q=5;w=1.',
  "X-Ignored": "Names of parts of the request that had no effect, percent-encoded.",
  "action-require": "update-resources: the hash in cli-agent is not the current one.",
  "x-should-retry": "true or false: whether the same request may be sent again.",
  "Retry-After": "Whole seconds to wait.",
  "retry-after-ms": "Milliseconds to wait.",
  "WWW-Authenticate": "Bearer",
  Location: "Address of the run.",
  Allow: "Methods the path knows; sent when only the method was wrong.",
  "Preference-Applied": "The preferences of the header Prefer that were honoured.",
  "Idempotent-Replayed": "true: the run was created by an earlier request with the same Idempotency-Key.",
  ETag: "Names this version of the answer, for If-None-Match.",
  "X-Cut": "true: there are more rows than the CSV has.",
  "Set-Cookie": "The session, for a browser.",
} as const;
/** Of the management API, which pages of other origins do not reach; and no script may read a cookie that is set. */
const OWN_PAGES_HEADERS: ReadonlySet<string> = new Set(["Set-Cookie", "X-Cut"]);
const EXPOSED_HEADERS = Object.keys(RESPONSE_HEADERS)
  .filter((name) => !OWN_PAGES_HEADERS.has(name))
  .join(", ");

export type Headers = Record<string, string | string[]>;

/** Pages of which origins may read the answers: `*`, or the listed one that asks. No credentials either way. */
export function corsHeaders(origins: readonly string[], origin: string | undefined): Headers {
  const isOpen = origins.includes("*");
  if (origin === undefined) return isOpen ? { "access-control-allow-origin": "*" } : { vary: "Origin" };
  const exposed = { "access-control-expose-headers": EXPOSED_HEADERS };
  if (isOpen) return { "access-control-allow-origin": "*", ...exposed };
  return origins.includes(origin)
    ? { "access-control-allow-origin": origin, vary: "Origin", ...exposed }
    : { vary: "Origin" };
}

/** Answer to OPTIONS, whatever the path: without key and not counted. */
export function preflightHeaders(): Headers {
  return {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
    "access-control-allow-headers": ALLOWED_REQUEST_HEADERS,
    "access-control-expose-headers": EXPOSED_HEADERS,
    "access-control-max-age": "86400",
  };
}

const IGNORED_BYTES_MAX = 1_024;

/**
 * Value of X-Ignored: names percent-encoded by RFC 3986, since a name may be in any script and a raw one would make
 * the header invalid; whole names up to 1,024 bytes. Null when there is none.
 */
export function ignoredHeader(names: Iterable<string>): string | null {
  let value = "";
  for (const name of new Set(names)) {
    const encoded = encodeURIComponent(name.toWellFormed()).replace(
      /[!'()*]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
    );
    const longer = value === "" ? encoded : `${value}, ${encoded}`;
    if (longer.length > IGNORED_BYTES_MAX) break;
    value = longer;
  }
  return value === "" ? null : value;
}

/**
 * Whether a client that names a catalogue hash in `cli-agent` must refresh it: the value of `resources_hash=` up to
 * `;`, `,` or white space, else the whole value, differs from the current hash. False when absent or blank.
 */
export function isOutdatedAgent(cliAgent: string | undefined, currentHash: () => string): boolean {
  const value = cliAgent?.trim() ?? "";
  if (value === "") return false;
  const named = /resources_hash=([^;,\s]*)/.exec(value)?.[1] ?? value;
  return named !== currentHash();
}
