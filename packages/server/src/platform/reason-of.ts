/** What a failure says of itself. `localhost` has two addresses, and an error of both has no message of its own. */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  if (cause.message === "" && cause instanceof AggregateError) return cause.errors.map(reasonOf).join("; ");
  return cause.message;
}

/** The word for a failure that the system, a library or a database gives, such as ENOENT; null where it gives none. */
export function codeOf(cause: unknown): string | null {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : null;
}
