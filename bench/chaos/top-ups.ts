/**
 * A payment system that tops up accounts: each payment is sent until a response says that it is granted, some twice.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Database } from "../../packages/server/src/platform/database/database.ts";
import { createTestPerson } from "../../packages/server/test/people/people-fixture.ts";
import { createRandom, pickOne } from "./random.ts";

export interface TopUps {
  /** Total granted to each account. */
  readonly granted: ReadonlyMap<string, number>;
  /** Number of payments. */
  readonly count: number;
}

export interface TopUpOptions {
  readonly db: Database;
  readonly accountIds: readonly string[];
  readonly apiUrls: () => string[];
  readonly seed: number;
  readonly signal: AbortSignal;
}

const PAUSE_MS = 150;
const SENT_TWICE_SHARE = 0.3;
const AMOUNT_MAX = 20;
const TRIES_MAX = 4_000;
const REQUEST_MS_MAX = 10_000;

/** Begins once an API process responds. @returns once it was told to stop and the last payment is granted. */
export async function startTopUps(options: TopUpOptions): Promise<{ readonly ended: Promise<TopUps> }> {
  const { db, apiUrls } = options;
  const operator = await createTestPerson({ url: apiUrls()[0] ?? "", app: { db } }, { isOperator: true });
  const { token } = await operator.token(["operator"]);
  return { ended: pay(options, token) };
}

async function pay({ accountIds, apiUrls, seed, signal }: TopUpOptions, token: string): Promise<TopUps> {
  const random = createRandom(seed);
  const granted = new Map<string, number>();
  let count = 0;
  while (!signal.aborted) {
    const account = pickOne(accountIds, random) ?? "";
    const payment = { token, key: crypto.randomUUID(), account, amount: 1 + Math.floor(random() * AMOUNT_MAX) };
    const url = () => pickOne(apiUrls(), random);
    const times = random() < SENT_TWICE_SHARE ? 2 : 1;
    await Promise.all(Array.from({ length: times }, () => sendUntilGranted(payment, url)));
    granted.set(account, (granted.get(account) ?? 0) + payment.amount);
    count += 1;
    await wait(PAUSE_MS);
  }
  return { granted, count };
}

interface Payment {
  readonly token: string;
  readonly key: string;
  readonly account: string;
  readonly amount: number;
}

async function sendUntilGranted(payment: Payment, url: () => string | undefined): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const status = await send(payment, url()).catch(() => null); // no connection, or one that was lost
    if (status === 200) return;
    if (status !== null && status !== 429 && status < 500) throw new Error(`A top-up was refused with ${status}.`);
    await wait(50);
  }
  throw new Error("A top-up was never granted.");
}

async function send({ token, key, account, amount }: Payment, url: string | undefined): Promise<number | null> {
  if (url === undefined) return null;
  const response = await fetch(`${url}/manage/v1/credits/grants`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify({ account, amount, reason: "top-up" }),
    signal: AbortSignal.timeout(REQUEST_MS_MAX),
  });
  await response.arrayBuffer();
  return response.status;
}
