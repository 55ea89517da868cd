export interface Documented {
  /** Host and path. */
  readonly to: RegExp;
  /** The header with the key, and its format. */
  readonly key: readonly [name: string, value: RegExp];
  readonly headers?: Readonly<Record<string, RegExp>>;
  readonly required: readonly string[];
  readonly sources: readonly Source[];
}

export interface Source {
  readonly page: string;
  /** The day, such as 2026-11-23. */
  readonly read: string;
  readonly members: readonly string[];
}

/** Matches this host and path. */
export function exactly(text: string): RegExp {
  return new RegExp(`^${text.replaceAll(/[.+]/g, "\\$&")}$`);
}
