/**
 * Converts strings, numbers, booleans, and lists to the strings that are sent. Omits undefined values.
 * @param what the name of such a value in an error, such as "Input".
 * @throws TypeError for any other value: the prompt would run with a meaningless text, and the run would be charged.
 */
export function toTexts(what: string, values: object): Record<string, string> {
  const given: [string, unknown][] = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, toText(`${what} "${name}"`, value)]));
}

/** The server accepts list items one per line or separated by commas. */
function toText(what: string, value: unknown): string {
  if (!Array.isArray(value)) return plainText(value) ?? refuse(what, kindOf(value));
  const items = Array.from(value, (item) => plainText(item) ?? refuse(what, `a list with ${kindOf(item)}`));
  return items.join(items.some((item) => item.includes(",")) ? "\n" : ",");
}

/** Null: it is not a plain value. */
function plainText(value: unknown): string | null {
  const isPlain = ["string", "boolean", "bigint"].includes(typeof value) || Number.isFinite(value);
  return isPlain ? String(value) : null;
}

/** Such as "null", "NaN" or "Uint8Array". */
function kindOf(value: unknown): string {
  if (value === null || value === undefined || typeof value === "number") return String(value);
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}

function refuse(what: string, kind: string): never {
  throw new TypeError(`${what} must be a string, number, boolean, or list, got ${kind}.`);
}
