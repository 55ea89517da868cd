import type { CreateRunBody, Run, RunEvent } from "@promptd/contract";
import type { ClientContext } from "../client-context.ts";
import { PromptdError, PromptdRunError } from "../errors.ts";
import { createEventLog, type EventLog } from "./event-log.ts";
import type { ImageSource } from "../images.ts";
import { toTexts, type InputsOf } from "./known-prompts.ts";
import { RETRY_FOR_MS } from "../retry.ts";
import { createOfPrompt } from "./resolve-prompt.ts";
import type { RunPromptOptions } from "./run-options.ts";
import { isFinal, WAIT_SECONDS, waitForRun } from "./wait-for-run.ts";

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
  /** Identifies the request that created the run. */
  readonly requestId: string | null;
}

/** Resolves when the run has succeeded. Iterating over it yields its events as they happen. */
export type RunTask = Promise<FinishedRun> & AsyncIterable<RunEvent>;

/** Runs a prompt and waits until the run is final. Creates one run, even if requests fail in between. */
export function runPrompt(parts: ClientContext, name: string, options: RunPromptOptions): RunTask {
  const log = createEventLog(options.onProgress, parts.onWarning);
  const task = finish(parts, name, options, log);
  return Object.assign(task, {
    [Symbol.asyncIterator]: () => {
      task.catch(() => {}); // the reader gets the error
      return log.read();
    },
  });
}

async function finish(
  parts: ClientContext,
  name: string,
  options: RunPromptOptions,
  log: EventLog,
): Promise<FinishedRun> {
  try {
    const created = await create(parts, name, options, log);
    const { ignored, requestId, promptVersionId } = created;
    const { runId, runStatus } = created.run;
    if (ignored.length > 0) {
      const names = ignored.map((one) => JSON.stringify(one)).join(", ");
      parts.onWarning(`The run ${runId} ignored ${names}: the prompt has no such input or option.`);
    }
    log.state(runId, runStatus);
    const run = isFinal(created.run) ? created.run : await waitForRun(parts, runId, { ...options, log });
    log.finish(run);
    if (run.runStatus === "failed") throw new PromptdRunError(run, requestId);
    const dataOf = (type: string) => run.outputs.filter((item) => item.type === type).map((item) => item.data);
    const text = dataOf("text").join("\n\n");
    log.end();
    return { ...run, promptVersionId, text, images: dataOf("image"), videos: dataOf("video"), ignored, requestId };
  } catch (error) {
    log.end({ error });
    throw error;
  }
}

/** The inputs and images of one run, as they are sent. */
export async function readInputs(
  inputs: InputsOf<string> | undefined,
  images: readonly ImageSource[] = [],
): Promise<CreateRunBody["inputs"]> {
  return {
    textInputs: await toTexts("Input", inputs),
    imageInputs: images.length === 0 ? [] : await (await import("../images.ts")).toImageInputs(images),
  };
}

interface Created {
  readonly promptVersionId: string;
  readonly run: Run;
  readonly ignored: readonly string[];
  readonly requestId: string | null;
}

async function create(parts: ClientContext, name: string, options: RunPromptOptions, log: EventLog): Promise<Created> {
  const {
    inputs,
    images,
    options: runOptions,
    signal,
    onProgress: _,
    idempotencyKey,
    retryForMs = RETRY_FOR_MS,
    ...unknown
  } = options;
  // Without types, nothing warns that `runOptions` has no effect, and the run would be charged without it.
  if (Object.keys(unknown).length > 0) (await import("../lazy/refuse-unknown.ts")).refuseUnknownOfRun(options);
  const given = { inputs: await readInputs(inputs, images), runOptions: await toTexts("Option", runOptions) };
  const key = idempotencyKey ?? parts.newIdempotencyKey();
  const resolving = { ask: parts.ask, name, signal, retryForMs };
  return createOfPrompt(resolving, async (promptVersionId) => {
    const prefer = `respond-async, ${log.isRead() ? "stream" : `wait=${WAIT_SECONDS}`}`;
    try {
      const { data: run, headers } = await parts.call("createRun", {
        body: { ...given, promptVersionId },
        headers: { prefer, "idempotency-key": key },
        timeoutMs: parts.timeoutMs + WAIT_SECONDS * 1_000,
        signal,
        retryForMs,
      });
      const ignored = readIgnored(headers.get("x-ignored"));
      return { promptVersionId, run, ignored, requestId: headers.get("x-request-id") };
    } catch (error) {
      // The run continues; creating it again would run and charge twice.
      if (!(error instanceof PromptdError) || error.runId === null) throw error;
      const { runId, requestId } = error;
      const run = { runId, runStatus: "running", outputs: [], tokens: 0 } as const;
      return { promptVersionId, run, ignored: [], requestId };
    }
  });
}

/** Names are percent-encoded, because a header cannot contain every character. */
function readIgnored(header: string | null): string[] {
  return header?.split(",").map((name) => decodeURIComponent(name.trim())) ?? [];
}
