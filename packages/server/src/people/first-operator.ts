import { findAccountByName } from "../accounts/index.ts";
import { isLoopback, type Config } from "../platform/config/config.ts";
import type { Database } from "../platform/database/database.ts";
import { hasOperator } from "./people-store.ts";
import { mintCode, welcomeLink } from "./links/sign-in-codes.ts";

/**
 * Makes the first operator's way in. On a server that only this machine reaches, every start makes one, since nobody
 * else can read its terminal; elsewhere only until there is an operator.
 * @param started a listening server, with the address at which people reach it.
 */
export async function makeWelcome(
  { db, listenUrl, publicUrl }: { db: Database; listenUrl: string | null; publicUrl: string | null },
  { config, demoAccount }: { readonly config: Config; readonly demoAccount: string },
): Promise<string | null> {
  const signsIn = isLocal(config);
  if (listenUrl === null || (!signsIn && (await hasOperator(db)))) return null;
  const demo = signsIn ? await findAccountByName(db, demoAccount) : null;
  const accountId = demo?.accountId ?? null;
  const code = await mintCode(db, { personId: null, accountId, makesOperator: true, signsIn });
  return welcomeLink(publicUrl ?? listenUrl, code);
}

/** True: only this machine reaches the server, and its data belongs to this user alone. */
export function isLocal({ DATABASE_URL, HOST, PROMPTD_PUBLIC_URL, isProduction }: Config): boolean {
  if (DATABASE_URL !== null || isProduction || !isLoopback(HOST)) return false;
  return PROMPTD_PUBLIC_URL === null || isLoopback(new URL(PROMPTD_PUBLIC_URL).hostname);
}
