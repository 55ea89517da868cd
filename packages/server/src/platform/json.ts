export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** @returns undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An object whose members nobody has checked. */
export type PlainObject = Readonly<Record<string, unknown>>;

/** Whether JSON calls the value an object: neither a list nor null. */
export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a member of a value that may not be an object. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (Reflect.get(value, name) as unknown) : undefined;
}

/** Returns the members that are neither null nor undefined. */
export function presentMembers<Members extends object>(
  members: Members,
): { readonly [Name in keyof Members]?: NonNullable<Members[Name]> } {
  const pairs = Object.entries(members).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(pairs) as { [Name in keyof Members]?: NonNullable<Members[Name]> };
}

/** Whether PostgreSQL stores every text in a JSON value: it rejects U+0000 and lone surrogates. */
export function isStorable(value: unknown): boolean {
  const rest = [value];
  while (rest.length > 0) {
    const one = rest.pop();
    if (typeof one === "string" && (one.includes("\0") || !one.isWellFormed())) return false;
    if (typeof one === "object" && one !== null) rest.push(...Object.entries(one).flat());
  }
  return true;
}
