/**
 * Mail is sent after the request that causes it: the request only writes a row, so no mail server can delay it and no
 * crash loses the mail. The process that wrote the row delivers the mail right away, and a tick retries failed
 * deliveries.
 */
import type { Config } from "../../platform/config/config.ts";
import type { Database, Queryable, Tx } from "../../platform/database/database.ts";
import type { Log } from "../../platform/log.ts";
import { reasonOf } from "../../platform/reason-of.ts";
import { loadOnce } from "../../platform/resilience/load-once.ts";
import { shareCalls } from "../../platform/resilience/share-calls.ts";
import {
  countRecentMails,
  insertMail,
  noteFault,
  noteSent,
  takeDueMail,
  type DueMail,
  type MailText,
} from "./mails-store.ts";
import type { SendMail } from "./smtp.ts";

export interface MailerOptions {
  readonly db: Database;
  readonly log: Log;
  readonly newId: () => string;
  readonly config: Config;
}

export interface Mailer {
  /**
   * Resolves once the mail will be delivered whatever happens to this process, which is before it is delivered. Does
   * nothing if the recipient was sent too many mails of this kind lately: strangers can request them.
   */
  send(recipient: string, text: MailText): Promise<void>;
  /** Writes a mail in the same transaction as the change it reports. `deliverSoon` or a tick delivers it afterwards. */
  write(tx: Tx, recipient: string, text: MailText): Promise<void>;
  deliverSoon(): void;
  /** Delivers due mails one after another. */
  deliverDue(stop?: AbortSignal): Promise<void>;
}

/** Seconds until the next attempt, by number of failures. Reset links are valid for an hour. */
const RETRY_SECONDS: readonly number[] = [10, 60, 300, 1_200];
/** Longer than any attempt takes. */
const ATTEMPT_SECONDS = 120;
const FAULT_LENGTH_MAX = 300;
/** Per recipient and kind. Each link stays valid for an hour or longer. */
const MAILS_PER_HOUR_MAX = 10;

/** One per process. Null: no mail server is configured. */
export function openMailer(options: MailerOptions): Mailer | null {
  const { db, log, newId, config } = options;
  const { PROMPTD_SMTP_URL: url, PROMPTD_MAIL_FROM: from } = config;
  if (url === null || from === null) return null;
  // Loaded at the first delivery: most processes never send mail.
  const openSmtp = loadOnce(async () => (await import("./smtp.ts")).createSmtp({ url, from }));
  const deliverDue = shareCalls(async (stop?: AbortSignal): Promise<void> => {
    for (let mail = await takeDueMail(db, ATTEMPT_SECONDS); mail !== null;) {
      await deliver(mail, await openSmtp(), options);
      if (stop?.aborted === true) return;
      mail = await takeDueMail(db, ATTEMPT_SECONDS);
    }
  });
  const deliverSoon = () => {
    deliverDue().catch((error: unknown) =>
      log.warn({ err: error }, "emails could not be delivered; waiting for the next attempt"),
    );
  };
  const write = (within: Queryable, recipient: string, text: MailText) =>
    insertMail(within, { ...text, mailId: newId(), recipient });
  return {
    deliverDue,
    deliverSoon,
    write,
    send: async (recipient, text) => {
      const { kind } = text;
      if ((await countRecentMails(db, { kind, recipient })) >= MAILS_PER_HOUR_MAX) {
        log.info({ kind }, "an email was not sent: its recipient was sent the most per hour");
        return;
      }
      await write(db, recipient, text);
      deliverSoon();
    },
  };
}

async function deliver(mail: DueMail, send: SendMail, { db, log }: MailerOptions): Promise<void> {
  try {
    await send({ to: mail.recipient, subject: mail.subject, text: mail.body, id: mail.id });
  } catch (error) {
    const retrySeconds = isRefusedForGood(error) ? null : (RETRY_SECONDS[mail.attempts - 1] ?? null);
    const fault = reasonOf(error).slice(0, FAULT_LENGTH_MAX);
    await noteFault(db, mail.id, { fault, retrySeconds });
    const entry = { mailId: mail.id, attempts: mail.attempts, fault };
    if (retrySeconds === null)
      log.error(
        entry,
        "an email could not be delivered and will not be retried; check PROMPTD_SMTP_URL and the recipient",
      );
    else log.warn({ ...entry, retrySeconds }, "an email was not delivered; it will be retried");
    return;
  }
  await noteSent(db, mail.id);
}

/**
 * True: the server has refused this mail's addresses or text permanently (5xx), so another attempt would be refused as
 * well. A refused sign-in says nothing about the mail.
 */
export function isRefusedForGood(error: unknown): boolean {
  if (!(error instanceof Error && "code" in error && "responseCode" in error)) return false;
  const status = Number(error.responseCode);
  return (error.code === "EENVELOPE" || error.code === "EMESSAGE") && status >= 500 && status < 600;
}
