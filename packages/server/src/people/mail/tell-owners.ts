import type { Database } from "../../platform/database/database.ts";
import { listOwnerEmails } from "../people-store.ts";
import type { Mailer } from "./mailer.ts";
import { webhookDisabledMail } from "./mail-texts.ts";

/** What the owners of an account learn by mail without having asked. */
export interface OwnerMails {
  webhookDisabled(accountId: string, webhook: { readonly url: string; readonly reason: string }): Promise<void>;
}

/** @param mailer null: no mail server is set, and nobody is told. */
export function createOwnerMails(db: Database, mailer: Mailer | null): OwnerMails {
  return {
    webhookDisabled: async (accountId, webhook) => {
      if (mailer === null) return;
      const text = webhookDisabledMail(webhook);
      await db.tx(async (tx) => {
        for (const email of await listOwnerEmails(tx, accountId)) await mailer.write(tx, email, text);
      });
      mailer.deliverSoon();
    },
  };
}
