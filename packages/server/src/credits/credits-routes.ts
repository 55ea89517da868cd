import type { Handlers } from "../http/endpoint.ts";
import type { Database } from "../platform/database/database.ts";
import { availableCredits } from "./ledger.ts";

export function creditsRoutes(db: Database) {
  return {
    getCredits: async (_input, { caller }) => ({ data: { credits: await availableCredits(db, caller.accountId) } }),
  } satisfies Partial<Handlers>;
}
