/**
 * Creates a run: finds the version, checks the inputs against it, prices the most it can cost, keeps its images, and
 * inserts run, hold and idempotency key in one transaction. Only when that has committed is the run announced. Images
 * of a run that was not created go behind the answer: what costs nothing must not fill the disk.
 */
import type { CreateRunBody, ImageInput } from "@promptd/contract";
import { keyRevoked } from "../../accounts/index.ts";
import { availableCredits } from "../../credits/index.ts";
import type { Files, StoredImage } from "../../files/index.ts";
import { priceCeiling, type Catalogue } from "../../models/index.ts";
import {
  checkInputs,
  findLiveVersion,
  findGoneModel,
  planSteps,
  type CheckedInputs,
  type LiveVersion,
} from "../../prompts/index.ts";
import type { Database, TxOptions } from "../../platform/database/database.ts";
import { isConnectionLoss, isRolledBack, isStandby, sqlState, TurnedAway } from "../../platform/database/errors.ts";
import { fault } from "../../platform/fault.ts";
import { invalid, notFound, Problem } from "../../platform/problem.ts";
import { retry } from "../../platform/resilience/retry.ts";
import type { AccountTurns } from "./account-lock-queue.ts";
import { findRunOfKey, keyConflict, type Idempotency } from "./idempotency.ts";
import { DEADLINE_MINUTES } from "../run-limits.ts";
import { countActiveRuns, createRunRow, findRun, type CreateOutcome, type RunToCreate } from "../runs-store.ts";

export interface CreateRunOptions {
  readonly db: Database;
  readonly catalogue: Catalogue;
  readonly files: Files;
  readonly turns: AccountTurns;
  readonly activeRunsMax: number;
  /** A run of this installation may not hold more. */
  readonly holdMaxCredits: number;
}

export interface RunRequest {
  readonly accountId: string;
  /** Was admitted before the body came, and may have been revoked since. */
  readonly keyId: string;
  /** Made before the insert: a waiter is registered under it, and an unknown commit is looked up by it. */
  readonly runId: string;
  readonly body: CreateRunBody;
  readonly idempotency: Idempotency | null;
  /** Names a part of the request that had no effect. */
  readonly ignore: (name: string) => void;
}

export interface CreatedRun {
  readonly runId: string;
  /** True: the idempotency key had created this run before. */
  readonly isReplay: boolean;
}

const RUN_NAME_CODE_POINTS = 120;

/** A run of which everything is known but where its images lie. */
type PlannedRun = Omit<RunToCreate, "inputs"> & Pick<CheckedInputs, "textInputs">;

const KEY_RACE = "PD409";
const TOO_MANY_ACTIVE = "PD429";
const KEY_RACES_MAX = 3;
const TOO_MANY_CONNECTIONS = "53300";
/** A database that restarts is back within two seconds or so; a caller should not wait much longer for a 500. */
const OUTAGE_MS_MAX = 5_000;
const OUTAGE_BACKOFF = { baseMs: 50, capMs: 500 };

/** @throws Problem 404, 410, 422, 401, 402 or 429, in this order of checks (specification, "POST /v1/runs"). */
export async function createRun(request: RunRequest, options: CreateRunOptions): Promise<CreatedRun> {
  const { body } = request;
  const version = await findLiveVersion(options.db, body.promptVersionId);
  if (version === null) throw notFound("published prompt version", body.promptVersionId);
  refuseGoneModel(version, options.catalogue);
  const checked = checkInputs(version, body, options.catalogue);
  for (const name of checked.ignored) request.ignore(name);
  if (checked.issues.length > 0) throw invalid(checked.issues);
  const price = priceOf(request, version, checked, options);
  const planned: PlannedRun = {
    accountId: request.accountId,
    keyId: request.keyId,
    runId: request.runId,
    promptVersionId: version.promptVersionId,
    runName: Array.from(version.title).slice(0, RUN_NAME_CODE_POINTS).join(""),
    model: version.model,
    hold: price.hold,
    prices: price.prices,
    textInputs: checked.textInputs,
    runOptions: checked.options,
    deadlineSeconds: deadlineSeconds(version, options.catalogue),
    activeRunsMax: options.activeRunsMax,
    idempotency: request.idempotency,
  };
  return joinOrThrow(request, options.db, () => keepAndInsert(planned, body.inputs.imageInputs ?? [], options));
}

/**
 * Another request with the same key may have created the run since this one looked, with the last credits or in the
 * last free place: then this one joins it instead of being refused.
 */
async function joinOrThrow(request: RunRequest, db: Database, create: () => Promise<CreatedRun>): Promise<CreatedRun> {
  try {
    return await create();
  } catch (error) {
    if (!isRefusal(error) || error.code === "UNAUTHORIZED_ERROR" || request.idempotency === null) throw error;
    const earlier = await findRunOfKey(db, request.accountId, request.idempotency);
    if (earlier === null) throw error;
    return { runId: earlier, isReplay: true };
  }
}

/** Images are durable before their run exists. They stay unless it is known that it never will. */
async function keepAndInsert(
  { textInputs, ...planned }: PlannedRun,
  given: readonly ImageInput[],
  options: CreateRunOptions,
): Promise<CreatedRun> {
  if (given.some((image) => image.type === "base64")) await refuseBeforehand(planned, options);
  const images = await options.files.storeInputImages(given);
  if (images.length > 0) await fault("create.blob_stored");
  const row: RunToCreate = { ...planned, inputs: { textInputs, images } };
  try {
    const created = judge(await insertUntilKnown(row, images, options), row);
    if (created.isReplay) options.files.discardInputImages(images);
    return created;
  } catch (error) {
    if (wasNotCreated(error)) options.files.discardInputImages(images);
    throw error;
  }
}

/**
 * Refusals that the transaction would come to as well are given before bytes are stored. It stays the judge, and alone
 * knows of a key that was revoked while the body came.
 */
async function refuseBeforehand(
  run: Pick<RunToCreate, "accountId" | "hold">,
  { db, activeRunsMax }: CreateRunOptions,
): Promise<void> {
  const [available, active] = await Promise.all([
    availableCredits(db, run.accountId),
    countActiveRuns(db, run.accountId, activeRunsMax),
  ]);
  if (run.hold !== null && run.hold > available) throw tooFewCredits(run.hold, available);
  if (active >= activeRunsMax) throw tooManyActive(activeRunsMax);
}

/** A refusal, or an error after which nothing can have been committed. */
function wasNotCreated(error: unknown): boolean {
  return isRefusal(error) || isRolledBack(error);
}

/** The other Problem says that the outcome is unknown. */
function isRefusal(error: unknown): error is Problem {
  return error instanceof Problem && error.code !== "SERVER_ERROR";
}

function refuseGoneModel(version: LiveVersion, catalogue: Catalogue): void {
  const gone = findGoneModel(version.definition.steps, catalogue);
  if (gone === null) return;
  const data = { reason: "MODEL_RETIRED" as const, model: gone.model };
  throw new Problem("GONE_ERROR", `${gone.why} Use a newer version of the prompt.`, { data });
}

/** Free: the prices are all zero, or an author runs an own prompt. */
function priceOf(request: RunRequest, version: LiveVersion, checked: CheckedInputs, options: CreateRunOptions) {
  const steps = planSteps(version, checked.textInputs, checked.options, options.catalogue);
  const { credits, prices } = priceCeiling(options.catalogue, steps, version.model);
  const isFree = credits === 0 || version.authorId === request.accountId;
  if (!isFree && credits > options.holdMaxCredits) {
    const message = `With these inputs the run could cost ${credits} credits; ${options.holdMaxCredits} is the most one run may hold here. Send shorter inputs.`;
    throw invalid([{ path: ["body", "inputs"], code: "too_long", message }]);
  }
  return { hold: isFree ? null : credits, prices };
}

function deadlineSeconds(version: LiveVersion, catalogue: Catalogue): number {
  const modalities = version.definition.steps.map((step) => catalogue.find(step.model)?.modality ?? version.modality);
  return 60 * Math.max(...modalities.map((modality) => DEADLINE_MINUTES[modality]));
}

/**
 * Inserts the run. A lost connection leaves the commit unknown; the same id is then sent again, which finds the run if it
 * exists. An answer is never given before that is known, or said to be unknown.
 */
async function insertUntilKnown(
  row: RunToCreate,
  images: readonly StoredImage[],
  options: CreateRunOptions,
): Promise<CreateOutcome> {
  let isUnknown = false;
  const on = createPatience();
  const attempt = async (limits: TxOptions) => {
    try {
      return await insert(row, images, { ...options, limits });
    } catch (error) {
      isUnknown = isConnectionLoss(error) || (isUnknown && !showsItIsNew(error));
      throw error;
    }
  };
  const attempts = async (limits: TxOptions) => {
    const { signal } = limits;
    try {
      return await retry(() => attempt(limits), { on, backoff: OUTAGE_BACKOFF, signal });
    } catch (error) {
      if (isMomentary(error)) options.turns.turnAway(row.accountId, error); // before the turn passes on to the first of them
      throw error;
    }
  };
  try {
    return await options.turns.run(row.accountId, attempts);
  } catch (error) {
    if (isUnknown) throw outcomeUnknown(row.runId, error);
    throw sqlState(error) === TOO_MANY_ACTIVE ? tooManyActive(options.activeRunsMax, error) : error;
  }
}

/** Whether a create is tried once more: after a lost race for its key some times, after a lost connection for a while. */
function createPatience(): (error: unknown) => boolean {
  let races = 0;
  let untilMs: number | null = null;
  return (error) => {
    if (sqlState(error) === KEY_RACE) return (races += 1) <= KEY_RACES_MAX; // the other call's run is there now
    if (!isMomentary(error)) return false;
    untilMs ??= performance.now() + OUTAGE_MS_MAX;
    return performance.now() < untilMs;
  };
}

/** Raised behind the look for a run of this id, which waits for an earlier sending: there is none. */
function showsItIsNew(error: unknown): boolean {
  return [KEY_RACE, TOO_MANY_ACTIVE].includes(sqlState(error) ?? "");
}

/** Away, out of connections or changing over is over in a moment; a full disk is not, and its caller is told at once. */
function isMomentary(error: unknown): boolean {
  if (isConnectionLoss(error) || error instanceof TurnedAway) return true;
  return isStandby(error) || sqlState(error) === TOO_MANY_CONNECTIONS;
}

function insert(
  row: RunToCreate,
  images: readonly StoredImage[],
  { db, files, limits }: Pick<CreateRunOptions, "db" | "files"> & { readonly limits: TxOptions },
): Promise<CreateOutcome> {
  return db.tx(async (tx) => {
    const outcome = await createRunRow(tx, row);
    if (outcome.kind === "created" && images.length > 0) await files.recordInputs(tx, row, images);
    await fault("create.before_commit");
    return outcome;
  }, limits);
}

function tooManyActive(activeRunsMax: number, cause?: unknown): Problem {
  const count = activeRunsMax.toLocaleString("en-US");
  return new Problem(
    "TOO_MANY_REQUESTS_ERROR",
    `${count} runs are queued or running, the most one account may have. Wait for some to finish.`,
    { data: { reason: "TOO_MANY_ACTIVE_RUNS", limit: activeRunsMax }, headers: { "retry-after": "1" }, cause },
  );
}

function outcomeUnknown(runId: string, cause: unknown): Problem {
  return new Problem(
    "SERVER_ERROR",
    `The database went away while the run was created, so it may exist or not. Look at GET /v1/runs/${runId} before you create it again.`,
    { headers: { "x-should-retry": "false" }, cause },
  );
}

function judge(outcome: CreateOutcome, row: RunToCreate): CreatedRun {
  if (outcome.kind === "revoked") throw keyRevoked(outcome.revokedAt);
  if (outcome.kind === "key_conflict") throw keyConflict();
  if (outcome.kind === "not_found") throw notFound("published prompt version", row.promptVersionId);
  if (outcome.kind === "no_credits") throw tooFewCredits(row.hold, outcome.available);
  return { runId: outcome.runId, isReplay: outcome.kind === "joined" };
}

function tooFewCredits(required: number | null, available: number): Problem {
  return new Problem(
    "PAYMENT_REQUIRED_ERROR",
    `This run needs ${required} ${required === 1 ? "credit" : "credits"}, ${available} ${available === 1 ? "is" : "are"} available.`,
    { data: { reason: "INSUFFICIENT_CREDITS", required, available } },
  );
}

/** @throws Problem NOT_FOUND_ERROR, the same for a run that is absent and one of another account. */
export async function getRun(db: Database, accountId: string, runId: string) {
  const run = await findRun(db, accountId, runId);
  if (run === null) throw notFound("run", runId);
  return run;
}
