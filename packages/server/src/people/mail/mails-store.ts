import type { MailState } from "@promptd/contract/manage";
import { queryAnswer } from "../../platform/database/answers.ts";
import type { Queryable } from "../../platform/database/database.ts";

/** The content of a mail. */
export interface MailText {
  readonly kind:
    | "invitation"
    | "password_reset"
    | "verification"
    | "new_address"
    | "address_taken"
    | "address_changed"
    | "webhook_disabled";
  readonly subject: string;
  readonly body: string;
}

export interface DueMail extends Pick<MailText, "subject" | "body"> {
  readonly id: string;
  readonly recipient: string;
  /** Including the attempt that begins now. */
  readonly attempts: number;
}

export async function insertMail(
  db: Queryable,
  mail: MailText & { readonly mailId: string; readonly recipient: string },
): Promise<void> {
  await db.query("insert into mails (id, kind, recipient, subject, body) values ($1, $2, $3, $4, $5)", [
    mail.mailId,
    mail.kind,
    mail.recipient,
    mail.subject,
    mail.body,
  ]);
}

/** How many mails of a kind were written to a recipient within the last hour. */
export async function countRecentMails(
  db: Queryable,
  { kind, recipient }: Pick<MailText, "kind"> & { readonly recipient: string },
): Promise<number> {
  const text = `select count(*)::int as n from mails
    where created_at > promptd_now() - interval '1 hour' and kind = $1 and recipient = $2`;
  const [row] = await db.query<{ n: number }>(text, [kind, recipient]);
  return row?.n ?? 0;
}

/** Longer than any delay: a mail that is due later was written before the clock stepped back, and is due now. */
const DELAY_MAX = "1 hour";

/**
 * Takes the mail that has been due longest. It is not due again for `seconds`, which is longer than the attempt takes:
 * if this process dies, another one retries after that. Null: no mail is due.
 */
export function takeDueMail(db: Queryable, seconds: number): Promise<DueMail | null> {
  return queryAnswer(
    db,
    `update mails set attempts = attempts + 1, due_at = promptd_now() + make_interval(secs => $1)
     where id = (select id from mails where body is not null
                   and (due_at <= (select promptd_now()) or due_at > (select promptd_now() + interval '${DELAY_MAX}'))
                 order by due_at limit 1 for update skip locked)
     returning id, recipient, subject, body, attempts`,
    [seconds],
  );
}

export async function noteSent(db: Queryable, mailId: string): Promise<void> {
  await db.query("update mails set sent_at = promptd_now(), body = null, fault = null where id = $1", [mailId]);
}

/** @param retrySeconds delay until the next attempt; null: the mail is given up. */
export async function noteFault(
  db: Queryable,
  mailId: string,
  { fault, retrySeconds }: { readonly fault: string; readonly retrySeconds: number | null },
): Promise<void> {
  await db.query(
    `update mails set fault = $2, due_at = promptd_now() + make_interval(secs => coalesce($3, 0)),
       given_up_at = case when $3::float8 is null then promptd_now() end,
       body = case when $3::float8 is null then null else body end
     where id = $1`,
    [mailId, fault, retrySeconds],
  );
}

const GIVEN_UP_SPAN = "7 days";

/** The state of mail for operators. */
export async function readMailState(db: Queryable): Promise<MailState> {
  const counts = await queryAnswer<Pick<MailState, "waiting" | "givenUp">>(
    db,
    `select count(*) filter (where body is not null)::int as waiting,
       count(*) filter (where given_up_at > promptd_now() - interval '${GIVEN_UP_SPAN}')::int as "givenUp" from mails`,
  );
  const lastFault = await queryAnswer<NonNullable<MailState["lastFault"]>>(
    db,
    `select fault as text, coalesce(given_up_at, created_at) as at from mails where fault is not null order by created_at desc limit 1`,
  );
  return { waiting: 0, givenUp: 0, ...counts, lastFault };
}

const STORED_DAYS = 30;

/** Addresses are stored only as long as an operator may want to know what happened to a mail. */
export async function pruneMails(db: Queryable): Promise<void> {
  await db.query("delete from mails where created_at < promptd_now() - make_interval(days => $1)", [STORED_DAYS]);
}
