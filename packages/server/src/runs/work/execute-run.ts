/**
 * Executes one claimed run: its steps in order, its images loaded, each item asked of its model, outputs kept, the
 * price settled. A model that fails is a result of the run and becomes an error item; what rejects is a bug or an
 * outage, and the worker then gives the run another attempt.
 */
import type { OutputItem } from "@promptd/contract";
import {
  isStorageFailure,
  type Files,
  type StoredFile,
  type LoadedImage,
  type StoredImage,
} from "../../files/index.ts";
import type { CatalogueEntry, ModelCaller, PriceSnapshot, StepUsage } from "../../models/index.ts";
import type { LiveVersion, StepDefinition } from "../../prompts/index.ts";
import { Problem } from "../../platform/problem.ts";
import type { RunEnd } from "./finish-runs.ts";
import { keepPatiently } from "./store-output.ts";
import { loadStepImages } from "./load-step-images.ts";
import type { ClaimedRun } from "./queue.ts";

/** What a run needs from the outside. */
export interface ExecuteRunPorts {
  findVersion(promptVersionId: string): Promise<LiveVersion | null>;
  findModel(model: string): { readonly entry: CatalogueEntry; readonly isEnabled: boolean } | null;
  renderStep(
    version: LiveVersion,
    stepIndex: number,
    textInputs: Readonly<Record<string, string>>,
    stepOutputs: Readonly<Record<string, string>>,
  ): { readonly prompt: string; readonly instructions: string };
  /** The options a step is called with: the caller's where its model is the prompt's own, else the author's. */
  stepOptions(
    version: LiveVersion,
    stepIndex: number,
    runOptions: Readonly<Record<string, string>>,
  ): Readonly<Record<string, string>>;
  loadImages: Files["loadImages"];
  holdImages: ModelCaller["holdImages"];
  callModel: ModelCaller["call"];
  storeOutput: Files["storeOutput"];
  /** False while files cannot be stored. */
  storageIsReady: Files["isReady"];
  /** The monotonic clock (`performance.now()`) of a run's deadline. */
  nowMs(): number;
  /** Rejects when aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  settlePrice(run: ClaimedRun, prices: PriceSnapshot, delivered: readonly StepUsage[]): number;
  readDelivered(run: ClaimedRun): Promise<DeliveredItem[]>;
  saveDelivered(run: ClaimedRun, item: DeliveredItem, signal: AbortSignal): Promise<void>;
}

/** The provider asked to come back, or this process cannot do it now; nothing is wrong with the run. */
type Later = { readonly kind: "later"; readonly delayMs: number };
export type Execution = { readonly kind: "ended"; readonly end: RunEnd } | Later;

/** One output item that exists: JSON-safe, so that a later attempt can read it instead of paying again. */
export interface DeliveredItem {
  readonly step: number;
  readonly item: number;
  readonly output: OutputItem;
  readonly usage: StepUsage;
  readonly file: StoredFile | null;
}

type ItemError = { readonly kind: "error"; readonly message: string };
/** An item that the run's end can hold. */
type SettledItem = { readonly kind: "delivered"; readonly delivered: DeliveredItem } | ItemError;
type ItemResult = SettledItem | Later;

/** Inputs as the run's row holds them: filled with defaults, images as addresses and file ids. */
interface StoredInputs {
  readonly textInputs: Readonly<Record<string, string>>;
  readonly images: readonly StoredImage[];
}

/** Long enough that waiting runs cost the database little, short enough that nobody notices the end of an outage late. */
const STORAGE_AGAIN_MS = 5_000;
/** How soon a run is offered again that a newer process must do. */
const NEWER_AGAIN_MS = 5_000;
const LATER: Later = { kind: "later", delayMs: STORAGE_AGAIN_MS };

/** An outage of the disk or the bucket gives the run back: it neither costs an attempt nor is anything called again. */
export async function executeRun(run: ClaimedRun, ports: ExecuteRunPorts, signal: AbortSignal): Promise<Execution> {
  try {
    return await execute(run, ports, signal);
  } catch (error) {
    if (isStorageFailure(error) && !signal.aborted) return LATER;
    throw error;
  }
}

async function execute(run: ClaimedRun, ports: ExecuteRunPorts, signal: AbortSignal): Promise<Execution> {
  const version = await ports.findVersion(run.promptVersionId);
  if (version === null) return broke("The prompt version of this run no longer exists.", "version_missing");
  if (namesUnknownModel(version, ports) && run.deadlineMs - ports.nowMs() > 2 * NEWER_AGAIN_MS)
    return { kind: "later", delayMs: NEWER_AGAIN_MS };
  const unusable = findUnusableModel(version, ports);
  if (unusable !== null) return broke(unusable, "model_unusable");
  const inputs = run.inputs as StoredInputs;
  const images = await loadStepImages({ version, images: inputs.images }, ports, signal);
  if (images.kind === "later") return images;
  if (images.kind === "refused") return broke(images.message, "image_unusable");
  try {
    const steps = await executeSteps({ run, version, inputs, images: images.bySlot, ports, signal });
    return steps.kind === "later" ? steps : { kind: "ended", end: endOf(run, steps.results, ports) };
  } finally {
    images.release();
  }
}

function broke(message: string, reason: string): Execution {
  return {
    kind: "ended",
    end: { ok: false, outputs: [{ type: "error", data: message }], credits: 0, reason, files: [] },
  };
}

/** Accepted by a process whose catalogue is newer, as in a deploy: one of those can do it. Nearly to the deadline. */
function namesUnknownModel(version: LiveVersion, ports: ExecuteRunPorts): boolean {
  return version.definition.steps.some((step) => ports.findModel(step.model) === null);
}

/** A model may have been withdrawn, or switched off, while the run waited. Free: nothing was called. */
function findUnusableModel(version: LiveVersion, ports: ExecuteRunPorts): string | null {
  for (const model of new Set(version.definition.steps.map((step) => step.model))) {
    const found = ports.findModel(model);
    // First: a retired model is never enabled either.
    if (found?.entry.status === "retired")
      return `The model ${model} has been withdrawn. Use a newer version of the prompt.`;
    if (found === null || !found.isEnabled) return `The model ${model} is not enabled on this server.`;
  }
  return null;
}

interface Steps {
  readonly run: ClaimedRun;
  readonly version: LiveVersion;
  readonly inputs: StoredInputs;
  readonly images: ReadonlyMap<string, readonly LoadedImage[]>;
  readonly ports: ExecuteRunPorts;
  readonly signal: AbortSignal;
}

type StepsOutcome = { readonly kind: "done"; readonly results: readonly SettledItem[] } | Later;

async function executeSteps(steps: Steps): Promise<StepsOutcome> {
  const { run, version, ports } = steps;
  const isSingle = version.definition.steps.length === 1 && version.definition.steps[0]?.count === 1;
  const earlier = isSingle ? [] : await ports.readDelivered(run);
  const texts: Record<string, string> = {};
  const failed = new Set<string>();
  const results: SettledItem[] = [];
  for (const [index, step] of version.definition.steps.entries()) {
    const missing = step.reads.find((id) => failed.has(id));
    const items =
      missing === undefined
        ? await executeItems(steps, { index, step, texts, earlier, save: !isSingle })
        : Array.from({ length: step.count }, () => skipped(missing));
    const later = items.find((item) => item.kind === "later");
    if (later !== undefined) return later;
    const settled = items.filter((item) => item.kind !== "later");
    results.push(...settled);
    const text = settled.find((item) => item.kind === "delivered" && item.delivered.output.type === "text");
    if (text?.kind === "delivered") texts[step.id] = text.delivered.output.data;
    if (settled.every((item) => item.kind === "error")) failed.add(step.id);
  }
  return { kind: "done", results };
}

function skipped(step: string): ItemError {
  return { kind: "error", message: `Skipped: step '${step}' failed.` };
}

interface StepTurn {
  readonly index: number;
  readonly step: StepDefinition;
  readonly texts: Readonly<Record<string, string>>;
  readonly earlier: readonly DeliveredItem[];
  readonly save: boolean;
}

/** Items of one step run side by side and settle one by one: one that fails does not take the others with it. */
async function executeItems(steps: Steps, turn: StepTurn): Promise<ItemResult[]> {
  const rendered = render(steps, turn);
  if (rendered.kind === "error") return Array.from({ length: turn.step.count }, () => rendered);
  const settled = await Promise.allSettled(
    Array.from({ length: turn.step.count }, async (_, item): Promise<ItemResult> => {
      const before = turn.earlier.find((one) => one.step === turn.index && one.item === item);
      if (before !== undefined) return { kind: "delivered", delivered: before };
      const result = await executeItem(steps, turn, item, rendered);
      if (turn.save && result.kind === "delivered")
        await steps.ports.saveDelivered(steps.run, result.delivered, steps.signal);
      return result;
    }),
  );
  return settled.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}

type Rendered = { readonly kind: "rendered"; readonly prompt: string; readonly instructions: string };

/** With the real texts of earlier steps a prompt may become too long: a fault of this run, not of the worker. */
function render({ ports, version, inputs }: Steps, { index, texts }: StepTurn): Rendered | ItemError {
  try {
    return { kind: "rendered", ...ports.renderStep(version, index, inputs.textInputs, texts) };
  } catch (error) {
    if (error instanceof Problem) return { kind: "error", message: error.message };
    throw error;
  }
}

async function executeItem(
  { run, version, images, ports, signal }: Steps,
  { index, step }: StepTurn,
  item: number,
  rendered: Rendered,
): Promise<ItemResult> {
  const loaded = images.get(step.model) ?? [];
  const makesFile = ports.findModel(step.model)?.entry.modality !== "text";
  if (makesFile && !(await ports.storageIsReady())) return LATER; // what cannot be kept is not paid for
  const outcome = await ports.callModel(
    {
      accountId: run.accountId,
      runId: run.runId,
      attempt: run.attempt,
      step: index,
      item,
      model: step.model,
      options: ports.stepOptions(version, index, run.runOptions),
      prompt: rendered.prompt,
      instructions: rendered.instructions,
      images: step.images.flatMap((slot) => loaded[slot] ?? []),
      maxOutputTokens: step.maxOutputTokens,
      deadlineMs: run.deadlineMs,
    },
    signal,
  );
  if (outcome.kind === "failed") return { kind: "error", message: outcome.message };
  if (outcome.kind === "later") return outcome;
  const usage: StepUsage = { step: index, usage: outcome.usage };
  if (outcome.kind === "text") {
    return {
      kind: "delivered",
      delivered: { step: index, item, output: { type: "text", data: outcome.text }, usage, file: null },
    };
  }
  const { mediaType } = outcome;
  const generated =
    outcome.kind === "image"
      ? { modality: outcome.kind, bytes: outcome.bytes, mediaType }
      : { modality: outcome.kind, content: outcome.content, mediaType };
  const kept = await keepPatiently(generated, { deadlineMs: run.deadlineMs, ports }, signal);
  if (kept.kind === "refused") return { kind: "error", message: kept.message };
  return {
    kind: "delivered",
    delivered: { step: index, item, output: { type: outcome.kind, data: kept.url }, usage, file: kept },
  };
}

/** Only delivered items are charged; a run without one has failed and costs nothing. */
function endOf(run: ClaimedRun, results: readonly SettledItem[], ports: ExecuteRunPorts): RunEnd {
  const delivered = results.flatMap((result) => (result.kind === "delivered" ? [result.delivered] : []));
  const outputs = results.map((result): OutputItem =>
    result.kind === "delivered" ? result.delivered.output : { type: "error", data: result.message },
  );
  const ok = delivered.length > 0;
  return {
    ok,
    outputs,
    credits:
      ok && run.hold !== null
        ? ports.settlePrice(
            run,
            run.prices as PriceSnapshot,
            delivered.map((item) => item.usage),
          )
        : 0,
    reason: ok ? null : "no_usable_output",
    files: delivered.flatMap((item) => (item.file === null ? [] : [item.file])),
  };
}
