import type { Tx } from "../../platform/database/database.ts";
import { listOwnerEmails } from "../people-store.ts";
import type { Mailer } from "./mailer.ts";
import { webhookDisabledMail } from "./mail-texts.ts";

/** What the owners of an account learn by mail without having asked. */
export interface OwnerMails {
  webhookDisabled(tx: Tx, accountId: string, webhook: { readonly url: string; readonly reason: string }): Promise<void>;
}

/** @param mailer null: no mail server is set, and nobody is told. */
export function createOwnerMails(mailer: Mailer | null): OwnerMails {
  return {
    webhookDisabled: async (tx, accountId, webhook) => {
      if (mailer === null) return;
      const text = webhookDisabledMail(webhook);
      for (const email of await listOwnerEmails(tx, accountId)) await mailer.write(tx, email, text);
    },
  };
}
