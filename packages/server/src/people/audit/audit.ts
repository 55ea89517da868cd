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

/** Writes a row unchanged. Never rejects. */
export type WriteEntry = (entry: Omit<AuditRow, "auditId">) => Promise<void>;

/** Writes the audit log for requests. */
export function createAuditWriter(writeEntry: WriteEntry): WriteAudit {
  return ({ caller, personId, ...rest }) => writeEntry({ ...actorOf(caller, personId), ...rest });
}

/** If a row cannot be written, the process log contains it in full instead. */
export function createEntryWriter(options: AuditOptions): WriteEntry {
  return (entry) => write(options, entry);
}

function actorOf(
  caller: AuditedWrite["caller"],
  taken: string | null,
): Pick<AuditRow, "actor" | "personId" | "tokenId" | "accountId"> {
  const actor = caller?.actor;
  if (caller === null || actor === undefined) return { actor: "none", personId: taken, tokenId: null, accountId: null };
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
  const nobody = { personId: null, tokenId: null, accountId: null, address: null, requestId: null };
  const subject = command.subject === null ? null : withoutSecret(command.subject);
  await write(options, { actor: "terminal", ...nobody, action: command.name, subject, outcome });
  return result;
}

/** A command may name a key to revoke by the key itself. */
function withoutSecret(subject: string): string {
  return hasKeyForm(subject) || hasTokenForm(subject) ? displayOf(subject) : subject;
}

async function write({ db, log, newId }: AuditOptions, entry: Omit<AuditRow, "auditId">): Promise<void> {
  const row = { auditId: newId(), ...entry };
  try {
    await retry(() => insertAudit(db, row), { on: isOutage, attempts: 2 });
  } catch (error) {
    log.error({ err: error, audit: row }, "an audit log row could not be written");
  }
}
