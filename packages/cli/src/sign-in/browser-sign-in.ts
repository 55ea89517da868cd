/**
 * Gets a management token through a console page: a person signs in there and agrees, and gets a code that only this
 * process can use (OAuth 2.1 with PKCE). The browser returns the code, or the person types it.
 */
import { SCOPES } from "@promptd/contract";
import { CARRIED_CODE } from "@promptd/contract/manage";
import { createHash, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { CommandFailure, type CommandIo } from "../command.ts";
import { printableLine } from "../printable.ts";
import { parseObject } from "../user-config.ts";
import { LOOPBACK_ADDRESS, openLoopback } from "./loopback.ts";

export interface BrowserSignIn {
  /** Opens the page and waits for the person's decision. Null: there is no browser to open. */
  readonly askBrowser: () => Promise<string | null>;
  /** The URL of a page that shows a code. */
  readonly carriedAddress: string;
  /** Exchanges a code for the token. @throws CommandFailure when the code is not valid. */
  readonly takeToken: (code: string) => Promise<string>;
}

/** Nobody gets the operator scope without creating such a token by hand. */
const ASKED = SCOPES.filter((scope) => scope !== "operator");
/** Long enough to find a password. */
const ANSWER_MS_MAX = 10 * 60_000;
const REQUEST_MS_MAX = 30_000;
const BYTES = 32;

/** The format of the code that the page shows. */
export const CODE_FORM = /^[A-Za-z0-9_-]{43}$/;

/** Null: the server does not support browser sign-in, because it is older or is behind a proxy that hides it. */
export async function beginBrowserSignIn(url: string, io: CommandIo): Promise<BrowserSignIn | null> {
  const server = await readServer(url, io);
  if (server === null) return null;
  const body = { client_name: `Command line on ${hostname()}`, redirect_uris: [LOOPBACK_ADDRESS, CARRIED_CODE] };
  const registered = await send(server.register, JSON.stringify(body), io);
  const clientId = textOf(registered, "client_id");
  const verifier = randomBytes(BYTES).toString("base64url");
  const state = randomBytes(BYTES).toString("base64url");
  const pageFor = (redirectUri: string) => {
    const page = new URL(server.authorize);
    const params = {
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUri,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
      scope: ASKED.join(" "),
      state,
    };
    for (const [name, value] of Object.entries(params)) page.searchParams.set(name, value);
    return page.href;
  };
  const takeToken = async (code: string, redirectUri: string) => {
    const form = { grant_type: "authorization_code", code, client_id: clientId, redirect_uri: redirectUri };
    const answer = await send(server.token, new URLSearchParams({ ...form, code_verifier: verifier }), io);
    return textOf(answer, "access_token");
  };
  return {
    carriedAddress: pageFor(CARRIED_CODE),
    takeToken: (code) => takeToken(code, CARRIED_CODE),
    askBrowser: async () => {
      const loopback = await openLoopback();
      try {
        const answered = loopback.answered(state, AbortSignal.any([io.signal, AbortSignal.timeout(ANSWER_MS_MAX)]));
        answered.catch(() => {}); // nobody awaits this when there is no browser
        if (!(await io.openBrowser(pageFor(loopback.address)))) return null;
        io.note(`Opened ${url} in your browser. Confirm there.`);
        io.note("No page? Press Ctrl-C, then: promptd login --no-browser");
        return await takeToken(codeOf(await inTime(answered, io), server.issuer), loopback.address);
      } finally {
        loopback.close();
      }
    },
  };
}

async function inTime(answered: Promise<URLSearchParams>, io: CommandIo): Promise<URLSearchParams> {
  try {
    return await answered;
  } catch (error) {
    io.signal.throwIfAborted();
    throw new CommandFailure("Nobody confirmed the sign-in within ten minutes.", {
      hint: 'Start again with "promptd login" or "promptd login --no-browser".',
      cause: error,
    });
  }
}

/** @throws CommandFailure when access is denied, or when the response comes from another server (RFC 9207). */
function codeOf(answer: URLSearchParams, issuer: string): string {
  if (answer.get("error") === "access_denied") {
    throw new CommandFailure("Access was denied in the browser. Nothing was stored.");
  }
  const code = answer.get("code");
  if (code !== null && answer.get("iss") === issuer) return code;
  throw new CommandFailure("The browser returned without a code from this server.", {
    hint: 'Start again with "promptd login" or "promptd login --no-browser".',
  });
}

interface AuthorizationServer {
  readonly issuer: string;
  readonly authorize: string;
  readonly token: string;
  readonly register: string;
}

const METADATA_PATH = "/.well-known/oauth-authorization-server";

/** Null when the document is missing, or names URLs outside the server it was requested from (RFC 8414, 3.3). */
async function readServer(url: string, io: CommandIo): Promise<AuthorizationServer | null> {
  const { fetch, signal } = io;
  const timeout = AbortSignal.timeout(REQUEST_MS_MAX);
  const answer = await fetch(`${url}${METADATA_PATH}`, { signal: AbortSignal.any([signal, timeout]) }).catch(
    () => null,
  );
  signal.throwIfAborted();
  const found = answer?.status === 200 ? parseObject(await answer.text()) : null;
  const named = ["issuer", "authorization_endpoint", "token_endpoint", "registration_endpoint"].map(
    (name) => found?.[name],
  );
  if (!named.every((one) => typeof one === "string")) return null;
  const [issuer = "", authorize = "", token = "", register = ""] = named;
  // Otherwise a server could send a person to another server and take the code that the other one issues.
  const own = withOneSlash(url);
  const foreign = named.find((one) => !withOneSlash(one).startsWith(own));
  if (foreign === undefined && withOneSlash(issuer) === own) return { issuer, authorize, token, register };
  io.note(`The server at ${url} says that its address is ${printableLine(foreign ?? issuer)}`);
  io.note("To sign in through its page, use that address, or set PROMPTD_PUBLIC_URL on the server.");
  return null;
}

/** Normalizes a URL: trailing slash, letter case of the host, and default port. */
const withOneSlash = (address: string): string => (URL.parse(address)?.href ?? "").replace(/\/*$/, "/");

async function send(
  address: string,
  body: string | URLSearchParams,
  { fetch, signal }: CommandIo,
): Promise<Readonly<Record<string, unknown>>> {
  const timeout = AbortSignal.timeout(REQUEST_MS_MAX);
  const headers = typeof body === "string" ? { "content-type": "application/json" } : {};
  const options = { method: "POST", body, headers, signal: AbortSignal.any([signal, timeout]) };
  const answer = await fetch(address, options).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new CommandFailure(`${address} did not answer.`, { hint: RETRY_HINT, cause: error });
  });
  const document = parseObject(await answer.text()) ?? {};
  if (answer.ok) return document;
  const { error_description: said } = document;
  throw new CommandFailure(typeof said === "string" ? said : `${address} answered HTTP ${answer.status}.`, {
    hint: RETRY_HINT,
  });
}

const RETRY_HINT = 'Try again, or create a token in the console and pass it to "promptd login --token -".';

function textOf(document: Readonly<Record<string, unknown>>, name: string): string {
  const value = document[name];
  if (typeof value === "string" && value !== "") return value;
  throw new CommandFailure(`The server's response has no ${name}.`, { hint: RETRY_HINT });
}
