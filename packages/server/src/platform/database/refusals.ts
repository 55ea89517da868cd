/**
 * Why a server, or a pooler such as PgBouncer, refuses every connection until somebody changes a setting. PgBouncer gives
 * all of its own errors the one code of a violated protocol, those that pass and those that do not: its texts tell them
 * apart (1.21 to 1.24). What the server said to it comes with the server's code once, and from then on as a cached text.
 */

interface Refusal {
  /** Of the server; the pooler's is always `POOLER`. */
  readonly code?: RegExp;
  /** Of the pooler. */
  readonly text?: RegExp;
  /** What to set. */
  readonly advice: string;
}

const POOLER = "08P01";

const REFUSALS: readonly Refusal[] = [
  {
    text: /transaction blocks not allowed in statement pooling mode/,
    advice: "promptd needs transactions. Set pool_mode = transaction for this database in the pooler.",
  },
  {
    code: /^3D000$/,
    text: /^no such database|cached error: .*database ".*" does not exist/,
    advice:
      "Create the database, or name another one in the address. A pooler needs an entry for it ([databases] in PgBouncer).",
  },
  {
    code: /^28...$/,
    text: /authentication failed|^no such user|login rejected|^no authentication method|^empty password|^not allowed$|cached error: .*(role ".*" does not exist|pg_hba\.conf)|^server login failed: /,
    advice:
      "Check the user and the password in the address. A pooler has to know the user as well (auth_file or auth_query in PgBouncer).",
  },
  {
    text: /^SSL required/,
    advice: "Add sslmode=require to the address, since the pooler takes encrypted connections only.",
  },
  {
    text: /^unsupported (options )?startup parameter/,
    advice: "Take the parameter out of the address, or name it in ignore_startup_parameters of the pooler.",
  },
  { text: /^bouncer config error/, advice: "The log of the pooler says what is wrong with its settings." },
];

/** What to set so that connections are taken; null when the error is no refusal, or may pass by itself. */
export function findAdvice(code: string, text: string): string | null {
  const isMeant = (refusal: Refusal) =>
    code === POOLER ? refusal.text?.test(text) === true : refusal.code?.test(code) === true;
  return REFUSALS.find(isMeant)?.advice ?? null;
}
