/** One parameter as sent; null where bytes are not UTF-8, or a percent sign is not followed by two hex digits. */
export interface QueryParameter {
  readonly name: string | null;
  readonly value: string | null;
  /** The parameter's raw text before decoding. */
  readonly raw: string;
}

/**
 * Splits and decodes a query string by our own rules: `+` is a space, and anything that cannot be decoded is null.
 * Node's parsers pass `%ff` through as three characters.
 */
export function parseQuery(query: string): QueryParameter[] {
  if (query === "") return [];
  return query
    .split("&")
    .filter((part) => part !== "")
    .map((raw) => {
      const at = raw.indexOf("=");
      const name = at === -1 ? raw : raw.slice(0, at);
      return { name: decodePart(name), value: at === -1 ? "" : decodePart(raw.slice(at + 1)), raw };
    });
}

function decodePart(part: string): string | null {
  if (!part.includes("%") && !part.includes("+")) return isAscii(part) ? part : null;
  try {
    const decoded = decodeURIComponent(part.replaceAll("+", " "));
    return isAscii(part) ? decoded : null;
  } catch {
    return null; // the caller reports it with the parameter's name
  }
}

/** Bytes above 127 must be percent-encoded in an address. */
function isAscii(text: string): boolean {
  return /^[ -~]*$/.test(text);
}

/** Returns what follows the first `?` of a request target. */
export function rawQuery(target: string): string {
  const at = target.indexOf("?");
  return at === -1 ? "" : target.slice(at + 1);
}

/** Returns what precedes the first `?`, without repeated and trailing slashes: `//v1/runs/` becomes `/v1/runs`. */
export function plainPath(target: string): string {
  const at = target.indexOf("?");
  const path = (at === -1 ? target : target.slice(0, at)).replace(/\/{2,}/g, "/");
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}
