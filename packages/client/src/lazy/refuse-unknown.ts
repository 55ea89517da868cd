/** The members of RunPromptOptions, for the sentence alone: `run` itself finds what is unknown. */
const OF_RUN = ["inputs", "images", "options", "signal", "onProgress", "idempotencyKey", "retryForMs"];

/** @throws TypeError for what `run` does not take. */
export function refuseUnknownOfRun(given: object): void {
  refuseUnknown("run()", given, OF_RUN);
}

/**
 * A program without types would pay for what `runOptions` or `input` does not do.
 * @throws TypeError that names what is known.
 */
export function refuseUnknown(what: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${what} takes no ${JSON.stringify(unknown)}. It takes: ${known.join(", ")}.`);
}
