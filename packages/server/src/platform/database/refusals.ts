/**
 * Why a server, or a pooler such as PgBouncer, refuses every connection until somebody changes a setting. PgBouncer gives
 * all of its own errors the one code of a violated protocol, those that pass and those that do not: its texts tell them
 * apart (1.21 to 1.24). What the server said to it comes with the server's code once, and from then on as a cached text.
 */

interface Refusal {
  /** Of the server, of a file or of a certificate; the pooler's is always `POOLER`. */
  readonly code?: RegExp;
  /** What comes with the code, where that has other reasons as well. */
  readonly said?: RegExp;
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
    said: /, no encryption$/,
    text: /^SSL required|cached error: .*, no encryption/,
    advice: "It takes encrypted connections only: add sslmode=verify-full to the address.",
  },
  {
    code: /^$/,
    said: /^The server does not support SSL connections$/,
    advice: "Take sslmode out of the address, or switch TLS on at the server (ssl = on).",
  },
  {
    code: /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_\w+|ERR_TLS_CERT_ALTNAME_INVALID)$/,
    advice:
      "Name the file with the certificate of its authority in the address, as in sslmode=verify-full&sslrootcert=/etc/promptd/ca.pem, and the server by a name that its certificate has. sslmode=no-verify encrypts without asking who answers.",
  },
  {
    code: /^(ENOENT|EACCES|EISDIR)$/,
    said: /, (open|read)\b/,
    advice: "Check the paths of sslrootcert, sslcert and sslkey in the address.",
  },
  {
    code: /^42501$/,
    advice:
      "This user makes the tables and functions of promptd. Let it own the database, or grant it what it lacks, such as: grant create on schema public to <user>",
  },
  {
    code: /^28...$/,
    text: /authentication failed|^no such user|login rejected|^no authentication method|^empty password|^not allowed$|cached error: .*(role ".*" does not exist|pg_hba\.conf)|^server login failed: /,
    advice:
      "Check the user and the password in the address. A pooler has to know the user as well (auth_file or auth_query in PgBouncer).",
  },
  {
    text: /^unsupported (options )?startup parameter/,
    advice: "Take the parameter out of the address, or name it in ignore_startup_parameters of the pooler.",
  },
  { text: /^bouncer config error/, advice: "The log of the pooler says what is wrong with its settings." },
];

/** What to set so that connections and changes of the schema are taken; null when the error is no refusal, or may pass by itself. */
export function findAdvice(code: string, text: string): string | null {
  const isMeant = (refusal: Refusal) =>
    code === POOLER
      ? refusal.text?.test(text) === true
      : refusal.code?.test(code) === true && refusal.said?.test(text) !== false;
  return REFUSALS.find(isMeant)?.advice ?? null;
}
