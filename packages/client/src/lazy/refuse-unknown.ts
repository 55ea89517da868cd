import type { RunPromptOptions } from "../run/run-options.ts";

/** Every member of a type; the compiler rejects one that is missing and one that does not exist. */
export type Members<Options> = Readonly<Record<keyof Options, true>>;

/** For the error message only: `run` itself detects unknown members. */
const OF_RUN: Members<RunPromptOptions> = {
  inputs: true,
  images: true,
  options: true,
  signal: true,
  onProgress: true,
  idempotencyKey: true,
  retryForMs: true,
};

/** @throws TypeError if `run` does not accept a member of `given`. */
export function refuseUnknownOfRun(given: object): void {
  refuseUnknown("run()", given, OF_RUN);
}

/**
 * A program without types would otherwise pay for a run without its `runOptions` or `input`.
 * @throws TypeError that names the accepted members.
 */
export function refuseUnknown(what: string, given: object, known: Readonly<Record<string, true>>): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  const accepted = Object.keys(known).join(", ");
  throw new TypeError(`${what} does not accept ${JSON.stringify(unknown)}. It accepts: ${accepted}.`);
}
