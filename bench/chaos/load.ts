/** Callers of many accounts that create runs through the real client and record what they were told. */
import { setTimeout as wait } from "node:timers/promises";
import { PromptdError } from "@promptd/client";
import type {
  InstallationCaller,
  InstallationFixture,
} from "../../packages/server/test/support/installation-fixture.ts";
import { createRandom, pickOne, type SeededRandom } from "./random.ts";
import { viewOf, type RunView } from "./run-view.ts";
import { startTopUps, type TopUps } from "./top-ups.ts";

export interface CallerReport {
  readonly accountId: string;
  /** Identifies the request: it is in the text input, and is the Idempotency-Key if the request has one. */
  readonly tag: string;
  readonly hasKey: boolean;
  /** Every runId in a response to this request. */
  readonly runIds: readonly string[];
  /** Final views that the caller saw. */
  readonly finals: readonly RunView[];
  /** `unknown`: never learned what happened to it. */
  readonly outcome: "acknowledged" | "refused" | "unknown";
  readonly code: string | null;
  readonly unspecified: readonly string[];
}

export interface Account {
  readonly accountId: string;
  /** Including top-ups, once the load has stopped. */
  readonly granted: number;
  /** True: it has few credits left, or its key has a low cap, so runs may be refused. */
  readonly isShort: boolean;
}

export interface Load {
  readonly accounts: readonly Account[];
  /** Granted payments, once the load has stopped. */
  readonly topUps: number;
  /** Lets every caller finish what it has begun. */
  stop(): Promise<readonly CallerReport[]>;
  /** Every run as its own account reads it through the API. Call it when no run is open any longer. */
  readBack(): Promise<ReadonlyMap<string, RunView>>;
}

const CALLERS_PER_ACCOUNT = 2;
const TRIES_MAX = 400;
const READ_TRIES_MAX = 40;
const RICH = 1_000_000;
/** The last account has few credits: its runs are refused after a while. */
const POOR = 40;
/** The key of the account before it has a cap: its runs are refused after a while. */
const CAP = 300;
/** They send each request once: if the response is lost, nobody tells them whether a run exists. */
const KEYLESS_SHARE = 0.25;
const KNOWN = new Set([400, 401, 402, 404, 410, 422, 429, 500, 504]);

export interface LoadOptions {
  readonly accounts: number;
  readonly apiUrls: () => string[];
  readonly seed: number;
}

export async function startLoad(fixture: InstallationFixture, options: LoadOptions): Promise<Load> {
  const { apiUrls } = options;
  const stopping = new AbortController();
  const reports: CallerReport[] = [];
  const last = options.accounts - 1;
  const grants = Array.from({ length: options.accounts }, (_, i) => (i === last ? POOR : RICH));
  const isCapped = (i: number) => i === last - 1 && i > 0;
  const callers = await Promise.all(
    grants.map((granted, i) => fixture.createCaller(granted, isCapped(i) ? { monthlyCap: CAP } : {})),
  );
  const accountIds = callers.map(({ accountId }) => accountId);
  const { signal } = stopping;
  const topUps = await startTopUps({ db: fixture.db, accountIds, apiUrls, seed: options.seed, signal });
  let paid: TopUps = { granted: new Map(), count: 0 };
  topUps.ended.catch(() => {}); // handled by stop
  const loops = callers.flatMap((caller, i) =>
    Array.from({ length: CALLERS_PER_ACCOUNT }, async (_, j) => {
      const random = createRandom(options.seed + i * CALLERS_PER_ACCOUNT + j);
      while (!stopping.signal.aborted) reports.push(await createOne(fixture, caller, { apiUrls, random }));
    }),
  );
  return {
    get accounts() {
      return accountIds.map((accountId, i) => ({
        accountId,
        granted: (grants[i] ?? 0) + (paid.granted.get(accountId) ?? 0),
        isShort: i === last || isCapped(i),
      }));
    },
    get topUps() {
      return paid.count;
    },
    stop: async () => {
      stopping.abort();
      await Promise.all(loops);
      paid = await topUps.ended;
      return reports;
    },
    readBack: async () => {
      const views = await Promise.all(callers.map((caller) => readRuns(caller, apiUrls)));
      return new Map(views.flat().map((view) => [view.runId, view]));
    },
  };
}

/** The last faults may have left an API process restarting or with broken connections, so it gets a few attempts. */
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

interface Talk {
  readonly runIds: string[];
  readonly finals: RunView[];
  readonly unspecified: string[];
}
type Verdict = Pick<CallerReport, "outcome" | "code">;

interface Way {
  readonly apiUrls: () => string[];
  readonly random: SeededRandom;
}

/** One run: with a key, retried until a response says what happened to it; without a key, requested only once. */
async function createOne(fixture: InstallationFixture, caller: InstallationCaller, way: Way): Promise<CallerReport> {
  const tag = crypto.randomUUID();
  const hasKey = way.random() >= KEYLESS_SHARE;
  const options = { idempotencyKey: hasKey ? tag : null, respondAsync: way.random() < 0.4 };
  const body = bodyOf(fixture, tag, way.random);
  const talk: Talk = { runIds: [], finals: [], unspecified: [] };
  const verdict = await askUntilAnswered(way, hasKey ? TRIES_MAX : 1, async (url) => {
    try {
      const run = await caller.clientAt(url).runs.create(body, options);
      talk.runIds.push(run.runId);
      if (run.runStatus === "succeeded" || run.runStatus === "failed") talk.finals.push(viewOf(run));
      await wait(way.random() * 20);
      return { outcome: "acknowledged", code: null };
    } catch (error) {
      return hear(error, talk, hasKey);
    }
  });
  return { accountId: caller.accountId, tag, hasKey, ...talk, ...verdict };
}

/** @param ask null: no response. */
async function askUntilAnswered(
  { apiUrls, random }: Way,
  triesMax: number,
  ask: (url: string) => Promise<Verdict | null>,
): Promise<Verdict> {
  let looks = 0;
  for (let tries = 0; tries < triesMax && looks < TRIES_MAX; looks += 1) {
    const url = pickOne(apiUrls(), random);
    if (url === undefined) {
      await wait(50);
      continue;
    }
    tries += 1;
    const verdict = await ask(url);
    if (verdict !== null) return verdict;
    await wait(30 + random() * 70); // no connection, or a 500: a retry with the same key shows whether the run exists
  }
  return { outcome: "unknown", code: null };
}

/** Null: no response. A caller with a key also retries after a 429; without a key, a 429 means that there is no run. */
async function hear(error: unknown, { runIds, unspecified }: Talk, hasKey: boolean): Promise<Verdict | null> {
  if (!(error instanceof PromptdError)) return null;
  if (!KNOWN.has(error.httpStatus)) unspecified.push(`${error.httpStatus} ${error.code}`);
  if (error.runId !== null) {
    runIds.push(error.runId);
    return { outcome: "acknowledged", code: error.code };
  }
  if (error.httpStatus === 402) await wait(500);
  const isOpen = error.httpStatus === 500 || (error.httpStatus === 429 && hasKey);
  return isOpen ? null : { outcome: "refused", code: error.code };
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

function bodyOf({ prompts }: InstallationFixture, tag: string, random: SeededRandom) {
  const chance = random();
  const promptVersionId =
    chance < 0.72 ? prompts.paid : chance < 0.9 ? prompts.free : chance < 0.96 ? prompts.picture : prompts.clip;
  const isText = chance < 0.9;
  const directive = isText ? pickOne(DIRECTIVES, random) : pickOne(["delay=100", "delay=500"], random);
  return {
    promptVersionId,
    inputs: { textInputs: { ask: `sandbox: ${directive}\nRequest ${tag}` } },
  };
}
