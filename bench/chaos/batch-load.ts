/** Batches of one account under chaos, and the webhook that is notified of each run's end. */
import { setTimeout as wait } from "node:timers/promises";
import { createClient, PromptdError, type Client } from "@promptd/client";
import type { Batch } from "@promptd/contract";
import { createApiKey, setPlan } from "../../packages/server/src/accounts/index.ts";
import { grantCredits } from "../../packages/server/src/credits/index.ts";
import { systemClock } from "../../packages/server/src/platform/clock.ts";
import { createIdSource } from "../../packages/server/src/platform/ids.ts";
import { createTestPerson } from "../../packages/server/test/people/people-fixture.ts";
import type { InstallationFixture } from "../../packages/server/test/support/installation-fixture.ts";
import { startWebhookReceiver } from "../../packages/server/test/webhooks/webhook-receiver.ts";
import type { Account, CallerReport } from "./load.ts";
import { createRandom, pickOne, type SeededRandom } from "./random.ts";
import { viewOf, type RunView } from "./run-view.ts";

export interface BatchLoad {
  readonly account: Account;
  /** Batches created, once the load has stopped. */
  readonly batches: number;
  /** Finishes the batches that were begun. @returns what their caller learned about each item. */
  stop(): Promise<readonly CallerReport[]>;
  readBack(): Promise<ReadonlyMap<string, RunView>>;
  /** Runs whose end the webhook receiver was notified of. */
  heard(): ReadonlySet<string>;
  close(): Promise<void>;
}

export interface BatchLoadOptions {
  readonly apiUrls: () => string[];
  readonly seed: number;
}

const GRANTED = 1_000_000;
const ITEMS_MAX = 30;
const CANCELED_SHARE = 0.2;
const PAUSE_MS = 100;
/** Long enough for a long database outage and a fleet restart: the last batch still ends. */
const TRIES_MAX = 4_000;
const DIRECTIVES = ["tokens=20", "delay=100 tokens=40", "delay=400", "refuse", "error=400"];

export async function startBatchLoad(
  { db, prompts }: InstallationFixture,
  { apiUrls, seed }: BatchLoadOptions,
): Promise<BatchLoad> {
  const receiver = await startWebhookReceiver();
  const person = await createTestPerson({ url: apiUrls()[0] ?? "", app: { db } });
  const { accountId } = person;
  await setPlan(db, accountId, { plan: "pro", untilMs: null });
  await grantCredits(db, { accountId, amount: GRANTED, reason: null, idempotencyKey: "chaos", expiresAt: null });
  const { apiKey } = await createApiKey(db, createIdSource(systemClock), { accountId, name: "batches" });
  await person.client.send("createWebhook", { body: { url: receiver.url, events: ["run.finished"] } });
  const random = createRandom(seed);
  const stopping = new AbortController();
  const ask = <Answer>(work: (client: Client) => Promise<Answer>) =>
    askUntilAnswered(work, () => pickOne(apiUrls(), random), apiKey);
  const reports: CallerReport[] = [];
  let batches = 0;
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      reports.push(...(await runOneBatch(ask, { accountId, promptVersionId: prompts.paid, random })));
      batches += 1;
      await wait(PAUSE_MS);
    }
  })();
  loop.catch(() => {}); // handled by stop
  return {
    account: { accountId, granted: GRANTED, isShort: false },
    get batches() {
      return batches;
    },
    stop: async () => {
      stopping.abort();
      await loop;
      return reports;
    },
    readBack: () =>
      ask(async (client) => {
        const views = new Map<string, RunView>();
        for await (const row of client.runs.listAll())
          views.set(row.runId, viewOf({ ...row, tokens: row.credits ?? 0 }));
        return views;
      }),
    heard: () =>
      new Set(receiver.received.flatMap(({ event }) => (event.type === "run.finished" ? [event.data.runId] : []))),
    close: () => receiver.close(),
  };
}

type Ask = <Answer>(work: (client: Client) => Promise<Answer>) => Promise<Answer>;

/** Retries transient failures; a refusal by the server ends the run. */
async function askUntilAnswered<Answer>(
  work: (client: Client) => Promise<Answer>,
  pickUrl: () => string | undefined,
  apiKey: string,
): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const url = pickUrl();
    try {
      if (url !== undefined) return await work(createClient({ baseUrl: url, apiKey, maxRetries: 0 }));
    } catch (error) {
      const isRefused = error instanceof PromptdError && error.httpStatus < 500 && error.httpStatus !== 429;
      if (isRefused || tries >= TRIES_MAX) throw error;
    }
    await wait(PAUSE_MS);
  }
}

interface Order {
  readonly accountId: string;
  readonly promptVersionId: string;
  readonly random: SeededRandom;
}

/** One batch, until none of its items is open. */
async function runOneBatch(ask: Ask, { accountId, promptVersionId, random }: Order): Promise<CallerReport[]> {
  const key = crypto.randomUUID();
  const tags = Array.from({ length: 1 + Math.floor(random() * ITEMS_MAX) }, () => crypto.randomUUID());
  const items = tags.map((tag) => ({
    key: tag,
    inputs: { textInputs: { ask: `sandbox: ${pickOne(DIRECTIVES, random) ?? ""}\nRequest ${tag}` } },
  }));
  const { batchId } = await ask((client) => client.batches.create({ promptVersionId, items }, { idempotencyKey: key }));
  if (random() < CANCELED_SHARE) await ask((client) => client.batches.cancel(batchId));
  let batch: Batch | null = null;
  while (batch === null || batch.finishedAt === null) {
    batch = await ask((client) => client.batches.get(batchId));
    await wait(PAUSE_MS);
  }
  const results = await ask((client) => Array.fromAsync(client.batches.results(batchId)));
  const runOf = new Map(results.map((result) => [result.key, result.runId]));
  return tags.map((tag) => {
    const runId = runOf.get(tag) ?? null;
    const isKnown = runId !== null;
    return {
      accountId,
      tag,
      hasKey: false, // of the runs: the batch has one
      runIds: isKnown ? [runId] : [],
      finals: [],
      outcome: isKnown ? "acknowledged" : "unknown",
      code: null,
      unspecified: [],
    };
  });
}
