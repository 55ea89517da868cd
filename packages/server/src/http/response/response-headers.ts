/** The API's response headers, in one file. Their names are in lower case where they are merged. */
const ALLOWED_REQUEST_HEADERS =
  "Authorization, Content-Type, Prefer, Idempotency-Key, cli-agent, If-None-Match, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name";

/**
 * Every response header that a caller may act on, with its description in the OpenAPI document. Pages may read all of
 * them: a browser hides headers that are not exposed, so a client in it would retry too early or mistake a replayed run
 * for a new one.
 */
export const RESPONSE_HEADERS = {
  "X-Request-Id": "UUID of this request, assigned by the server.",
  RateLimit: 'Requests left in this second: "account";r=4;t=1.',
  "RateLimit-Policy": '5 requests in any second: "account";q=5;w=1.',
  "X-Ignored": "Percent-encoded names of the parts of the request that had no effect.",
  "action-require": "update-resources: the hash in cli-agent is no longer current.",
  "x-should-retry": "true or false: whether the client may retry the same request.",
  "Retry-After": "Whole seconds to wait.",
  "retry-after-ms": "Milliseconds to wait.",
  "WWW-Authenticate": "Bearer",
  Location: "Address of the run.",
  Allow: "Methods that the path supports; sent when only the method was wrong.",
  "Preference-Applied": "The preferences in the header Prefer that the server applied.",
  "Idempotent-Replayed": "true: the run was created by an earlier request with the same Idempotency-Key.",
  ETag: "Identifies this version of the response, for If-None-Match.",
  "X-Cut": "true: there are more rows than the CSV contains.",
  "Set-Cookie": "The session, for a browser.",
} as const;
/** Not exposed: the management API is not open to pages of other origins, and no script may read a cookie being set. */
const OWN_PAGES_HEADERS: ReadonlySet<string> = new Set(["Set-Cookie", "X-Cut"]);
const EXPOSED_HEADERS = Object.keys(RESPONSE_HEADERS)
  .filter((name) => !OWN_PAGES_HEADERS.has(name))
  .join(", ");

export type Headers = Record<string, string | string[]>;

/** Returns the CORS headers that let pages read answers: for `*`, or for a listed origin. Never with credentials. */
export function corsHeaders(origins: readonly string[], origin: string | undefined): Headers {
  const isOpen = origins.includes("*");
  if (origin === undefined) return isOpen ? { "access-control-allow-origin": "*" } : { vary: "Origin" };
  const exposed = { "access-control-expose-headers": EXPOSED_HEADERS };
  if (isOpen) return { "access-control-allow-origin": "*", ...exposed };
  return origins.includes(origin)
    ? { "access-control-allow-origin": origin, vary: "Origin", ...exposed }
    : { vary: "Origin" };
}

/** The answer to OPTIONS on any path: it needs no key and is not counted. */
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
 * Returns the value of X-Ignored: as many whole names as fit into 1,024 bytes, percent-encoded by RFC 3986 because a
 * name may be in any script, which would make the header invalid. Null: there are no names.
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
 * Whether a client that names a catalogue hash in `cli-agent` must refresh its catalogue. The hash named is the value
 * of `resources_hash=` up to `;`, `,`, or white space, else the whole header. False when the header is absent or blank.
 */
export function isOutdatedAgent(cliAgent: string | undefined, currentHash: () => string): boolean {
  const value = cliAgent?.trim() ?? "";
  if (value === "") return false;
  const named = /resources_hash=([^;,\s]*)/.exec(value)?.[1] ?? value;
  return named !== currentHash();
}
