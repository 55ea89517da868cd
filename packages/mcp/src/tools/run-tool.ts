import { countOf } from "@promptd/contract";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { PromptdRunError, type InputValue } from "@promptd/client";
import type { ImageInput, Run, RunEvent } from "@promptd/contract";
import type { ShownPrompt } from "../prompts/find-prompts.ts";
import type { CallContext, McpSource } from "../source.ts";
import { describeRun, textResult } from "./result-content.ts";

export interface RunArguments {
  readonly inputs: Readonly<Record<string, InputValue>>;
  readonly images: readonly ImageInput[];
  readonly options: Readonly<Record<string, string | number>>;
}

/** Hosts give up on a call after a minute without progress. */
const SILENCE_MS = 10_000;

/**
 * Runs a prompt once and returns its outputs. A canceled call cancels its run, which then costs nothing.
 * @throws PromptdError if the server rejects the run.
 */
export async function runPromptTool(
  prompt: ShownPrompt,
  { inputs, images, options }: RunArguments,
  source: McpSource,
  context: CallContext,
): Promise<CallToolResult> {
  const progress = createProgress(context.report);
  const waiting = createWaiting(context.signal);
  const given = { inputs, images, options, signal: waiting.signal };
  const see = (event: RunEvent): void => {
    if (event.event === "status") waiting.begin(event.data.runId);
    progress.see(event);
  };
  try {
    const idempotencyKey = context.callKey ?? undefined;
    const run = await source.client.run(prompt.promptVersionId, { ...given, idempotencyKey, onProgress: see });
    return await describeRun({ run, output: prompt.config.output }, source, context.signal);
  } catch (error) {
    if (error instanceof PromptdRunError) return describeRun({ run: error.run, output: null }, source, context.signal);
    const runId = waiting.runId();
    if (!context.signal.aborted || runId === null) throw error;
    if (!context.cancelsRun())
      return textResult(`${String(context.signal.reason)} The run ${runId} continues. Read it with get_run.`);
    await cancelRun(runId, source);
    throw error;
  } finally {
    progress.end();
    waiting.end();
  }
}

/** Delays an abort until the run has an id: without its id, the run could not be canceled. */
function createWaiting(outer: AbortSignal) {
  const own = new AbortController();
  let runId: string | null = null;
  const stop = (): void => {
    if (outer.aborted && runId !== null) own.abort(outer.reason);
  };
  outer.addEventListener("abort", stop);
  return {
    signal: own.signal,
    begin: (id: string): void => {
      runId = id;
      stop();
    },
    runId: () => runId,
    end: () => outer.removeEventListener("abort", stop),
  };
}

/** A failure is ignored: no caller is left to read it. */
async function cancelRun(runId: string, { client }: McpSource): Promise<void> {
  await client.runs.cancel(runId).catch((): Run | null => null);
}

function createProgress(report: CallContext["report"]) {
  let characters = 0;
  let state = "waiting";
  const startedMs = performance.now();
  const say = (message: string): void => {
    timer.refresh();
    report?.(message);
  };
  const timer = setInterval(() => report?.(`${state} for ${seconds(performance.now() - startedMs)}`), SILENCE_MS);
  timer.unref();
  return {
    see: (event: RunEvent): void => {
      if (event.event === "status") say((state = event.data.runStatus));
      if (event.event === "output") say(`output ${event.data.index + 1} is ready`);
      if (event.event !== "text") return;
      characters += event.data.text.length;
      say(`${countOf(characters, "character")} written`);
    },
    end: () => clearInterval(timer),
  };
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
