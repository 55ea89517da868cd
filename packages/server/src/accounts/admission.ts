/**
 * Admission to /v1: key, plan and rate limit in one statement, decided from the headers alone. Requests that arrive in
 * one turn of the event loop share a statement (measured 2026-11: 5.7 times the rate of one statement each). Nothing
 * about a key is cached: a revocation counts for every statement that starts after its commit.
 */
import { setImmediate } from "node:timers";
import { setTimeout as wait } from "node:timers/promises";
import type { Admission, Admit } from "../http/endpoint.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database/database.ts";
import type { Log } from "../platform/log.ts";
import { Problem } from "../platform/problem.ts";
import { recordKeyUse } from "./accounts-store.ts";
import { hashApiKey, hasKeyForm } from "./api-keys.ts";

export interface AdmissionOptions {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly limitPerSecond: number;
  readonly scope: "account" | "key";
  /** False: plans are not asked for. */
  readonly plans: boolean;
  /** How a request waits for its place; a test lets its own clock run meanwhile. */
  readonly pause?: (ms: number) => Promise<unknown>;
}

export interface AdmissionControl {
  readonly admit: Admit;
  /** Writes when keys were last used, which otherwise happens once a minute. */
  close(): Promise<void>;
}

/** A revoked key has rank 0: it is not counted. */
interface AdmissionRow {
  nth: number;
  key_id: string;
  account_id: string;
  revoked_at: Date | null;
  pro_until: Date | number;
  pro: boolean;
  admitted: number;
  rank: number;
  used: number;
  wait_us: number;
}

const BATCHES_IN_FLIGHT_MAX = 3;
const KEY_USE_MS = 60_000;
const BATCH_MAX = 500;
/**
 * A request that comes this much too early waits for its place instead of being refused, and once more when another one
 * took it. A caller of exactly five a second has timers and a network that jitter; without this an exact window refused
 * 13 % of its requests (measured 2026-11), and with it the window is as exact as before.
 */
const EARLY_US_MAX = 250_000;
const WAITS_MAX = 2;
const AUTHORIZATION_LENGTH_MAX = 256;
const TEXTS = {
  missing: 'No API key was sent. Send the header "Authorization: Bearer <API_KEY>".',
  form: 'The Authorization header must have the form "Bearer <API_KEY>".',
  tooLong: 'The Authorization header is longer than 256 characters. Send only "Bearer <API_KEY>".',
  invalid: "The API key is not valid. Check it, or create a new one on the API keys page.",
  noPlan: "The API needs a Pro plan.",
  lapsed: "Your Pro plan has ended. Renew it to use the API.",
};

export function createAdmissionControl(options: AdmissionOptions): AdmissionControl {
  const lookUp = createBatcher(options);
  const { pause = wait } = options;
  const used = new Map<string, number>();
  const places = createWaitingPlaces(options.limitPerSecond);

  async function admit(request: { readonly authorization: readonly string[] }): Promise<Admission> {
    const key = readKey(request.authorization);
    if (key instanceof Problem) return { kind: "refused", problem: key, remaining: null };
    const hash = hashApiKey(key);
    const first = await lookUp(hash);
    const row = first !== null && isLittleEarly(first) ? await waitForPlace(first, hash) : first;
    const admission = judge(row, options);
    if (admission.kind === "admitted") used.set(admission.caller.keyId, options.clock.nowMs());
    return admission;
  }
  /** Asks again when the place should be free; who finds as many waiting as a second admits keeps the first answer. */
  async function waitForPlace(row: AdmissionRow, hash: Buffer): Promise<AdmissionRow | null> {
    const leave = places.take(options.scope === "key" ? row.key_id : row.account_id);
    if (leave === null) return row;
    let last: AdmissionRow | null = row;
    try {
      for (let i = 0; i < WAITS_MAX && last !== null && isLittleEarly(last); i += 1) {
        await pause(Math.ceil(last.wait_us / 1_000) + 1);
        last = await lookUp(hash);
      }
      return last;
    } finally {
      leave();
    }
  }
  async function flush(): Promise<void> {
    if (used.size === 0) return;
    const uses = new Map(used);
    used.clear();
    await recordKeyUse(options.db, uses).catch((error: unknown) =>
      options.log.warn({ err: error }, "the times of key use were not written"),
    );
  }
  const timer = setInterval(() => void flush(), KEY_USE_MS).unref();
  return {
    admit,
    close: () => {
      clearInterval(timer);
      return flush();
    },
  };
}

/** As many requests of one account, or key, may wait at once as a second admits: a flood is refused at once. */
function createWaitingPlaces(max: number) {
  const taken = new Map<string, number>();
  return {
    /** The way to give the place back; null: none is free. */
    take: (scope: string): (() => void) | null => {
      const count = taken.get(scope) ?? 0;
      if (count >= max) return null;
      taken.set(scope, count + 1);
      return () => {
        const left = (taken.get(scope) ?? 1) - 1;
        if (left === 0) taken.delete(scope);
        else taken.set(scope, left);
      };
    },
  };
}

/** The key of exactly one well-formed header, or the 401 that says what is wrong. */
function readKey(authorization: readonly string[]): string | Problem {
  const [header] = authorization;
  if (header === undefined || header.trim() === "") return unauthorized(TEXTS.missing);
  // Two headers: one of them was meant for somebody else, and which is not ours to guess.
  if (authorization.length > 1) {
    const text = `The request has ${authorization.length} Authorization headers. Send one: "Authorization: Bearer <API_KEY>".`;
    return unauthorized(text);
  }
  if (header.length > AUTHORIZATION_LENGTH_MAX) return unauthorized(TEXTS.tooLong);
  const key = /^bearer +(\S+) *$/i.exec(header)?.[1];
  if (key === undefined) return unauthorized(TEXTS.form);
  return hasKeyForm(key) ? key : unauthorized(TEXTS.invalid);
}

function isLittleEarly(row: AdmissionRow): boolean {
  return row.rank > row.admitted && row.wait_us <= EARLY_US_MAX;
}

function judge(row: AdmissionRow | null, options: AdmissionOptions): Admission {
  if (row === null) return { kind: "refused", problem: unauthorized(TEXTS.invalid), remaining: null };
  if (row.revoked_at !== null) return { kind: "refused", problem: keyRevoked(row.revoked_at), remaining: null };
  const remaining = Math.max(0, options.limitPerSecond - row.used);
  if (row.rank > row.admitted) return { kind: "refused", problem: overLimit(row.wait_us, options), remaining };
  if (options.plans && !row.pro) return { kind: "refused", problem: planRequired(row.pro_until), remaining };
  return { kind: "admitted", caller: { accountId: row.account_id, keyId: row.key_id }, remaining };
}

export function keyRevoked(at: Date): Problem {
  return unauthorized(`This API key was revoked on ${at.toISOString().slice(0, 10)}.`);
}

function unauthorized(text: string): Problem {
  return new Problem("UNAUTHORIZED_ERROR", text, { headers: { "www-authenticate": "Bearer" } });
}

/** One second is always enough: the window is one second long. The exact wait stands beside it for those who can use it. */
function overLimit(waitUs: number, options: AdmissionOptions): Problem {
  const waitMs = Math.min(1_000, Math.ceil(waitUs / 1_000));
  const requests = options.limitPerSecond === 1 ? "1 request" : `${options.limitPerSecond} requests`;
  return new Problem("TOO_MANY_REQUESTS_ERROR", `More than ${requests} in one second. Wait 1 second, then retry.`, {
    headers: { "retry-after": "1", "retry-after-ms": String(waitMs) },
  });
}

function planRequired(proUntil: Date | number): Problem {
  const hadPlan = Number(proUntil) !== Number.NEGATIVE_INFINITY;
  return new Problem("PAYMENT_REQUIRED_ERROR", hadPlan ? TEXTS.lapsed : TEXTS.noPlan, {
    data: { reason: hadPlan ? "PLAN_LAPSED" : "PLAN_REQUIRED" },
  });
}

interface Waiter {
  readonly hash: Buffer;
  readonly resolve: (row: AdmissionRow | null) => void;
  readonly reject: (error: unknown) => void;
}

/** Gathers the look-ups of one turn of the event loop; at most three statements are in flight, the rest gather on. */
function createBatcher(options: AdmissionOptions): (hash: Buffer) => Promise<AdmissionRow | null> {
  let waiting: Waiter[] = [];
  let inFlight = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled || inFlight >= BATCHES_IN_FLIGHT_MAX || waiting.length === 0) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      void send(waiting.splice(0, BATCH_MAX));
      schedule();
    });
  }
  async function send(batch: readonly Waiter[]): Promise<void> {
    inFlight += 1;
    try {
      const rows = await options.db.named<AdmissionRow>(
        "admit",
        "select nth, key_id, account_id, revoked_at, pro_until, pro, admitted, rank, used, wait_us from admit($1, $2, $3)",
        [batch.map((waiter) => waiter.hash), options.limitPerSecond, options.scope === "key"],
      );
      const byPosition = new Map(rows.map((row) => [row.nth, row]));
      for (const [i, waiter] of batch.entries()) waiter.resolve(byPosition.get(i + 1) ?? null);
    } catch (error) {
      // Closed when the database is down: a limit that opens on failure is none.
      for (const waiter of batch) waiter.reject(error);
    } finally {
      inFlight -= 1;
      schedule();
    }
  }
  return (hash) =>
    new Promise((resolve, reject) => {
      waiting.push({ hash, resolve, reject });
      schedule();
    });
}
