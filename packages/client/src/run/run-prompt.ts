import type { CreateRunBody, Run, RunEvent } from "@promptd/contract";
import { PromptdError, PromptdRunError } from "../errors.ts";
import { createEventLog, type EventLog } from "./event-log.ts";
import { toImageInput, type ImageSource } from "../images.ts";
import { toTexts, type InputsOf, type OptionsOf } from "./known-prompts.ts";
import { findBySlug, findLatest, isId, isNotFound } from "./resolve-prompt.ts";
import { isFinal, preferHeader, waitPreference } from "./preferences.ts";
import { WAIT_SECONDS, waitForRun, type WaitParts } from "./wait-for-run.ts";

export interface RunPromptOptions<Name = string> {
  readonly inputs?: InputsOf<Name>;
  /** In the order of the prompt's slots. */
  readonly images?: readonly ImageSource[] | undefined;
  /** Run options of the model, such as `quality`. */
  readonly options?: OptionsOf<Name>;
  /** Ends the waiting, not the run. */
  readonly signal?: AbortSignal | undefined;
  /** Called for each state, piece of text and output as it happens. */
  readonly onProgress?: ((event: RunEvent) => void) | undefined;
  /**
   * Names this run for 24 hours, for a program that may be started again; a random one when absent. Then name a version
   * by its id: a slug, a label or a prompt may lead elsewhere by the restart, and one key cannot name two requests.
   */
  readonly idempotencyKey?: string | undefined;
  /** How long a request is sent again while the server cannot be reached or says to come back; 120,000 when absent. */
  readonly retryForMs?: number | undefined;
}

/** A run that has succeeded. */
export interface FinishedRun extends Run {
  readonly promptVersionId: string;
  /** The text outputs, with a blank line between them. */
  readonly text: string;
  /** Addresses of generated images, valid for 24 hours. */
  readonly images: readonly string[];
  /** Addresses of generated videos, valid for 24 hours. */
  readonly videos: readonly string[];
  /** Names of inputs and options that had no effect. */
  readonly ignored: readonly string[];
  /** Names the request that created the run. */
  readonly requestId: string | null;
}

/** Resolves when the run has succeeded; iterated over, gives its events as they happen. */
export type RunTask = Promise<FinishedRun> & AsyncIterable<RunEvent>;

export interface RunPromptParts extends WaitParts {
  readonly newIdempotencyKey: () => string;
  readonly onWarning: (message: string) => void;
}

const RETRY_FOR_MS_DEFAULT = 120_000;

/** Begins a run of a prompt and stays with it until it is final. Whatever breaks in between, one run is made. */
export function runPrompt(parts: RunPromptParts, name: string, options: RunPromptOptions): RunTask {
  const log = createEventLog(options.onProgress, parts.onWarning);
  const task = withEnd(new Running(parts, name, options, log).finish(), log);
  const read = () => {
    task.catch(() => {}); // the reader gets the error
    return log.read();
  };
  return Object.assign(task, { [Symbol.asyncIterator]: read });
}

async function withEnd(finishing: Promise<FinishedRun>, log: EventLog): Promise<FinishedRun> {
  try {
    const finished = await finishing;
    log.end();
    return finished;
  } catch (error) {
    log.fail(error);
    throw error;
  }
}

interface Created {
  readonly runId: string;
  readonly promptVersionId: string;
  /** Null: all that is known is its id. */
  readonly run: Run | null;
  readonly ignored: readonly string[];
  readonly requestId: string | null;
}

class Running {
  readonly #parts: RunPromptParts;
  readonly #name: string;
  readonly #options: RunPromptOptions;
  readonly #log: EventLog;
  readonly #sent: { signal: AbortSignal | undefined; retryForMs: number };
  readonly #idempotencyKey: string;

  constructor(parts: RunPromptParts, name: string, options: RunPromptOptions, log: EventLog) {
    const { signal, retryForMs = RETRY_FOR_MS_DEFAULT, idempotencyKey = parts.newIdempotencyKey() } = options;
    this.#parts = parts;
    this.#name = name;
    this.#options = options;
    this.#log = log;
    this.#sent = { signal, retryForMs };
    this.#idempotencyKey = idempotencyKey;
  }

  async finish(): Promise<FinishedRun> {
    const created = await this.#create(await this.#readInputs());
    this.#warn(created);
    this.#log.state(created.runId, created.run?.runStatus ?? "running");
    const run =
      created.run !== null && isFinal(created.run)
        ? created.run
        : await waitForRun(this.#parts, created.runId, { log: this.#log, ...this.#sent });
    this.#log.finish(run);
    if (run.runStatus === "failed") throw new PromptdRunError(run, created.requestId);
    const { promptVersionId, ignored, requestId } = created;
    const dataOf = (type: string) => run.outputs.filter((item) => item.type === type).map((item) => item.data);
    const text = dataOf("text").join("\n\n");
    return { ...run, promptVersionId, text, images: dataOf("image"), videos: dataOf("video"), ignored, requestId };
  }

  async #readInputs(): Promise<Omit<CreateRunBody, "promptVersionId">> {
    const { inputs = {}, images = [], options = {} } = this.#options;
    const imageInputs = await Promise.all(images.map(toImageInput));
    return { inputs: { textInputs: toTexts(inputs), imageInputs }, runOptions: toTexts(options) };
  }

  /** An id is tried as that of a version first, which programs pin, and then as that of a prompt. */
  async #create(body: Omit<CreateRunBody, "promptVersionId">): Promise<Created> {
    const { call } = this.#parts;
    const name = this.#name;
    if (!isId(name)) return this.#send({ ...body, promptVersionId: await findBySlug(call, name, this.#sent) });
    if (this.#options.idempotencyKey !== undefined) {
      // Its key may be used already: a body that tries out what the id means would be a conflict.
      const promptVersionId = (await findLatest(call, name, this.#sent)) ?? name;
      return this.#send({ ...body, promptVersionId });
    }
    try {
      return await this.#send({ ...body, promptVersionId: name });
    } catch (error) {
      const latest = isNotFound(error) ? await findLatest(call, name, this.#sent) : null;
      if (latest === null) throw error;
      return this.#send({ ...body, promptVersionId: latest });
    }
  }

  async #send(body: CreateRunBody): Promise<Created> {
    const { promptVersionId } = body;
    const wait = this.#log.isRead() ? "stream" : waitPreference(WAIT_SECONDS);
    const headers = { ...preferHeader(["respond-async", wait]), "idempotency-key": this.#idempotencyKey };
    const timeoutMs = this.#parts.timeoutMs + WAIT_SECONDS * 1_000;
    try {
      const given = { params: {}, query: {}, body, headers, timeoutMs, ...this.#sent };
      const { data, headers: answered } = await this.#parts.call("createRun", given);
      const ignored = readIgnored(answered.get("x-ignored"));
      return { runId: data.runId, promptVersionId, run: data, ignored, requestId: answered.get("x-request-id") };
    } catch (error) {
      // The run goes on; creating it again would run and charge twice.
      const runId = error instanceof PromptdError ? error.runId : null;
      if (!(error instanceof PromptdError) || runId === null) throw error;
      return { runId, promptVersionId, run: null, ignored: [], requestId: error.requestId };
    }
  }

  #warn({ ignored, runId }: Created): void {
    if (ignored.length === 0) return;
    const names = ignored.map((name) => JSON.stringify(name)).join(", ");
    this.#parts.onWarning(`The run ${runId} ignored ${names}: the prompt has no such input or option.`);
  }
}

/** Names are percent-encoded, since a header cannot carry every letter. */
function readIgnored(header: string | null): string[] {
  return header === null ? [] : header.split(",").map((name) => decodeURIComponent(name.trim()));
}
