import { findAccountByName, getAccountByName } from "../accounts/index.ts";
import { isLocal } from "../people/first-operator.ts";
import { findPersonOfAccount } from "../people/members-store.ts";
import { findPersonByEmail, isFrozenPerson } from "../people/people-store.ts";
import { mintCode, welcomeLink } from "../people/links/sign-in-codes.ts";
import type { Config } from "../platform/config/config.ts";
import { Problem } from "../platform/problem.ts";
import type { CommandContext } from "../read-catalogue.ts";

/** Operator actions for people who sign in. */
export function peopleActions({ db, config }: Pick<CommandContext, "db" | "config">) {
  return {
    /**
     * Creates a link that signs in a person, or an account owner who has not signed in yet. It works once,
     * within an hour. A link that makes an operator also unfreezes the person's access.
     * @param user email address of a person, or email address or id of an account.
     * @returns `asksForPassword`: the link leads to a setup page that asks for a password first.
     * @throws Problem NOT_FOUND_ERROR; VALIDATION_ERROR if the link would be of no use, because the access is frozen.
     */
    async signInLink(
      user: string,
      { makesOperator }: { readonly makesOperator: boolean },
    ): Promise<{ link: string; asksForPassword: boolean }> {
      const known = await findPersonByEmail(db, user);
      const account = known === null ? await getAccountByName(db, user) : await findAccountByName(db, user);
      const personId = known ?? (account === null ? null : await findPersonOfAccount(db, account.accountId));
      if (!makesOperator && personId !== null && (await isFrozenPerson(db, personId))) throw frozen(user);
      const signsIn = isLocal(config);
      const accountId = account?.accountId ?? null;
      const code = await mintCode(db, { personId, accountId, makesOperator, signsIn });
      return { link: welcomeLink(baseUrl(config), code), asksForPassword: !signsIn };
    },
  };
}

function frozen(user: string): Problem {
  const next = "Unfreeze it under Operator, People; or add --operator, which unfreezes it and makes them an operator.";
  return new Problem("VALIDATION_ERROR", `An operator froze the access of ${user}, so no link signs them in. ${next}`);
}

function baseUrl({ HOST, PORT, PROMPTD_PUBLIC_URL }: Config): string {
  return PROMPTD_PUBLIC_URL ?? `http://${HOST.includes(":") ? `[${HOST}]` : HOST}:${PORT}`;
}
