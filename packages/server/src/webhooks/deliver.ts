/**
 * Sends due deliveries. Every worker process polls the table, which is the queue, and claims as many deliveries as it
 * has permits for. An account gets at most a quarter of the permits, and each of its webhooks at most half of those, so
 * that a receiver that hangs delays nobody else. All failing webhooks together share half of the permits. A delivery is
 * made at least once: if the process dies during an attempt, the delivery is due again when its lease has passed, and
 * the receiver recognizes the event by its `webhook-id`.
 */
import type { FinishedRunData } from "@promptd/contract/manage";
import type { GuardedPost, PostOutcome } from "../files/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Tx } from "../platform/database/database.ts";
import { faultPoint } from "../platform/fault-injection.ts";
import { FIRST_ID } from "../platform/ids.ts";
import { createFailureLog, type Log } from "../platform/log.ts";
import { createCounter } from "../platform/metrics/metrics.ts";
import { settleWithin } from "../platform/resilience/deadline.ts";
import { createSemaphore } from "../platform/resilience/semaphore.ts";
import { shareCalls } from "../platform/resilience/share-calls.ts";
import { claimDeliveries, settleAttempt, type AttemptOutcome, type ClaimedDelivery } from "./deliveries-store.ts";
import { signatureHeaders } from "./sign-event.ts";
import type { SecretVault } from "./webhook-secrets.ts";
import type { WebhookOfAccount } from "./webhooks-store.ts";

export interface DelivererOptions {
  readonly db: Database;
  readonly log: Log;
  readonly clock: Clock;
  readonly vault: SecretVault;
  readonly poster: GuardedPost;
  /** Notifies the owners of the account, in the transaction that disables the webhook. */
  readonly onDisabled: (
    tx: Tx,
    accountId: string,
    webhook: { readonly url: string; readonly reason: string },
  ) => Promise<void>;
  /** In tests: the polling interval. */
  readonly pollMs?: number | undefined;
  /** Null: the run no longer exists. */
  readonly readRun: (accountId: string, runId: string) => Promise<FinishedRunData | null>;
}

export interface Deliverer {
  start(): void;
  /**
   * Claims and sends everything due now; resolves when nothing more is due, although the last attempts may still be in
   * progress.
   */
  deliverDue(): Promise<void>;
  /** Gives attempts a moment to end, and makes unfinished deliveries due again. */
  stop(): Promise<void>;
}

const POLL_MS = 1_000;
const PERMITS = 32;
const OF_ACCOUNT_MAX = PERMITS / 4;
const OF_WEBHOOK_MAX = OF_ACCOUNT_MAX / 2;
/** Longer than any attempt takes, including what is written after it. */
const LEASE_SECONDS = 60;
/** Seconds until the next attempt, by number of failures: ten attempts within a day. */
const RETRY_SECONDS: readonly number[] = [5, 30, 120, 600, 1_800, 3_600, 10_800, 21_600, 43_200];
/**
 * A process that cannot open the secret leaves the event to others: during a rotation they may have restarted earlier
 * or later.
 */
const UNREADABLE_SECONDS = 60;
const GIVE_UP = { days: 3, reason: "No delivery has succeeded for 3 days." };
const STOP_TIMEOUT_MS = 2_000;
const START: WebhookOfAccount = { accountId: FIRST_ID, webhookId: FIRST_ID };
const GONE = 410;

const attempts = createCounter(
  {
    name: "promptd_webhook_attempts_total",
    help: "Attempts of this process to deliver an event. pending: another attempt follows; failed: none does.",
  },
  ["state"],
);

export function createDeliverer(options: DelivererOptions): Deliverer {
  const { db, log } = options;
  const permits = createSemaphore({ permits: PERMITS });
  const live = new Map<Promise<void>, ClaimedDelivery>();
  const stopping = new AbortController();
  let after = START;
  let isStopping = false;
  /**
   * Deliveries that now have room may be behind the point that the current round has passed, so a wake makes it start
   * over.
   */
  let wakes = 0;
  let timer: NodeJS.Timeout | undefined;
  const fails = "deliveries cannot be claimed; retrying every second";
  const failures = createFailureLog(log, fails, "deliveries can be claimed again");

  /** @returns whether more deliveries may be due. */
  const claimOnce = async (): Promise<boolean> => {
    (await permits.acquire({ signal: stopping.signal })).release(); // wait until one is free
    const wakesBefore = wakes;
    const { claimed, next } = await claimDeliveries(db, {
      atMost: PERMITS - live.size,
      live: [...live.values()],
      ofAccountMax: OF_ACCOUNT_MAX,
      ofWebhookMax: OF_WEBHOOK_MAX,
      leaseSeconds: LEASE_SECONDS,
      after,
    });
    failures.worked();
    after = next ?? START;
    for (const delivery of claimed) {
      // Removed before its permit is free: the delivery that gets the permit counts the attempts in progress.
      const forget = () => {
        const wasFull = isFull(delivery, live.values());
        live.delete(sending);
        if (wasFull) poll();
      };
      const sending = permits
        .run(() => attempt(delivery, options, stopping.signal).finally(forget))
        .catch((error: unknown) =>
          log.error({ err: error, deliveryId: delivery.deliveryId }, "a delivery was interrupted and will be repeated"),
        );
      live.set(sending, delivery);
    }
    return !isStopping && (claimed.length > 0 || next !== null || wakes > wakesBefore);
  };
  const deliverDue = shareCalls(async () => {
    for (let isMore = true; isMore;) isMore = await claimOnce();
  });
  const poll = (): void => {
    if (timer === undefined || isStopping) return;
    wakes += 1;
    deliverDue().catch((error: unknown) => {
      if (!isStopping) failures.failed(error);
    });
  };
  return {
    deliverDue,
    start: () => {
      timer = setInterval(poll, options.pollMs ?? POLL_MS);
      timer.unref();
    },
    stop: async () => {
      isStopping = true;
      clearInterval(timer);
      await settleWithin(live.keys(), STOP_TIMEOUT_MS);
      stopping.abort(new Error("The process is stopping."));
      await deliverDue.untilIdle();
      await Promise.allSettled(live.keys());
    },
  };
}

/** If a webhook or an account is at its limit, more of its deliveries may be waiting than were claimed. */
function isFull({ accountId, webhookId }: ClaimedDelivery, live: Iterable<ClaimedDelivery>): boolean {
  const own = [...live].filter((one) => one.accountId === accountId);
  const ofWebhook = own.filter((one) => one.webhookId === webhookId);
  return own.length >= OF_ACCOUNT_MAX || ofWebhook.length >= OF_WEBHOOK_MAX;
}

async function attempt(delivery: ClaimedDelivery, options: DelivererOptions, stop: AbortSignal): Promise<void> {
  const { log } = options;
  const startedMs = performance.now();
  const outcome = await send(delivery, options, stop);
  await faultPoint("webhook.before_settle");
  const durationMs = Math.round(performance.now() - startedMs);
  const settled = await settle(delivery, { ...outcome, durationMs }, options);
  attempts.add([outcome.state]);
  const { deliveryId, webhookId, accountId } = delivery;
  if (settled === "disabled") log.warn({ webhookId, accountId }, "a webhook was disabled");
  if (outcome.state === "failed") log.info({ deliveryId, webhookId, fault: outcome.fault }, "a delivery has failed");
}

/** Only an outcome that may disable the webhook needs a transaction: the mail about it must not be lost. */
function settle(delivery: ClaimedDelivery, outcome: AttemptOutcome, { db, onDisabled }: DelivererOptions) {
  if (!outcome.isFailing) return settleAttempt(db, delivery, outcome, GIVE_UP);
  return db.tx(async (tx) => {
    const settled = await settleAttempt(tx, delivery, outcome, GIVE_UP);
    const reason = outcome.gone ?? GIVE_UP.reason;
    if (settled === "disabled") await onDisabled(tx, delivery.accountId, { url: delivery.url, reason });
    return settled;
  });
}

type Outcome = Omit<AttemptOutcome, "durationMs">;

const OURS = { statusCode: null, retrySeconds: 0, isFailing: false, gone: null } as const;

async function send(
  delivery: ClaimedDelivery,
  { vault, clock, log, poster, readRun }: DelivererOptions,
  stop: AbortSignal,
): Promise<Outcome> {
  const { webhookId, deliveryId, accountId, runId } = delivery;
  const sealed = [delivery.secret, ...(delivery.previousSecret === null ? [] : [delivery.previousSecret])];
  const secrets = sealed.map((one) => vault.open(webhookId, one)).filter((secret) => secret !== null);
  if (secrets.length < sealed.length) {
    log.error(
      { webhookId },
      "the server's secret cannot decrypt a webhook secret; roll the webhook secret, or restore the earlier server secret",
    );
    const unreadable = "The webhook secret cannot be read. Roll it.";
    return { ...OURS, state: "pending", fault: unreadable, retrySeconds: UNREADABLE_SECONDS };
  }
  const data = runId === null ? delivery.data : await readRun(accountId, runId);
  if (data === null) return { ...OURS, state: "failed", fault: "The run no longer exists." };
  const body = JSON.stringify({ type: delivery.event, timestamp: delivery.createdAt.toISOString(), data });
  const signature = signatureHeaders({ id: deliveryId, sentAt: Math.floor(clock.nowMs() / 1_000), body }, secrets);
  const headers = { "content-type": "application/json", "user-agent": "promptd", ...signature };
  try {
    return judge(delivery, await poster.post(delivery.url, { headers, body }, stop));
  } catch (error) {
    if (!stop.aborted) throw error;
    return { ...OURS, state: "pending", fault: "The server was stopped." }; // due now, for another process
  }
}

const FAULTS = {
  address: "The webhook's host has no public address.",
  connection: "The receiver could not be reached, or closed the connection.",
  timeout: "The receiver did not respond within 15 seconds.",
} as const;

function judge({ attempt: number, attemptsBefore }: ClaimedDelivery, outcome: PostOutcome): Outcome {
  const statusCode = outcome.kind === "answered" ? outcome.statusCode : null;
  if (statusCode !== null && statusCode >= 200 && statusCode < 300) {
    return { ...OURS, state: "delivered", statusCode, fault: null };
  }
  const why =
    outcome.kind === "refused" ? FAULTS[outcome.fault] : `The receiver responded with status ${outcome.statusCode}.`;
  const failed = { statusCode, fault: why, isFailing: true } as const;
  if (statusCode === GONE) {
    return {
      ...failed,
      state: "failed",
      retrySeconds: 0,
      gone: "The receiver responded with status 410: it wants no more events.",
    };
  }
  const retrySeconds = RETRY_SECONDS[number - attemptsBefore - 1];
  if (retrySeconds === undefined) return { ...failed, state: "failed", retrySeconds: 0, gone: null };
  return { ...failed, state: "pending", retrySeconds, gone: null };
}
