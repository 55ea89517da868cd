import { displayOf, hasKeyForm, hasTokenForm } from "../../accounts/index.ts";
import type { AuditedWrite, WriteAudit } from "../../http/endpoint.ts";
import type { Queryable } from "../../platform/database/database.ts";
import { isOutage } from "../../platform/database/errors.ts";
import type { Log } from "../../platform/log.ts";
import { Problem } from "../../platform/problem.ts";
import { retry } from "../../platform/resilience/retry.ts";
import { insertAudit, type AuditRow } from "./audit-store.ts";

export interface AuditOptions {
  readonly db: Queryable;
  readonly log: Log;
  readonly newId: () => string;
}

const NOTHING = { personId: null, tokenId: null, accountId: null, subject: null, address: null, requestId: null };

/** What a row says; whatever is absent is null. */
type EntryToWrite = Pick<AuditRow, "actor" | "action" | "outcome"> & Partial<Pick<AuditRow, keyof typeof NOTHING>>;

/** Writes a row. Never rejects. */
export type WriteEntry = (entry: EntryToWrite) => Promise<void>;

/** Writes the audit log for requests. */
export function createAuditWriter(writeEntry: WriteEntry): WriteAudit {
  return ({ caller, personId, ...rest }) => writeEntry({ ...rest, ...actorOf(caller, personId) });
}

/** If a row cannot be written, the process log contains it in full instead. */
export function createEntryWriter(options: AuditOptions): WriteEntry {
  return (entry) => write(options, entry);
}

function actorOf(caller: AuditedWrite["caller"], taken: string | null) {
  const actor = caller?.actor;
  if (caller === null || actor === undefined) return { actor: "none", personId: taken } as const;
  const { credential, personId, tokenId } = actor;
  return { actor: credential, personId, tokenId, accountId: caller.accountId };
}

/** A command at the operator's terminal, with the person or thing it affects. */
export interface OperatorCommand {
  readonly name: string;
  readonly subject: string | null;
}

/** Commands that only read lists, files, or the catalogue leave no row. */
const READS = /\b(list|check|diff|validate|preview)$|^admin models show$/;

/** Writes a row for a command once it has ended, however it ended. @returns the command's result. */
export async function auditCommand<Result>(
  result: Promise<Result>,
  { command, ...options }: AuditOptions & { readonly command: OperatorCommand | null },
): Promise<Result> {
  if (command === null || READS.test(command.name)) return result;
  const [ended] = await Promise.allSettled([result]);
  const code = ended.status === "rejected" && ended.reason instanceof Problem ? ended.reason.code : "SERVER_ERROR";
  const outcome = ended.status === "fulfilled" ? "SUCCESS" : code;
  const subject = command.subject === null ? null : withoutSecret(command.subject);
  await write(options, { actor: "terminal", action: command.name, subject, outcome });
  return result;
}

/** A command may name a key to revoke by the key itself. */
function withoutSecret(subject: string): string {
  return hasKeyForm(subject) || hasTokenForm(subject) ? displayOf(subject) : subject;
}

async function write({ db, log, newId }: AuditOptions, entry: EntryToWrite): Promise<void> {
  const row = { auditId: newId(), ...NOTHING, ...entry };
  try {
    await retry(() => insertAudit(db, row), { on: isOutage, attempts: 2 });
  } catch (error) {
    log.error({ err: error, audit: row }, "an audit log row could not be written");
  }
}
