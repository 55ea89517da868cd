/**
 * Executes one claimed run: loads its inputs and images, runs its steps in order, and prices the delivered items. A
 * model failure is a result of the run and becomes an error item.
 */
import { isStorageFailure, type LoadedImage, type StoredImage } from "../../files/index.ts";
import {
  availability,
  unavailableSentence,
  settlePrice,
  uncappedPrice,
  type PriceSnapshot,
  type StepUsage,
} from "../../models/index.ts";
import {
  authorsText,
  renderStep,
  stepOptions,
  type ImageSlot,
  type LiveVersion,
  type StepDefinition,
} from "../../prompts/index.ts";
import type { Database } from "../../platform/database/database.ts";
import { isOutage } from "../../platform/database/errors.ts";
import type { Log } from "../../platform/log.ts";
import { Problem } from "../../platform/problem.ts";
import type { TextPiece } from "../run-events-store.ts";
import { createInputsReader, type ClaimedRun } from "./claim.ts";
import { executeItem, type ItemContext } from "./execute-output.ts";
import { loadStepImages } from "./load-step-images.ts";
import {
  errorItem,
  isDelivered,
  readDelivered,
  saveDelivered,
  type DeliveredItem,
  type ItemFault,
  type RunItem,
} from "./output-items.ts";
import { failed, NO_USABLE_OUTPUT, type Postponed, type RunOutcome, type RunResult } from "./run-outcome.ts";
import type { PieceWriter } from "./text-pieces.ts";

/** The dependencies for executing runs. */
export interface ExecutionContext extends ItemContext {
  readonly db: Database;
  readonly log: Log;
  /** For followers of a run: nothing waits for it. */
  readonly pieces: Pick<PieceWriter, "add">;
  readonly findVersion: (promptVersionId: string) => Promise<LiveVersion | null>;
  /** Whose `sandbox:` lines the sandbox obeys. */
  readonly sandboxObeys: "authors" | "callers";
}

/** Never throws. */
export type ExecuteRun = (run: ClaimedRun, signal: AbortSignal) => Promise<RunOutcome>;

/** Inputs as stored in the run's row: filled with defaults, with images as addresses and file ids. */
interface StoredInputs {
  readonly textInputs: Readonly<Record<string, string>>;
  readonly images: readonly StoredImage[];
}

/** Long enough that waiting runs cost the database little, short enough to notice the end of an outage soon. */
const STORAGE_RETRY_MS = 5_000;
/** Delay before a run that needs a process with a newer catalogue is offered again. */
const NEWER_PROCESS_RETRY_MS = 5_000;

/** An outage of the disk or the bucket postpones a run: it uses no attempt, and no model is called again. */
export function createExecutor(context: ExecutionContext): ExecuteRun {
  const readInputs = createInputsReader(context.db);
  return async (run, signal) => {
    try {
      const inputs = (await readInputs(run, signal)) as StoredInputs;
      return await execute(run, inputs, context, signal);
    } catch (error) {
      if (signal.aborted) return { kind: "revoked" };
      if (isStorageFailure(error)) return awaitStorage(run);
      return { kind: isOutage(error) ? "interrupted" : "crashed", error };
    } finally {
      // Before any other worker may have the run.
      if (run.counted !== null) await context.caller.withdraw(run.counted);
    }
  };
}

/**
 * Offers the run again, or ends it if its deadline would pass first: the sweep that ends it then would not know the
 * cause.
 */
function awaitStorage(run: ClaimedRun): RunOutcome {
  if (leftMs(run) > 2 * STORAGE_RETRY_MS) return { kind: "postponed", delayMs: STORAGE_RETRY_MS };
  const message = "The run did not finish in time and was stopped. You were not charged.";
  return failed("deadline", message, "Files could not be stored or read until the run's deadline.");
}

function leftMs(run: ClaimedRun): number {
  return run.deadlineMs - performance.now();
}

async function execute(
  run: ClaimedRun,
  inputs: StoredInputs,
  context: ExecutionContext,
  signal: AbortSignal,
): Promise<RunOutcome> {
  const version = await context.findVersion(run.promptVersionId);
  if (version === null) return failed("version_missing", "The prompt version of this run no longer exists.");
  if (namesUnknownModel(version, context) && leftMs(run) > 2 * NEWER_PROCESS_RETRY_MS)
    return { kind: "postponed", delayMs: NEWER_PROCESS_RETRY_MS };
  const unusable = findUnusableModel(run, version, context);
  if (unusable !== null) return failed("model_unusable", unusable);
  const images = await loadStepImages({ accountId: run.accountId, version, images: inputs.images }, context, signal);
  if (images.kind === "postponed") return images;
  if (images.kind === "refused") return failed("image_unusable", images.message, images.detail);
  try {
    const items = await executeSteps({ run, version, inputs, images: images.bySlot, context, signal });
    return "kind" in items ? items : { kind: "finished", result: resultOf(run, items, context) };
  } finally {
    images.release();
  }
}

/**
 * Accepted by a process with a newer catalogue, as during a deployment: only such a process can execute it, nearly
 * until the deadline.
 */
function namesUnknownModel(version: LiveVersion, { catalogue }: ExecutionContext): boolean {
  return version.definition.steps.some((step) => availability(catalogue, step.model).kind === "unknown");
}

/** A model may have been retired or disabled while the run waited. The run is free: no model was called. */
function findUnusableModel(run: ClaimedRun, version: LiveVersion, { catalogue }: ExecutionContext): string | null {
  for (const [index, { model }] of version.definition.steps.entries()) {
    const found = availability(catalogue, model);
    if (found.kind === "available") continue;
    if (fallbacksOf(run, index).some((other) => availability(catalogue, other).kind === "available")) continue;
    const advice = found.kind === "retired" ? " Use a newer version of the prompt." : "";
    return unavailableSentence(model, found) + advice;
  }
  return null;
}

interface Execution {
  readonly run: ClaimedRun;
  readonly version: LiveVersion;
  readonly inputs: StoredInputs;
  readonly images: ReadonlyMap<string, readonly LoadedImage[]>;
  readonly context: ExecutionContext;
  readonly signal: AbortSignal;
}

interface Step {
  readonly index: number;
  readonly definition: StepDefinition;
  /** Outputs of the previous steps. */
  readonly texts: Readonly<Record<string, string>>;
  /** Null: the run has a single item, which no other attempt needs. */
  readonly earlier: readonly DeliveredItem[] | null;
}

async function executeSteps(execution: Execution): Promise<RunItem[] | Postponed> {
  const { run, version, context } = execution;
  const { steps } = version.definition;
  const isSingle = steps.length === 1 && steps[0]?.count === 1;
  const earlier = isSingle ? null : await readDelivered(context.db, run);
  const texts: Record<string, string> = {};
  const failedSteps = new Set<string>();
  const all: RunItem[] = [];
  for (const [index, definition] of steps.entries()) {
    const missing = definition.reads.find((id) => failedSteps.has(id));
    const items =
      missing === undefined
        ? await executeStep(execution, { index, definition, texts, earlier })
        : errorItems({ index, definition }, { cause: "skipped", message: `Skipped: step '${missing}' failed.` });
    if ("kind" in items) return items;
    all.push(...items);
    const text = items.find((item) => item.output.type === "text");
    if (text !== undefined) texts[definition.id] = text.output.data;
    if (!items.some(isDelivered)) failedSteps.add(definition.id);
  }
  return all;
}

function errorItems({ index, definition }: Pick<Step, "index" | "definition">, fault: ItemFault): RunItem[] {
  return Array.from({ length: definition.count }, (_, item) => errorItem(index, item, fault));
}

/** The items of a step run side by side and settle independently: one failure does not affect the others. */
async function executeStep(execution: Execution, step: Step): Promise<RunItem[] | Postponed> {
  const { run, version, images, context, signal } = execution;
  const { index, definition, earlier } = step;
  const texts = render(execution, step);
  if (texts instanceof Problem) return errorItems(step, { cause: "too_long", message: texts.message });
  const loaded = images.get(definition.model) ?? [];
  const firstOutput = version.definition.steps.slice(0, index).reduce((sum, { count }) => sum + count, 0);
  const request = {
    accountId: run.accountId,
    runId: run.runId,
    attempt: run.attempt,
    step: index,
    model: definition.model,
    fallback: fallbacksOf(run, index),
    options: stepOptions(version, index, run.runOptions, context.catalogue),
    ...texts,
    authorsText: context.sandboxObeys === "callers" ? null : authorsText(version, index),
    images: definition.images.flatMap((slot) => withMask(loaded[slot], version.definition.images[slot])),
    maxOutputTokens: definition.maxOutputTokens,
    settings: definition.settings,
    outputSchema: definition.outputSchema,
    webSearch: definition.webSearch,
    deadlineMs: run.deadlineMs,
    counted: index === 0 ? run.counted : null,
  };
  const settled = await Promise.allSettled(
    Array.from({ length: definition.count }, async (_, item) => {
      const before = earlier?.find((one) => one.step === index && one.item === item);
      if (before !== undefined) return before;
      const output = firstOutput + item;
      const onText = (piece: Pick<TextPiece, "call" | "text">) =>
        context.pieces.add({ runId: run.runId, output, ...piece });
      const made = await executeItem({ ...request, item, onText }, context, signal);
      if (earlier !== null && !("kind" in made) && isDelivered(made))
        await saveDelivered(context.db, run, made, signal);
      return made;
    }),
  );
  const items: RunItem[] = [];
  let postponed: Postponed | null = null;
  for (const outcome of settled) {
    if (outcome.status === "rejected") throw outcome.reason;
    if ("kind" in outcome.value) postponed ??= outcome.value;
    else items.push(outcome.value);
  }
  return postponed ?? items;
}

function withMask(image: LoadedImage | undefined, slot: ImageSlot | undefined) {
  if (image === undefined) return [];
  return [slot?.mask === true ? { ...image, isMask: true } : image];
}

/** The fallbacks whose price was held for the run, whatever the catalogue says now. */
function fallbacksOf(run: ClaimedRun, index: number): readonly string[] {
  const { fallbacks = [] } = run.prices as PriceSnapshot;
  return fallbacks.flatMap(({ step, model }) => (step === index ? [model] : []));
}

/** The real texts of earlier steps may make a prompt too long: that is the run's failure, not the worker's. */
function render({ version, inputs }: Execution, { index, texts }: Step) {
  try {
    return renderStep(version, index, inputs.textInputs, texts);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** Only delivered items are charged; a run without any has failed and costs nothing. */
function resultOf(run: ClaimedRun, items: readonly RunItem[], { log }: ExecutionContext): RunResult {
  const delivered = items.filter(isDelivered);
  const ok = delivered.length > 0;
  const usages = delivered.map((item) => item.usage);
  const lastStep = items.at(-1)?.step; // made by the prompt's own model
  return {
    ok,
    outputs: items.map((item) => item.output),
    credits: ok && run.hold !== null ? priceOf(run, usages, log) : 0,
    reason: ok ? null : (items[0]?.cause ?? NO_USABLE_OUTPUT),
    files: delivered.flatMap((item) => item.file ?? []),
    answeredBy: delivered.findLast(({ step, usage }) => step === lastStep && usage.model !== undefined)?.usage.model,
  };
}

/** At most the held amount; the operator bears anything above it. */
function priceOf(run: ClaimedRun, delivered: readonly StepUsage[], log: Log): number {
  const prices = run.prices as PriceSnapshot;
  const { ceiling } = prices;
  const actual = uncappedPrice(prices, delivered);
  if (actual > ceiling)
    log.warn({ runId: run.runId, actual, ceiling }, "a run cost more than its hold; the operator bears the rest");
  return settlePrice(prices, delivered);
}
