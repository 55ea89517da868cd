/** What a failure says of itself. `localhost` has two addresses, and an error of both has no message of its own. */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  if (cause.message === "" && cause instanceof AggregateError) return cause.errors.map(reasonOf).join("; ");
  return cause.message;
}
