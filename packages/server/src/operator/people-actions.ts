import { findAccountByName, getAccountByName } from "../accounts/index.ts";
import { isLocal } from "../people/first-operator.ts";
import { findPersonByEmail, findPersonOfAccount } from "../people/people-store.ts";
import { mintCode, welcomeLink } from "../people/sign-in-codes.ts";
import type { Config } from "../platform/config/config.ts";
import type { Database } from "../platform/database/database.ts";

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

function baseUrl({ HOST, PORT, PROMPTD_PUBLIC_URL }: Config): string {
  return PROMPTD_PUBLIC_URL ?? `http://${HOST.includes(":") ? `[${HOST}]` : HOST}:${PORT}`;
}
