import { findAccountByName, getAccountByName } from "../accounts/index.ts";
import { isLoopback, type Config } from "../platform/config/config.ts";
import type { Database } from "../platform/database/database.ts";
import { findPersonByEmail, findPersonOfAccount, hasOperator } from "./people-store.ts";
import { mintCode, welcomeLink } from "./sign-in-codes.ts";

/** A link that signs in once, within an hour. */
interface SignInLink {
  readonly link: string;
  /** True: it leads to a set-up that asks for a password first. */
  readonly asksForPassword: boolean;
}

/** What an operator does for people who sign in. */
export class PeopleActions {
  readonly #db: Database;
  readonly #config: Config;

  constructor(db: Database, config: Config) {
    this.#db = db;
    this.#config = config;
  }

  /**
   * A new way in for a person, or for the owner of an account who has not signed in yet.
   * @param user email address of a person, or email address or id of an account.
   * @throws Problem NOT_FOUND_ERROR.
   */
  async signInLink(user: string, makesOperator: boolean): Promise<SignInLink> {
    const known = await findPersonByEmail(this.#db, user);
    const account = known === null ? await getAccountByName(this.#db, user) : await findAccountByName(this.#db, user);
    const personId = known ?? (account === null ? null : await findPersonOfAccount(this.#db, account.accountId));
    const signsIn = isLocal(this.#config);
    const accountId = account?.accountId ?? null;
    const code = await mintCode(this.#db, { personId, accountId, makesOperator, signsIn });
    return { link: welcomeLink(baseUrl(this.#config), code), asksForPassword: !signsIn };
  }
}

/** A server that listens, and under which address people reach it. */
interface Started {
  readonly db: Database;
  readonly listenUrl: string | null;
  readonly publicUrl: string | null;
}

/**
 * The way in of the first operator. On this machine alone every start makes one, since nobody else can read its terminal;
 * elsewhere only until there is an operator.
 */
export async function makeWelcome(
  { db, listenUrl, publicUrl }: Started,
  { config, demoAccount }: { readonly config: Config; readonly demoAccount: string },
): Promise<string | null> {
  const signsIn = isLocal(config);
  if (listenUrl === null || (!signsIn && (await hasOperator(db)))) return null;
  const demo = signsIn ? await findAccountByName(db, demoAccount) : null;
  const accountId = demo?.accountId ?? null;
  const code = await mintCode(db, { personId: null, accountId, makesOperator: true, signsIn });
  return welcomeLink(publicUrl ?? listenUrl, code);
}

/** True: only this machine reaches the server, and what is in it is nobody's but this user's. */
export function isLocal({ DATABASE_URL, HOST, PROMPTD_PUBLIC_URL, isProduction }: Config): boolean {
  if (DATABASE_URL !== null || isProduction || !isLoopback(HOST)) return false;
  return PROMPTD_PUBLIC_URL === null || isLoopback(new URL(PROMPTD_PUBLIC_URL).hostname);
}

function baseUrl({ HOST, PORT, PROMPTD_PUBLIC_URL }: Config): string {
  return PROMPTD_PUBLIC_URL ?? `http://${HOST.includes(":") ? `[${HOST}]` : HOST}:${PORT}`;
}
