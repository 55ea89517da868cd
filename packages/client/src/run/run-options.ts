import type { RunEvent } from "@promptd/contract";
import type { ImageSource } from "../images.ts";
import type { InputsOf, OptionsOf } from "./known-prompts.ts";

/** The arguments of one run. */
export interface InputsOfRun<Name = string> {
  readonly inputs?: InputsOf<Name>;
  /** In the order of the prompt's slots. */
  readonly images?: readonly ImageSource[] | undefined;
}

export interface RunPromptOptions<Name = string> extends InputsOfRun<Name> {
  /** Run options of the model, such as `quality`. */
  readonly options?: OptionsOf<Name>;
  /** Stops the waiting, not the run. */
  readonly signal?: AbortSignal | undefined;
  /** Called for each state, piece of text, and output as it arrives. */
  readonly onProgress?: ((event: RunEvent) => void) | undefined;
  /**
   * Identifies this run for 24 hours, for programs that may restart. Default: a random key. With a key of your own,
   * name a version by its id: after a restart, a slug, label, or prompt id may refer to another version, and a key can
   * identify only one request.
   */
  readonly idempotencyKey?: string | undefined;
  /** How long to retry while the server is unreachable or asks to retry later. Default: 120,000. */
  readonly retryForMs?: number | undefined;
}
