/**
 * Executes one claimed run: its inputs and images are loaded, its steps run in order, and the items that were delivered
 * are priced. A model that fails is a result of the run and becomes an error item.
 */
import { isStorageFailure, type LoadedImage, type StoredImage } from "../../files/index.ts";
import {
  unavailableSentence,
  type Availability,
  type ModelCaller,
  type PriceSnapshot,
  type StepUsage,
} from "../../models/index.ts";
import type { ImageSlot, LiveVersion, RenderedStep, StepDefinition } from "../../prompts/index.ts";
import { isOutage } from "../../platform/database/errors.ts";
import { Problem } from "../../platform/problem.ts";
import type { TextPiece } from "../run-events-store.ts";
import type { ClaimedRun } from "./claim.ts";
import { executeItem, type ItemPorts } from "./execute-output.ts";
import { loadStepImages, type ImagePorts } from "./load-step-images.ts";
import { errorItem, isDelivered, type DeliveredItem, type ItemFault, type RunItem } from "./output-items.ts";
import { failed, NO_USABLE_OUTPUT, type Postponed, type RunOutcome, type RunResult } from "./run-outcome.ts";

/** What a run needs from the outside. */
export interface ExecuteRunPorts extends ImagePorts, ItemPorts {
  /** Inputs that were too large to come with the claim are read now. */
  readInputs(run: ClaimedRun, signal: AbortSignal): Promise<unknown>;
  findVersion(promptVersionId: string): Promise<LiveVersion | null>;
  renderStep(
    version: LiveVersion,
    stepIndex: number,
    textInputs: Readonly<Record<string, string>>,
    stepOutputs: Readonly<Record<string, string>>,
  ): RenderedStep;
  /** For the sandbox, see ModelRequest. */
  authorsText(version: LiveVersion, stepIndex: number): string | null;
  /** The options a step is called with: the caller's where its model is the prompt's own, else the author's. */
  stepOptions(
    version: LiveVersion,
    stepIndex: number,
    runOptions: Readonly<Record<string, string>>,
  ): Readonly<Record<string, string>>;
  availability(model: string): Availability;
  settlePrice(run: ClaimedRun, prices: PriceSnapshot, delivered: readonly StepUsage[]): number;
  readDelivered(run: ClaimedRun): Promise<DeliveredItem[]>;
  saveDelivered(run: ClaimedRun, item: DeliveredItem, signal: AbortSignal): Promise<void>;
  withdrawCall: ModelCaller["withdraw"];
  /** For those who follow the run: nothing waits for it. */
  showText(piece: TextPiece): void;
}

/** Inputs as the run's row has them: filled with defaults, images as addresses and file ids. */
interface StoredInputs {
  readonly textInputs: Readonly<Record<string, string>>;
  readonly images: readonly StoredImage[];
}

/** Long enough that waiting runs cost the database little, short enough that the end of an outage is noticed soon. */
const STORAGE_RETRY_MS = 5_000;
/** How soon a run is offered again that needs a process with a newer catalogue. */
const NEWER_PROCESS_RETRY_MS = 5_000;

/** Never throws. An outage of the disk or the bucket postpones the run: it costs no attempt, and no model is called again. */
export async function executeRun(run: ClaimedRun, ports: ExecuteRunPorts, signal: AbortSignal): Promise<RunOutcome> {
  try {
    return await execute(run, ports, signal);
  } catch (error) {
    if (signal.aborted) return { kind: "revoked" };
    if (isStorageFailure(error)) return awaitStorage(run, ports);
    return { kind: isOutage(error) ? "interrupted" : "crashed", error };
  } finally {
    // Before anybody else may have the run.
    if (run.counted !== null) await ports.withdrawCall(run.counted);
  }
}

/** Offers the run again, or ends it when that would come after its deadline: the sweep, which ends it then, knows no cause. */
function awaitStorage(run: ClaimedRun, ports: ExecuteRunPorts): RunOutcome {
  if (run.deadlineMs - ports.nowMs() > 2 * STORAGE_RETRY_MS) return { kind: "postponed", delayMs: STORAGE_RETRY_MS };
  const message = "The run did not finish in time and was stopped. You were not charged.";
  return failed("deadline", message, "Until its deadline files could not be stored or read.");
}

async function execute(run: ClaimedRun, ports: ExecuteRunPorts, signal: AbortSignal): Promise<RunOutcome> {
  const inputs = (await ports.readInputs(run, signal)) as StoredInputs;
  const version = await ports.findVersion(run.promptVersionId);
  if (version === null) return failed("version_missing", "The prompt version of this run no longer exists.");
  if (namesUnknownModel(version, ports) && run.deadlineMs - ports.nowMs() > 2 * NEWER_PROCESS_RETRY_MS)
    return { kind: "postponed", delayMs: NEWER_PROCESS_RETRY_MS };
  const unusable = findUnusableModel(run, version, ports);
  if (unusable !== null) return failed("model_unusable", unusable);
  const images = await loadStepImages({ accountId: run.accountId, version, images: inputs.images }, ports, signal);
  if (images.kind === "postponed") return images;
  if (images.kind === "refused") return failed("image_unusable", images.message, images.detail);
  try {
    const items = await executeSteps({ run, version, inputs, images: images.bySlot, ports, signal });
    return "kind" in items ? items : { kind: "finished", result: resultOf(run, items, ports) };
  } finally {
    images.release();
  }
}

/** Accepted by a process whose catalogue is newer, as in a deploy: one of those can execute it, nearly until the deadline. */
function namesUnknownModel(version: LiveVersion, ports: ExecuteRunPorts): boolean {
  return version.definition.steps.some((step) => ports.availability(step.model).kind === "unknown");
}

/** A model may have been retired or disabled while the run waited. Free: nothing was called. */
function findUnusableModel(run: ClaimedRun, version: LiveVersion, ports: ExecuteRunPorts): string | null {
  for (const [index, { model }] of version.definition.steps.entries()) {
    const found = ports.availability(model);
    if (found.kind === "available") continue;
    if (fallbacksOf(run, index).some((other) => ports.availability(other).kind === "available")) continue;
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
  readonly ports: ExecuteRunPorts;
  readonly signal: AbortSignal;
}

interface Step {
  readonly index: number;
  readonly definition: StepDefinition;
  /** Outputs of the steps before it. */
  readonly texts: Readonly<Record<string, string>>;
  /** Null: the run has one item, which no other attempt needs. */
  readonly earlier: readonly DeliveredItem[] | null;
}

async function executeSteps(execution: Execution): Promise<RunItem[] | Postponed> {
  const { run, version, ports } = execution;
  const { steps } = version.definition;
  const isSingle = steps.length === 1 && steps[0]?.count === 1;
  const earlier = isSingle ? null : await ports.readDelivered(run);
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

/** Items of one step run side by side and settle one by one: one that fails does not take the others with it. */
async function executeStep(execution: Execution, step: Step): Promise<RunItem[] | Postponed> {
  const { run, version, images, ports, signal } = execution;
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
    options: ports.stepOptions(version, index, run.runOptions),
    ...texts,
    authorsText: ports.authorsText(version, index),
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
        ports.showText({ runId: run.runId, output, ...piece });
      const made = await executeItem({ ...request, item, onText }, ports, signal);
      if (earlier !== null && !("kind" in made) && isDelivered(made)) await ports.saveDelivered(run, made, signal);
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

/** Those whose price was held for the run, whatever the catalogue says now. */
function fallbacksOf(run: ClaimedRun, index: number): readonly string[] {
  const { fallbacks = [] } = run.prices as PriceSnapshot;
  return fallbacks.flatMap(({ step, model }) => (step === index ? [model] : []));
}

/** With the real texts of earlier steps a prompt may become too long: a fault of this run, not of the worker. */
function render({ ports, version, inputs }: Execution, { index, texts }: Step) {
  try {
    return ports.renderStep(version, index, inputs.textInputs, texts);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** Only delivered items are charged; a run without one has failed and costs nothing. */
function resultOf(run: ClaimedRun, items: readonly RunItem[], ports: ExecuteRunPorts): RunResult {
  const delivered = items.filter(isDelivered);
  const ok = delivered.length > 0;
  const usages = delivered.map((item) => item.usage);
  const lastStep = items.at(-1)?.step; // the one that the prompt's own model makes
  return {
    ok,
    outputs: items.map((item) => item.output),
    credits: ok && run.hold !== null ? ports.settlePrice(run, run.prices as PriceSnapshot, usages) : 0,
    reason: ok ? null : (items[0]?.cause ?? NO_USABLE_OUTPUT),
    files: delivered.flatMap((item) => item.file ?? []),
    answeredBy: delivered.findLast(({ step, usage }) => step === lastStep && usage.model !== undefined)?.usage.model,
  };
}
