/**
 * Why a server, or a pooler such as PgBouncer, refuses every connection until somebody changes a setting. PgBouncer
 * gives all of its own errors the code of a protocol violation, temporary or not; only their texts differ (1.21 to
 * 1.24). It passes on a server error with the server's code once, and from then on as a cached text.
 */

interface Refusal {
  /** The code of a server, file, or certificate error; a pooler's is always `POOLER`. */
  readonly code?: RegExp;
  /** The message, if the code also has other causes. */
  readonly said?: RegExp;
  /** The pooler's message. */
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
      "Create the database, or change the database in the address. A pooler needs an entry for it ([databases] in PgBouncer).",
  },
  {
    code: /^28...$/,
    said: /, no encryption$/,
    text: /^SSL required|cached error: .*, no encryption/,
    advice: "The server accepts only encrypted connections. Add sslmode=verify-full to the address.",
  },
  {
    code: /^$/,
    said: /^The server does not support SSL connections$/,
    advice: "Remove sslmode from the address, or enable TLS on the server (ssl = on).",
  },
  {
    code: /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_\w+|ERR_TLS_CERT_ALTNAME_INVALID)$/,
    advice:
      "Name the file with the CA certificate in the address, as in sslmode=verify-full&sslrootcert=/etc/promptd/ca.pem, and use a host name that is in the server's certificate. sslmode=no-verify encrypts without checking the server's identity.",
  },
  {
    code: /^(ENOENT|EACCES|EISDIR)$/,
    said: /, (open|read)\b/,
    advice: "Check the paths of sslrootcert, sslcert, and sslkey in the address.",
  },
  {
    code: /^42501$/,
    advice:
      "This user must create the tables and functions of promptd. Make it the owner of the database, or grant the missing privilege, such as: grant create on schema public to <user>",
  },
  {
    code: /^28...$/,
    text: /authentication failed|^no such user|login rejected|^no authentication method|^empty password|^not allowed$|cached error: .*(role ".*" does not exist|pg_hba\.conf)|^server login failed: /,
    advice:
      "Check the user and the password in the address. A pooler must know the user as well (auth_file or auth_query in PgBouncer).",
  },
  {
    text: /^unsupported (options )?startup parameter/,
    advice: "Remove the parameter from the address, or add it to ignore_startup_parameters in the pooler.",
  },
  { text: /^bouncer config error/, advice: "See the pooler's log for what is wrong with its settings." },
];

/**
 * Returns what to change so that connections and schema changes are accepted; null if the error is not a refusal, or
 * may go away on its own.
 */
export function findAdvice(code: string, text: string): string | null {
  const matches = (refusal: Refusal) =>
    code === POOLER
      ? refusal.text?.test(text) === true
      : refusal.code?.test(code) === true && refusal.said?.test(text) !== false;
  return REFUSALS.find(matches)?.advice ?? null;
}
