/**
 * One-time codes: the link that a first start prints, and the link from `promptd admin sign-in-link`. If only this
 * machine reaches the server, a code signs in at once. Everywhere else it leads to a setup page that asks for a
 * password first, so that a link in a log or a chat does not give permanent access.
 */
import type { Issue } from "@promptd/contract";
import type { Welcome, WelcomeBody } from "@promptd/contract/manage";
import { createHash, randomBytes } from "node:crypto";
import { findAccount } from "../../accounts/index.ts";
import type { Database, Queryable, Tx } from "../../platform/database/database.ts";
import { invalid, Problem } from "../../platform/problem.ts";
import type { PeopleContext } from "../people-context.ts";
import { findCode, insertCode, useCode, type SignInCode } from "./sign-in-codes-store.ts";
import { findPersonOfAccount } from "../members-store.ts";
import { findPerson, findPersonByEmail, insertPerson, makeOperator, updatePassword } from "../people-store.ts";
import { adoptAccount } from "../personal-account.ts";
import { passwordFault } from "../sign-in/passwords.ts";
import type { BrowserOfSession } from "../sign-in/sessions.ts";

const CODE_BYTES = 16;
const CODE_SECONDS = 3_600;
const EMAIL = /^[^\s@]+@[^\s@]+$/;

/** Makes a code that works once within an hour. Only its hash is stored. */
export async function mintCode(db: Queryable, code: SignInCode): Promise<string> {
  const text = randomBytes(CODE_BYTES).toString("base64url");
  await insertCode(db, hashCode(text), { ...code, seconds: CODE_SECONDS });
  return text;
}

/**
 * Signs in with a code, after the setup if one is required. What the code grants commits together with its use: after a
 * failure, the code is still valid.
 * @throws Problem NOT_FOUND_ERROR for a code that is unknown, used, or expired, which are indistinguishable;
 * VALIDATION_ERROR for an invalid address or password, in which case the code stays valid.
 */
export async function welcome(
  body: WelcomeBody,
  browser: BrowserOfSession,
  context: PeopleContext,
): Promise<{ readonly data: Welcome; readonly cookies: string[] }> {
  const { db, sessions } = context;
  const hash = hashCode(body.code);
  const code = await findCode(db, hash);
  if (code === null) throw unknownCode();
  const known = await knownPerson(db, code);
  const email = known?.email ?? (await accountEmail(db, code));
  if (!code.signsIn && body.password === undefined) return { data: { kind: "set_up", email }, cookies: [] };
  const setUp = code.signsIn ? null : await checkSetUp(body, { email, isKnown: known !== null, db });
  const passwordHash = setUp === null ? null : await sessions.hashPassword(setUp.password);
  const person = { known: known?.personId ?? null, email: setUp?.email ?? email, name: body.name, passwordHash };
  const personId = await db.tx(async (tx) => {
    if ((await useCode(tx, hash)) === null) throw unknownCode();
    return settlePerson(tx, code, person, context);
  });
  return { data: { kind: "signed_in", personId }, cookies: await sessions.signIn(personId, browser) };
}

interface SetUp {
  readonly email: string;
  readonly password: string;
}

interface PersonOfCode {
  /** Null: the person does not exist yet. */
  readonly known: string | null;
  readonly email: string | null;
  readonly name: string | undefined;
  readonly passwordHash: string | null;
}

/** The person of the code, created if necessary, with the password, account, and operator flag that the code grants. */
async function settlePerson(
  tx: Tx,
  code: SignInCode,
  { known, email: address, name, passwordHash }: PersonOfCode,
  { newId }: PeopleContext,
): Promise<string> {
  const email = address ?? LOCAL_OPERATOR;
  const personId = known ?? newId();
  if (known === null) {
    const person = { personId, email, name: name ?? email.split("@")[0] ?? email, isVerified: false };
    if (!(await insertPerson(tx, person))) throw invalid([issue("email", ADDRESS_TAKEN)]);
  }
  if (passwordHash !== null) await updatePassword(tx, personId, passwordHash);
  if (code.accountId !== null) await adoptAccount(tx, personId, code.accountId);
  if (code.makesOperator) await makeOperator(tx, personId);
  return personId;
}

/** For an installation without a demo account that only its own machine reaches. */
const LOCAL_OPERATOR = "operator@promptd.invalid";

async function knownPerson(db: Database, code: SignInCode) {
  const personId =
    code.personId ??
    (code.accountId === null ? null : await findPersonOfAccount(db, code.accountId)) ??
    (code.signsIn && code.accountId === null ? await findPersonByEmail(db, LOCAL_OPERATOR) : null);
  return personId === null ? null : findPerson(db, personId);
}

async function accountEmail(db: Database, { accountId }: SignInCode): Promise<string | null> {
  return accountId === null ? null : ((await findAccount(db, accountId))?.email ?? null);
}

/** @throws Problem VALIDATION_ERROR with everything that is wrong. */
async function checkSetUp(
  body: WelcomeBody,
  { email: decided, isKnown, db }: { readonly email: string | null; readonly isKnown: boolean; readonly db: Database },
): Promise<SetUp> {
  const email = (decided ?? body.email ?? "").toLowerCase();
  const password = body.password ?? "";
  const issues: Issue[] = [];
  if (!EMAIL.test(email)) issues.push(issue("email", "email must be an email address such as ada@example.org."));
  else if (!isKnown && (await findPersonByEmail(db, email)) !== null) issues.push(issue("email", ADDRESS_TAKEN));
  const fault = passwordFault(password);
  if (fault !== null) issues.push(issue("password", fault));
  if (issues.length === 0) return { email, password };
  throw invalid(issues);
}

const ADDRESS_TAKEN = "This email address is already in use. Sign in, or use another address.";

function issue(name: "email" | "password", message: string): Issue {
  return { path: ["body", name], code: "invalid_value", message };
}

/** The code is in the fragment, which browsers never send and logs never contain. */
export function welcomeLink(url: string, code: string): string {
  return `${url}/welcome#${code}`;
}

export function hashCode(code: string): Buffer {
  return createHash("sha256").update(code).digest();
}

function unknownCode(): Problem {
  const next = 'An operator can create a new one with "promptd admin sign-in-link --user EMAIL".';
  return new Problem(
    "NOT_FOUND_ERROR",
    `This link is no longer valid. It works once and expires after one hour. ${next}`,
  );
}
