/** Callers of many accounts that create runs through the real client and write down what they were told. */
import { setTimeout as wait } from "node:timers/promises";
import { PromptdError } from "@promptd/client";
import type { InstallationCaller, InstallationFixture } from "../../packages/server/test/installation-fixture.ts";
import { createRandom, pickOne, type SeededRandom } from "./random.ts";
import { viewOf, type RunView } from "./run-view.ts";

export interface Told {
  readonly accountId: string;
  readonly key: string;
  /** Every runId an answer to this key named. */
  readonly runIds: readonly string[];
  /** Final views the caller saw. */
  readonly finals: readonly RunView[];
  /** `unknown`: never told anything. */
  readonly outcome: "acknowledged" | "refused" | "unknown";
  readonly code: string | null;
  readonly unspecified: readonly string[];
}

export interface Account {
  readonly accountId: string;
  readonly granted: number;
}

export interface Load {
  readonly accounts: readonly Account[];
  /** Lets every caller end what it has begun. */
  stop(): Promise<readonly Told[]>;
  /** Every run as its own account reads it through the API. Call it when nothing is open any more. */
  readBack(): Promise<ReadonlyMap<string, RunView>>;
}

const CALLERS_PER_ACCOUNT = 2;
const TRIES_MAX = 400;
const READ_TRIES_MAX = 40;
const RICH = 1_000_000;
/** The last account is nearly out of credits: its runs are refused from some time on. */
const POOR = 40;
const KNOWN = new Set([400, 401, 402, 404, 410, 422, 429, 500, 504]);

export interface LoadOptions {
  readonly accounts: number;
  readonly apiUrls: () => string[];
  readonly seed: number;
}

export async function startLoad(fixture: InstallationFixture, options: LoadOptions): Promise<Load> {
  const { apiUrls } = options;
  const stopping = new AbortController();
  const told: Told[] = [];
  const grants = Array.from({ length: options.accounts }, (_, i) => (i === options.accounts - 1 ? POOR : RICH));
  const callers = await Promise.all(grants.map((granted) => fixture.createCaller(granted)));
  const loops = callers.flatMap((caller, i) =>
    Array.from({ length: CALLERS_PER_ACCOUNT }, async (_, j) => {
      const random = createRandom(options.seed + i * CALLERS_PER_ACCOUNT + j);
      while (!stopping.signal.aborted) told.push(await createOne(fixture, caller, { apiUrls, random }));
    }),
  );
  return {
    accounts: callers.map(({ accountId }, i) => ({ accountId, granted: grants[i] ?? 0 })),
    stop: async () => {
      stopping.abort();
      await Promise.all(loops);
      return told;
    },
    readBack: async () => {
      const views = await Promise.all(callers.map((caller) => readRuns(caller, apiUrls)));
      return new Map(views.flat().map((view) => [view.runId, view]));
    },
  };
}

/** The last faults may have left an API process with broken connections or starting anew: a few tries are its due. */
async function readRuns(caller: InstallationCaller, apiUrls: () => string[]): Promise<RunView[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      const views: RunView[] = [];
      for await (const row of caller.clientAt(apiUrls()[0] ?? "").runs.listAll()) {
        views.push(viewOf({ ...row, tokens: row.credits ?? 0 }));
      }
      return views;
    } catch (error) {
      if (tries === READ_TRIES_MAX) throw error;
      await wait(500);
    }
  }
}

/** One run: asked for under one key until an answer says what became of it. */
async function createOne(
  fixture: InstallationFixture,
  caller: InstallationCaller,
  { apiUrls, random }: { readonly apiUrls: () => string[]; readonly random: SeededRandom },
): Promise<Told> {
  const key = crypto.randomUUID();
  const body = wish(fixture, random);
  const respondAsync = random() < 0.4;
  const runIds: string[] = [];
  const finals: RunView[] = [];
  const unspecified: string[] = [];
  const base = () => ({ accountId: caller.accountId, key, runIds, finals, unspecified });
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const url = pickOne(apiUrls(), random);
    if (url === undefined) {
      await wait(50);
      continue;
    }
    try {
      const run = await caller.clientAt(url).runs.create(body, { idempotencyKey: key, respondAsync });
      runIds.push(run.runId);
      if (run.runStatus === "succeeded" || run.runStatus === "failed") finals.push(viewOf(run));
      await wait(random() * 20);
      return { ...base(), outcome: "acknowledged", code: null };
    } catch (error) {
      const verdict = await hear(error, { runIds, unspecified });
      if (verdict !== null) return { ...base(), ...verdict };
      await wait(30 + random() * 70); // no connection, or a 500: whether the run exists is told by the same key
    }
  }
  return { ...base(), outcome: "unknown", code: null };
}

/** Null: nothing was told, ask again. */
async function hear(
  error: unknown,
  { runIds, unspecified }: { readonly runIds: string[]; readonly unspecified: string[] },
): Promise<Pick<Told, "outcome" | "code"> | null> {
  if (!(error instanceof PromptdError)) return null;
  if (!KNOWN.has(error.httpStatus)) unspecified.push(`${error.httpStatus} ${error.code}`);
  if (error.runId !== null) {
    runIds.push(error.runId);
    return { outcome: "acknowledged", code: error.code };
  }
  if (error.httpStatus === 402) await wait(500);
  return [429, 500].includes(error.httpStatus) ? null : { outcome: "refused", code: error.code };
}

const DIRECTIVES = [
  "tokens=900",
  "tokens=20",
  "delay=80",
  "delay=400 tokens=300",
  "delay=1200",
  "refuse",
  "error=400",
  "dirty",
];

function wish({ prompts }: InstallationFixture, random: SeededRandom) {
  const chance = random();
  const promptVersionId =
    chance < 0.72 ? prompts.paid : chance < 0.9 ? prompts.free : chance < 0.96 ? prompts.picture : prompts.clip;
  const isText = chance < 0.9;
  const directive = isText ? pickOne(DIRECTIVES, random) : pickOne(["delay=100", "delay=500"], random);
  return {
    promptVersionId,
    inputs: { textInputs: { ask: `sandbox: ${directive}\nSomething ${Math.floor(random() * 1e6)}` } },
  };
}
