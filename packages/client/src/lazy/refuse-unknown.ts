/** The members of RunPromptOptions, for the error message only: `run` itself detects unknown members. */
const OF_RUN = ["inputs", "images", "options", "signal", "onProgress", "idempotencyKey", "retryForMs"];

/** @throws TypeError if `run` does not accept a member of `given`. */
export function refuseUnknownOfRun(given: object): void {
  refuseUnknown("run()", given, OF_RUN);
}

/**
 * A program without types would otherwise pay for a run without its `runOptions` or `input`.
 * @throws TypeError that names the accepted members.
 */
export function refuseUnknown(what: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${what} does not accept ${JSON.stringify(unknown)}. It accepts: ${known.join(", ")}.`);
}
