/**
 * POST /v1/runs: makes the checks in the order of the specification, then commits the run, its hold, and its
 * Idempotency-Key together. Images of a run that was not created are discarded after the response: requests that cost
 * nothing must not fill the disk.
 */
import type { CreateRunBody } from "@promptd/contract";
import { availableCredits, isFrozen } from "../../credits/index.ts";
import type { Files, StoredImage } from "../../files/index.ts";
import { firstCallOf, type Catalogue, type FirstCall } from "../../models/index.ts";
import {
  checkInputs,
  findGoneModel,
  recallLivePrompt,
  type CheckedInputs,
  type LivePrompt,
  type LiveVersion,
} from "../../prompts/index.ts";
import type { Database, Tx } from "../../platform/database/database.ts";
import { faultPoint } from "../../platform/fault-injection.ts";
import { invalid, Problem } from "../../platform/problem.ts";
import { DEADLINE_MINUTES } from "../run-limits.ts";
import { followRuns } from "../run-events-store.ts";
import { countActiveRuns } from "../runs-store.ts";
import { createRunRow, type CreateOutcome, type RunToCreate } from "./create-store.ts";
import { commitOnce, isKnownNotCreated, isRefusal, OutcomeUnknown, type CommitOptions } from "./commit-once.ts";
import type { RunCreates } from "./create-group.ts";
import { findRunByIdempotency, type Idempotency } from "./idempotency.ts";
import { quote, type Quote, type QuoteOptions } from "./quote.ts";
import { refusalOf } from "./refusals.ts";
import { getRunnablePrompt } from "./runnable-prompt.ts";

export interface CreateRunOptions extends CommitOptions, QuoteOptions {
  readonly db: Database;
  readonly files: Files;
  /** The creates of this process. */
  readonly creates: RunCreates;
  readonly activeRunsMax: number;
  /** True: the version is a frozen draft of the account. */
  readonly isTest?: boolean;
  /**
   * Commits with the run, or undoes it by throwing. Called again, with the run already there, if the response was lost.
   */
  readonly alongside?: (tx: Tx) => Promise<void>;
}

export interface RunRequest {
  readonly accountId: string;
  /** Admitted before the body arrived, and possibly revoked since then. Null: no API key was used. */
  readonly keyId: string | null;
  readonly requestId: string;
  /** Generated before the insert: the waiter registers under it, and an unknown commit is looked up by it. */
  readonly runId: string;
  readonly body: CreateRunBody;
  readonly idempotency: Idempotency | null;
  /** True: the caller reads the run's text while it is being written. */
  readonly isFollowed?: boolean;
  /** Reports a part of the request that had no effect. */
  readonly ignore: (name: string) => void;
}

export interface CreatedRun {
  readonly runId: string;
  /** True: an earlier request with this idempotency key created the run. */
  readonly isReplay: boolean;
  /** True: this process's worker already has the run, so no notification is needed. */
  readonly isClaimed: boolean;
}

const RUN_NAME_CODE_POINTS = 120;

/** @throws Problem 404, 410, 422, 401, 402 or 429, in this order of checks (specification, "POST /v1/runs"). */
export async function createRun(request: RunRequest, options: CreateRunOptions): Promise<CreatedRun> {
  const { idempotency } = request;
  const recalled = recallPrompt(request, options);
  const reading = recalled === null ? getRunnablePrompt(request, options) : Promise.resolve(recalled); // 404, 410
  reading.catch(() => {}); // handled below, unless the key already has a run: both queries run at once
  const earlier = idempotency === null ? null : await findRunByIdempotency(options.db, request.accountId, idempotency);
  if (earlier !== null) return replayOf(earlier);
  let planned: PlannedRun;
  try {
    planned = planRun(request, await reading, options); // 422
  } catch (error) {
    if (recalled === null || !isRefusal(error)) throw error;
    planned = await planAgain(request, options); // the prompt may be unpublished by now, which must be reported first
  }
  // Before the run exists, so that its first model call already streams.
  if (request.isFollowed === true) await followRuns(options.db, [request.runId]);
  try {
    return await storeAndInsert(request, planned, options); // 401, 402, 422 of the key, 429
  } catch (error) {
    const meanwhile = await findEarlierRun(error, request, options.db);
    if (meanwhile === null) throw error;
    return replayOf(meanwhile);
  }
}

function replayOf(runId: string): CreatedRun {
  return { runId, isReplay: true, isClaimed: false };
}

/**
 * The prompt as this process last read it. This saves a round trip, because the statement that creates the run compares
 * the prompt's terms. Null if the prompt must be read: a request with images may be refused before that statement runs.
 */
function recallPrompt({ body }: RunRequest, { db, catalogue, isTest = false }: CreateRunOptions): LivePrompt | null {
  if (isTest || (body.inputs.imageInputs ?? []).length > 0) return null;
  const prompt = recallLivePrompt(db, body.promptVersionId);
  const isGone = prompt !== null && findGoneModel(prompt.version.definition.steps, catalogue) !== null;
  return isGone ? null : prompt;
}

/** A planned run, complete except for where its images are stored. */
type PlannedRun = Omit<RunToCreate, "inputs"> & Quote & Pick<CheckedInputs, "textInputs">;

/** @throws Problem 422 */
function planRun(request: RunRequest, prompt: LivePrompt, options: CreateRunOptions): PlannedRun {
  const { version, terms } = prompt;
  const checked = requireValidInputs(request, version, options.catalogue);
  const price = quote(request.accountId, prompt, checked, options); // 422 above the most that a run may hold
  return {
    accountId: request.accountId,
    keyId: request.keyId,
    requestId: request.requestId,
    runId: request.runId,
    promptVersionId: version.promptVersionId,
    runName: Array.from(version.title).slice(0, RUN_NAME_CODE_POINTS).join(""),
    model: version.model,
    ...price,
    terms,
    textInputs: checked.textInputs,
    runOptions: checked.options,
    deadlineSeconds: deadlineSeconds(version, options.catalogue),
    activeRunsMax: options.activeRunsMax,
    idempotency: request.idempotency,
    firstCall: countableCall(request, version, options.catalogue),
  };
}

/** Plans with the current terms. @throws Problem 404, 410 or 422 */
async function planAgain(request: RunRequest, options: CreateRunOptions): Promise<PlannedRun> {
  return planRun(request, await getRunnablePrompt(request, options), options);
}

function requireValidInputs({ body, ignore }: RunRequest, version: LiveVersion, catalogue: Catalogue): CheckedInputs {
  const checked = checkInputs(version, body, catalogue);
  for (const name of checked.ignored) ignore(name);
  if (checked.issues.length > 0) throw invalid(checked.issues);
  return checked;
}

function deadlineSeconds(version: LiveVersion, catalogue: Catalogue): number {
  const modalities = version.definition.steps.map((step) => catalogue.find(step.model)?.modality ?? version.modality);
  return 60 * Math.max(...modalities.map((modality) => DEADLINE_MINUTES[modality]));
}

/**
 * Applies when the first step is a single call made as soon as the run begins. Nobody else can follow the run by then.
 */
function countableCall(
  { isFollowed = false }: RunRequest,
  { definition: { steps } }: LiveVersion,
  catalogue: Catalogue,
): FirstCall | null {
  const [first] = steps;
  const call = first?.count === 1 ? firstCallOf(catalogue, first.model) : null;
  return call && { ...call, isFollowed };
}

/** Images are stored durably before their run exists, and removed only if the run is known never to exist. */
async function storeAndInsert(request: RunRequest, run: PlannedRun, options: CreateRunOptions): Promise<CreatedRun> {
  const { files } = options;
  const given = request.body.inputs.imageInputs ?? [];
  if (given.some((image) => image.type === "base64")) await refuseBeforehand(run, options);
  const images = await files.storeInputImages(given);
  if (images.length > 0) await faultPoint("create.blob_stored");
  try {
    const created = await insertOnTerms(request, run, images, options);
    if (created.isReplay) files.discardInputImages(images);
    return created;
  } catch (error) {
    if (isKnownNotCreated(error)) files.discardInputImages(images);
    throw error instanceof OutcomeUnknown ? outcomeUnknown(run.runId, error) : error;
  }
}

/** Never creates a run on outdated terms: if the terms changed, it plans again, as often as needed. */
async function insertOnTerms(
  request: RunRequest,
  planned: PlannedRun,
  images: readonly StoredImage[],
  options: CreateRunOptions,
): Promise<CreatedRun> {
  const { textInputs } = planned;
  const outcome = await insertRun({ ...planned, inputs: { textInputs, images } }, images, options);
  if (outcome.kind === "other_terms") return insertOnTerms(request, await planAgain(request, options), images, options);
  if (!("runId" in outcome)) throw refusalOf(outcome, planned);
  return { runId: outcome.runId, isReplay: outcome.kind === "joined", isClaimed: outcome.kind === "claimed" };
}

/** Opens a transaction only if something else commits with the run. */
function insertRun(
  run: RunToCreate,
  images: readonly StoredImage[],
  options: CreateRunOptions,
): Promise<CreateOutcome> {
  const { db, files, creates, alongside } = options;
  if (images.length === 0 && alongside === undefined) return creates.create(run);
  const insert = async (tx: Tx) => {
    const inserted = await createRunRow(tx, run);
    if (inserted.kind === "created" && images.length > 0) await files.recordInputs(tx, run, images);
    if (inserted.kind === "created") await alongside?.(tx);
    await faultPoint("create.before_commit");
    return inserted;
  };
  return commitOnce(run.accountId, options, (limits) => db.tx(insert, limits));
}

/**
 * Makes the refusals that the transaction would make too, before any bytes are stored. The transaction still decides,
 * and only it knows about a key that was revoked while the body was arriving.
 */
async function refuseBeforehand(run: PlannedRun, { db, activeRunsMax }: CreateRunOptions): Promise<void> {
  const [frozen, available, active] = await Promise.all([
    run.hold !== null && isFrozen(db, run.accountId),
    availableCredits(db, run.accountId),
    countActiveRuns(db, run.accountId, activeRunsMax),
  ]);
  if (frozen) throw refusalOf({ kind: "frozen" }, run);
  if (run.hold !== null && run.hold > available) throw refusalOf({ kind: "no_credits", available }, run);
  if (active >= activeRunsMax) throw refusalOf({ kind: "too_many_active" }, run);
}

/**
 * Another request with the same idempotency key may have created the run after this one checked, using the last credits
 * or the last active-run slot. Then this request joins that run instead of being refused.
 */
async function findEarlierRun(error: unknown, request: RunRequest, db: Database): Promise<string | null> {
  if (!isRefusal(error) || error.code === "UNAUTHORIZED_ERROR" || request.idempotency === null) return null;
  return findRunByIdempotency(db, request.accountId, request.idempotency);
}

function outcomeUnknown(runId: string, cause: unknown): Problem {
  return new Problem(
    "SERVER_ERROR",
    `The database connection was lost while the run was being created, so the run may or may not exist. Check GET /v1/runs/${runId} before you create it again.`,
    { headers: { "x-should-retry": "false" }, cause },
  );
}
