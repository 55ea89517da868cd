import { findAccountByName, findListedAccount } from "../accounts/index.ts";
import type { ManageHandlers } from "../http/endpoint.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database/database.ts";
import { invalid, orNotFound, Problem } from "../platform/problem.ts";
import { findStanding, freezeAccount, unfreezeAccount } from "./freezes-store.ts";
import { giveCredits } from "./grants.ts";
import { listJournal } from "./journal-store.ts";

/** For operators, and for payment systems with an operator's token. */
export function creditsManageRoutes(db: Database, clock: Clock) {
  return {
    getCredits: async (_input, { caller }) => ({ data: await findStanding(db, caller.accountId) }),
    listJournal: async ({ query }, { caller }) => ({ data: await listJournal(db, caller.accountId, query) }),
    freezeAccount: async ({ params: { accountId }, body: { isFrozen, reason } }) => {
      orNotFound(await findListedAccount(db, accountId), "account", accountId);
      if (isFrozen) await freezeAccount(db, accountId, reason);
      else await unfreezeAccount(db, accountId, { reason, acceptsJournal: false });
      return { data: { accountId, isFrozen } };
    },
    grantCredits: async ({ body }, context) => {
      const idempotencyKey = context.header("idempotency-key");
      if (idempotencyKey === null) throw keyRequired();
      const account = await findAccountByName(db, body.account);
      if (account === null) throw unknownAccount(body.account);
      const { accountId } = account;
      const { amount, reason = null, expiresAt = null } = body;
      const expiresAtMs = expiresAt === null ? null : Date.parse(expiresAt);
      const grant = { accountId, amount, reason, idempotencyKey, expiresAtMs };
      const { credits, isGranted } = await giveCredits(db, grant, clock.nowMs());
      return { data: { accountId, amount, expiresAt, isRepeated: !isGranted, credits } };
    },
  } satisfies Partial<ManageHandlers>;
}

function unknownAccount(name: string): Problem {
  return new Problem("NOT_FOUND_ERROR", `No account has the email address or id "${name}".`);
}

/** A payment that is reported twice must not be granted twice, so every grant needs a key. */
function keyRequired() {
  const message =
    "Idempotency-Key is required, so that a repeated request does not grant the credits twice. Use the payment's id.";
  return invalid([{ path: ["header", "Idempotency-Key"], code: "required", message }]);
}
