import { PromptdConnectionError, PromptdError, PromptdProtocolError } from "@promptd/client";
import type { ErrorCode, Unauthorized } from "@promptd/contract";
import { printable } from "./printable.ts";

const HINTS: Partial<Record<ErrorCode, string>> = {
  UNAUTHORIZED_ERROR: 'Sign in with "promptd login", or set the key in PROMPTD_API_KEY.',
  TOO_MANY_REQUESTS_ERROR: "Try again in a moment.",
};

/** The command that lists each kind of id, by how the server's message about a wrong id begins. */
const LISTS: readonly (readonly [RegExp, string])[] = [
  [/^(runId must|No run has)/, "promptd runs list"],
  [/^(batchId must|No batch has)/, "promptd batches list"],
  [/^(keyId must|No API key has)/, "promptd keys list"],
  [/^(webhookId must|No webhook has)/, "promptd webhooks list"],
];

function explainId({ message }: PromptdError): string | null {
  const [, list] = LISTS.find(([start]) => start.test(message)) ?? [];
  return list === undefined ? null : `Find it with "${list}".`;
}

/** Says which access the management API requires; null for every other error. */
function explainAccess({ code, data }: PromptdError): string | null {
  if (code !== "UNAUTHORIZED_ERROR" || typeof data !== "object" || data === null || !("reason" in data)) return null;
  const missing = data as Unauthorized;
  if (missing.reason === "SCOPE_REQUIRED") {
    return `Create a management token with the scope ${missing.scope} in the console, and sign in with it: promptd login`;
  }
  if (missing.reason === "ROLE_REQUIRED") return `Only an ${missing.role} can do that.`;
  return 'Sign in with "promptd login", or set a management token in PROMPTD_TOKEN.';
}

const START_SERVER =
  'Start a server with "promptd serve", or set its address: "promptd config set url <url>" or PROMPTD_URL.';
const TRUST_CERTIFICATE =
  "If you trust the server's certificate, set NODE_EXTRA_CA_CERTS to a PEM file with it or with the authority that issued it.";

/** OpenSSL's names for certificates whose authority is not known here, as Node reports them. */
const UNTRUSTED: ReadonlySet<unknown> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

const NO_TLS = "This server may not use TLS. If so, its address begins with http://, not https://.";

function hintForConnection(error: unknown): string {
  if (!(error instanceof Error)) return START_SERVER;
  if ("code" in error && UNTRUSTED.has(error.code)) return TRUST_CERTIFICATE;
  if ("code" in error && error.code === "ERR_SSL_WRONG_VERSION_NUMBER") return NO_TLS;
  return hintForConnection(error.cause);
}

/** Explains an error from a command to the user; null for an unexpected error. */
export function explainError(error: unknown): { message: string; hint: string | null } | null {
  if (error instanceof PromptdError) {
    const hint = explainAccess(error) ?? explainId(error) ?? HINTS[error.code] ?? null;
    const request = error.code === "SERVER_ERROR" && error.requestId !== null ? `Request id: ${error.requestId}` : null;
    return { message: printable(error.message), hint: hint ?? request };
  }
  if (error instanceof PromptdConnectionError) {
    return { message: error.message, hint: hintForConnection(error) };
  }
  if (error instanceof PromptdProtocolError) {
    return { message: error.message, hint: `The response began: ${printable(error.bodyStart)}` };
  }
  // A problem that the server code throws inside an operator command. Its class is not loaded here.
  if (error instanceof Error && error.name === "Problem") return { message: printable(error.message), hint: null };
  return null;
}
