import { createClient, PromptdError } from "@promptd/client";
import { createManageClient } from "@promptd/client/manage";
import { listWords } from "@promptd/contract";
import { hostname } from "node:os";
import { CommandFailure, type Command, type CommandArgs, type CommandIo } from "../command.ts";
import { printableLine } from "../printable.ts";
import { orBadAddress } from "../session.ts";
import { beginBrowserSignIn, CODE_FORM, type BrowserSignIn } from "../sign-in/browser-sign-in.ts";
import { configPath, readConnection, readSecretsFor, readUserConfig, writeUserConfig } from "../user-config.ts";

/** The console page that creates keys. */
const KEYS_PAGE = "/keys";

export const login: Command = {
  summary: "Sign in through the console, or with an API key or a management token",
  usage: "[url]",
  details: `Opens a page of the console. Sign in and confirm there, and this command receives a management token. With --no-browser, or when there is no browser, it prints the address instead. Open it on any machine, then type the code that the page shows, or an API key (pd_…) or management token (pdm_…) that you already have. An API key is for runs. A management token is for keys, credits, usage, and your own prompts. If the token may write keys and no API key is stored, the command also creates an API key for this machine. Signing in to a server removes what is stored for any other server. Without a terminal, pass the key or token on standard input with --token -.`,
  session: `$ promptd login https://promptd.example.org
Opened https://promptd.example.org in your browser. Confirm there.
No page? Press Ctrl-C, then: promptd login --no-browser
Created the API key pd_01234…6789 for this machine.
Signed in to https://promptd.example.org as ada@example.org, with an API key and a management token.`,
  options: {
    token: {
      type: "string",
      value: "TOKEN|-",
      summary: "the API key or management token; - reads it from standard input",
    },
    "no-browser": { type: "boolean", summary: "print the address instead of opening a browser, and ask for a code" },
    "no-key": { type: "boolean", summary: "do not create an API key when signing in with a management token" },
  },
  async run(args, io) {
    const url = readAddress(args.positionals[0] ?? (await readConnection(io.env)).url);
    const secret = await readSecret(args, url, io);
    const known = await readSecretsFor(url, io.env);
    const isKeyInEnvironment = (io.env["PROMPTD_API_KEY"] ?? "") !== "";
    const hasKey = known.apiKey !== null || isKeyInEnvironment;
    const signedIn = secret.startsWith("pdm_")
      ? await signInWithToken(secret, url, { makesKey: !args.flag("no-key") && !hasKey, io })
      : await signInWithKey(secret, url, io);
    const { name, ...stored } = signedIn;
    if (isKeyInEnvironment && secret.startsWith("pdm_") && known.apiKey === null && !args.flag("no-key")) {
      io.note("No API key was created: PROMPTD_API_KEY is set, and commands use that key.");
    }
    await writeUserConfig(io.env, { ...known, ...stored, url });
    const kinds = ["apiKey" in stored ? "an API key" : null, "token" in stored ? "a management token" : null];
    const withWhat = listWords(
      kinds.filter((kind) => kind !== null),
      "and",
    );
    const document = { url, name, apiKey: "apiKey" in stored, token: "token" in stored, path: configPath(io.env) };
    io.result(document, `Signed in to ${url} as ${printableLine(name)}, with ${withWhat}.`);
  },
};

export const logout: Command = {
  summary: "Remove the stored API key and management token; they stay valid",
  usage: "",
  details: 'To end a key, revoke it with "promptd keys revoke" or in the console.',
  session: `$ promptd logout
Removed the API key and the token from ~/.config/promptd/config.json.`,
  options: {},
  async run(_args, io) {
    const config = await readUserConfig(io.env);
    await writeUserConfig(io.env, { ...config, apiKey: null, token: null });
    const path = configPath(io.env);
    const kinds = [config.apiKey === null ? null : "the API key", config.token === null ? null : "the token"];
    const removed = listWords(
      kinds.filter((kind) => kind !== null),
      "and",
    );
    io.result({ path }, removed === "" ? `No key or token was stored in ${path}.` : `Removed ${removed} from ${path}.`);
  },
};

interface SignedIn {
  readonly name: string;
  readonly apiKey?: string;
  readonly token?: string;
}

function readAddress(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? "")) return text.replace(/\/+$/, "");
  throw new CommandFailure(`The address must begin with http:// or https://, got "${printableLine(text)}".`);
}

async function readSecret(args: CommandArgs, url: string, io: CommandIo): Promise<string> {
  const given = args.text("token");
  if (given !== undefined) return requireSecret(given === "-" ? await io.readStdin() : given);
  const signIn = io.terminal.isError ? await beginBrowserSignIn(url, io) : null;
  const found = args.flag("no-browser") ? null : await signIn?.askBrowser();
  return found ?? (signIn === null ? askForSecret(url, args.flag("no-browser"), io) : askForCode(signIn, io));
}

function requireSecret(text: string): string {
  const secret = text.trim();
  if (/^pdm?_[\x21-\x7e]{1,256}$/.test(secret)) return secret;
  if (secret === "") throw new CommandFailure("No API key (pd_…) or management token (pdm_…) was given.");
  throw new CommandFailure("That is neither an API key (pd_…) nor a management token (pdm_…). Copy all of it.");
}

/** Asks for a key or token when the server has no browser sign-in. */
async function askForSecret(url: string, isQuiet: boolean, io: CommandIo): Promise<string> {
  const page = `${url}${KEYS_PAGE}`;
  const isOpen = !isQuiet && io.terminal.isError && (await io.openBrowser(page));
  io.note(isOpen ? `Opened ${page}` : `Create a key or a token at ${page}`);
  return requireSecret(await ask("API key or management token", io));
}

async function askForCode({ carriedAddress, takeToken }: BrowserSignIn, io: CommandIo): Promise<string> {
  io.note(`Open this address in a browser on any machine and confirm there:\n\n${carriedAddress}\n`);
  const typed = (await ask("Code, API key, or management token", io)).trim();
  return CODE_FORM.test(typed) ? takeToken(typed) : requireSecret(typed);
}

async function ask(what: string, io: CommandIo): Promise<string> {
  const typed = await io.askSecret(`${what} (not shown): `);
  if (typed !== null) return typed;
  throw new CommandFailure("This terminal cannot prompt for input.", {
    hint: "Pass it on standard input: promptd login --token -",
  });
}

async function signInWithKey(apiKey: string, baseUrl: string, io: CommandIo): Promise<SignedIn> {
  const client = orBadAddress(() => createClient({ baseUrl, apiKey, fetch: io.fetch, maxRetries: 1 }));
  const me = await client.me.get({ signal: io.signal });
  return { name: me.username ?? me.displayName ?? "an account without a name", apiKey };
}

interface TokenOptions {
  readonly makesKey: boolean;
  readonly io: CommandIo;
}

async function signInWithToken(token: string, baseUrl: string, { makesKey, io }: TokenOptions): Promise<SignedIn> {
  const manage = orBadAddress(() => createManageClient({ baseUrl, token, fetch: io.fetch, maxRetries: 1 }));
  const { signal } = io;
  const { person, scopes } = await manage.send("getSession", { signal });
  if (!makesKey || scopes?.includes("keys:write") !== true) return { name: person.email, token };
  try {
    const body = { name: `command line on ${hostname()}`.slice(0, 100) };
    const created = await manage.send("createKey", { body, signal });
    io.note(`Created the API key ${created.display} for this machine.`);
    return { name: person.email, token, apiKey: created.apiKey };
  } catch (error) {
    // Only an owner may create keys. The token works for everything else.
    if (!(error instanceof PromptdError)) throw error;
    io.note(`No API key was created: ${printableLine(error.message)}`);
    return { name: person.email, token };
  }
}
