/** Periodic work for webhooks, done by one process of the installation. */
import type { ModelRetiringData } from "@promptd/contract/manage";
import { DAY_MS, type Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database/database.ts";
import type { Tick } from "../platform/periodic-work.ts";
import type { CatalogueEntry } from "../models/index.ts";
import { listLiveCallsOf } from "../prompts/index.ts";
import { giveUpDeliveries, insertNotices, pruneDeliveries, rescheduleDeliveries } from "./deliveries-store.ts";
import type { SecretVault } from "./webhook-secrets.ts";
import {
  compareCredits,
  listAccountsThatWant,
  listSealedWithOthers,
  replaceSealed,
  type SealedSecrets,
} from "./webhooks-store.ts";

export interface WebhooksTicksOptions {
  readonly db: Database;
  readonly clock: Clock;
  readonly vault: SecretVault;
  readonly catalogue: {
    readonly entries: readonly Pick<CatalogueEntry, "model" | "status" | "retiresAt" | "successor">[];
  };
}

const STORED_DAYS = 30;
const RETIRING_DAYS = 60;

export function webhooksTicks(options: WebhooksTicksOptions): Tick[] {
  const { db, clock } = options;
  return [
    { name: "credits-alerts", everySeconds: 10, run: async () => void (await compareCredits(db)) },
    { name: "models-retiring", everySeconds: 3_600, run: () => noteRetiringModels(options) },
    { name: "webhook-secrets", everySeconds: 600, run: () => resealSecrets(options) },
    {
      name: "webhook-deliveries",
      everySeconds: 60,
      run: async (stop) => {
        await giveUpDeliveries(db, "The webhook was disabled.", stop);
        await rescheduleDeliveries(db, stop);
        await pruneDeliveries(db, clock.nowMs() - STORED_DAYS * DAY_MS, stop);
      },
    },
  ];
}

/** After a rotation of the server's secret: reseals with the current secret whatever the previous one sealed. */
export async function resealSecrets({ db, vault }: Pick<WebhooksTicksOptions, "db" | "vault">): Promise<void> {
  for (const before of await listSealedWithOthers(db, vault.keyId)) {
    const after = resealed(before, vault);
    if (after !== null) await replaceSealed(db, before, after);
  }
}

/** Null: a required secret cannot be opened. */
function resealed({ webhookId, secret, previousSecret }: SealedSecrets, vault: SecretVault): SealedSecrets | null {
  const present = vault.open(webhookId, secret);
  const before = previousSecret === null ? null : vault.open(webhookId, previousSecret);
  if (present === null) return null;
  return {
    webhookId,
    secret: vault.seal(webhookId, present),
    previousSecret: before === null ? null : vault.seal(webhookId, before),
  };
}

/**
 * An event for authors whose live prompts call a model that retires soon, once per version, model, and retirement day.
 */
export async function noteRetiringModels({ db, clock, catalogue }: Omit<WebhooksTicksOptions, "vault">): Promise<void> {
  const nowMs = clock.nowMs();
  const untilMs = nowMs + RETIRING_DAYS * DAY_MS;
  const ending = new Map(
    catalogue.entries.flatMap(({ model, retiresAt, successor = null, status }) => {
      const isSoon = status !== "retired" && retiresAt !== undefined && Date.parse(retiresAt) <= untilMs;
      return isSoon ? [[model, { model, retiresAt, successor }]] : [];
    }),
  );
  if (ending.size === 0) return;
  const authors = await listAccountsThatWant(db, "prompt.model_retiring");
  const calls = await listLiveCallsOf(db, authors, [...ending.keys()]);
  const notices = calls.flatMap(({ authorId, model, ...prompt }) => {
    const end = ending.get(model);
    if (end === undefined) return [];
    const data: ModelRetiringData = { ...prompt, ...end };
    return [{ accountId: authorId, subject: `${prompt.promptVersionId} ${model} ${end.retiresAt}`, data }];
  });
  if (notices.length > 0) await insertNotices(db, "prompt.model_retiring", notices);
}
