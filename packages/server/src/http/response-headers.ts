/** Headers of the interface that every answer may carry, in one place. Names in lower case, as they are merged. */
const ALLOWED_REQUEST_HEADERS = "Authorization, Content-Type, Prefer, Idempotency-Key, cli-agent, If-None-Match";
const EXPOSED_HEADERS =
  "Retry-After, RateLimit, RateLimit-Policy, X-Request-Id, action-require, Location, Preference-Applied, X-Ignored, " +
  "ETag, x-should-retry, Deprecation, Sunset";

export type Headers = Record<string, string>;

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
    "access-control-allow-methods": "GET, HEAD, POST, OPTIONS",
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
