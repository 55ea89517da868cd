import type { AuditedWrite, WriteAudit } from "../../http/endpoint.ts";
import type { Queryable } from "../../platform/database/database.ts";
import { isOutage } from "../../platform/database/errors.ts";
import type { Log } from "../../platform/log.ts";
import { retry } from "../../platform/resilience/retry.ts";
import { insertAudit, type AuditRow } from "./audit-store.ts";

export interface AuditOptions {
  readonly db: Queryable;
  readonly log: Log;
  readonly newId: () => string;
}

/** The writer of the audit log for requests. A row that cannot be written is in the log of the process instead, in full. */
export function createAuditWriter({ db, log, newId }: AuditOptions): WriteAudit {
  return async (write) => {
    const row = { auditId: newId(), ...actorOf(write), ...withoutCaller(write) };
    try {
      await retry(() => insertAudit(db, row), { on: isOutage, attempts: 2 });
    } catch (error) {
      log.error({ err: error, audit: row }, "a row of the audit log could not be written");
    }
  };
}

function withoutCaller({ caller: _caller, ...rest }: AuditedWrite): Omit<AuditedWrite, "caller"> {
  return rest;
}

function actorOf({ caller }: AuditedWrite): Pick<AuditRow, "actor" | "personId" | "tokenId" | "accountId"> {
  const actor = caller?.actor;
  if (caller === null || actor === undefined) return { actor: "none", personId: null, tokenId: null, accountId: null };
  const { credential, personId, tokenId } = actor;
  return { actor: credential, personId, tokenId, accountId: caller.accountId };
}

/** Of a command at the operator's terminal. @throws when it cannot be written, before the command has done anything. */
export async function auditCommand(
  { db, newId }: Pick<AuditOptions, "db" | "newId">,
  command: { readonly action: string; readonly subject: string | null; readonly outcome: string },
): Promise<void> {
  const nobody = { personId: null, tokenId: null, accountId: null, address: null, requestId: null };
  await insertAudit(db, { auditId: newId(), actor: "terminal", ...nobody, ...command });
}
