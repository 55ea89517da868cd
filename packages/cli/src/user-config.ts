import { makeFolder } from "@promptd/server/make-folder";
import { chmod, readFile, realpath, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { CommandFailure, type CommandIo } from "./command.ts";
import { codeOf, describeReadFailure, describeWriteFailure } from "./files/file-failure.ts";
import { printableLine } from "./printable.ts";

/** The settings that `promptd login` and `promptd config set` store. */
export interface UserConfig {
  readonly url: string | null;
  readonly apiKey: string | null;
  /** A management token, for everything except runs: keys, credits, usage, and your own prompts. */
  readonly token: string | null;
}

const NOTHING: UserConfig = { url: null, apiKey: null, token: null };

type Origin = "environment" | "config file" | "default";

export interface Connection {
  readonly url: string;
  readonly urlOrigin: Origin;
  /** Null when no key is set anywhere. */
  readonly apiKey: string | null;
  readonly apiKeyOrigin: Origin;
  readonly token: string | null;
  readonly tokenOrigin: Origin;
  /** What is stored for a server other than this one, which must not get it. */
  readonly unused: UserConfig;
}

/** Where `promptd serve` listens by default. */
const URL_DEFAULT = "http://127.0.0.1:8787";

/** The user's folder for promptd: `$XDG_CONFIG_HOME/promptd`, else `~/.config/promptd`. */
export function configDirectory(env: CommandIo["env"]): string {
  const chosen = present(env["XDG_CONFIG_HOME"]);
  // The XDG specification says to ignore a relative path.
  const base = chosen !== null && isAbsolute(chosen) ? chosen : join(present(env["HOME"]) ?? findHome(), ".config");
  return join(base, "promptd");
}

/** A user without HOME and without a passwd entry has no home: `/`, as in a container. */
function findHome(): string {
  try {
    return homedir();
  } catch {
    return "/";
  }
}

export function configPath(env: CommandIo["env"]): string {
  return join(configDirectory(env), "config.json");
}

/** @throws CommandFailure when the file exists but cannot be read or parsed. */
export async function readUserConfig(env: CommandIo["env"]): Promise<UserConfig> {
  const path = configPath(env);
  const text = await readIfThere(path);
  if (text === null) return NOTHING;
  const value = parseObject(text);
  if (value === null) {
    throw new CommandFailure(`${path} is not a JSON object.`, { hint: "Fix or delete the file." });
  }
  return { url: textOf(value["url"]), apiKey: textOf(value["apiKey"]), token: textOf(value["token"]) };
}

/** Returns the stored settings for the server at this URL. A server never gets another server's secrets. */
export async function readSecretsFor(url: string, env: CommandIo["env"]): Promise<UserConfig> {
  const config = await readUserConfig(env);
  return isFor(url, config) ? config : NOTHING;
}

function isFor(url: string, config: UserConfig): boolean {
  return normalAddress(config.url ?? URL_DEFAULT) === normalAddress(url);
}

function normalAddress(url: string): string {
  return (URL.parse(url)?.href ?? url).replace(/\/+$/, "");
}

export async function writeUserConfig(env: CommandIo["env"], config: UserConfig): Promise<void> {
  const given = Object.fromEntries(Object.entries(config).filter(([, value]) => value !== null));
  await writePrivately(configPath(env), `${JSON.stringify(given, null, 2)}\n`);
}

/** Whether the text can be a key or token: it must be valid in an HTTP header. */
export function isSecret(text: string): boolean {
  return /^[\x21-\x7e]{1,256}$/.test(text);
}

/** Reads the environment first, then the file, then defaults. @throws CommandFailure for a malformed key or token. */
export async function readConnection(env: CommandIo["env"]): Promise<Connection> {
  const url = present(env["PROMPTD_URL"]);
  const apiKey = present(env["PROMPTD_API_KEY"]);
  const token = present(env["PROMPTD_TOKEN"]);
  const file = url !== null && (apiKey ?? token) !== null ? await readQuietly(env) : await readUserConfig(env);
  const isOther = url !== null && !isFor(url, file);
  const stored = isOther ? NOTHING : file;
  const secrets = { apiKey: apiKey ?? stored.apiKey, token: token ?? stored.token };
  refuseBroken("API key", secrets.apiKey, apiKey === null ? configPath(env) : "PROMPTD_API_KEY");
  refuseBroken("management token", secrets.token, token === null ? configPath(env) : "PROMPTD_TOKEN");
  return {
    url: url ?? file.url ?? URL_DEFAULT,
    urlOrigin: originOf(url, file.url),
    ...secrets,
    apiKeyOrigin: originOf(apiKey, stored.apiKey),
    tokenOrigin: originOf(token, stored.token),
    unused: isOther ? { ...file, url: file.url ?? URL_DEFAULT } : NOTHING,
  };
}

/** Says why a command that needs a key or token cannot run, and what to do. */
export function describeMissingSecret(name: "apiKey" | "token", { url, unused }: Connection): CommandFailure {
  const [what, variable] = name === "apiKey" ? ["API key", "PROMPTD_API_KEY"] : ["management token", "PROMPTD_TOKEN"];
  const hint = (login: string) => `Sign in with "${login}", or set the environment variable ${variable}.`;
  if (unused[name] !== null) {
    const here = printableLine(url);
    const other = printableLine(unused.url ?? "");
    return new CommandFailure(`No ${what} is set for ${here}. The stored one is for ${other} and is sent only there.`, {
      hint: hint(`promptd login ${here}`),
    });
  }
  const more = name === "apiKey" ? "" : "; an API key is only for runs";
  return new CommandFailure(`No ${what} is set${more}.`, { hint: hint("promptd login") });
}

/** Sending a malformed secret would look like a failed connection, with the secret in the message. */
function refuseBroken(what: string, secret: string | null, where: string): void {
  if (secret === null || isSecret(secret)) return;
  throw new CommandFailure(
    `The ${what} in ${where} contains a space, a line break, or another character that is not allowed.`,
    {
      hint: 'Copy all of it, without "…", or sign in with "promptd login".',
    },
  );
}

/** A broken file must not stop a caller who needs nothing from it. */
function readQuietly(env: CommandIo["env"]): Promise<UserConfig> {
  return readUserConfig(env).catch(() => NOTHING);
}

/** Writes a file that only its owner can read, atomically, so that nobody reads half of it. @throws CommandFailure. */
export async function writePrivately(path: string, text: string): Promise<void> {
  try {
    await makeFolder(dirname(path), 0o700);
    const target = await realpath(path).catch(() => path); // a symbolic link, as dotfile managers make them, stays a link
    const draft = `${target}.${process.pid}.tmp`;
    await writeFile(draft, text, { mode: 0o600 });
    await chmod(draft, 0o600); // writeFile's mode does not apply to a temporary file that a crash left behind
    await rename(draft, target);
  } catch (error) {
    throw new CommandFailure(describeWriteFailure(path, error), { cause: error });
  }
}

/** The file also does not exist when a folder in its path is missing or is a file. */
const ABSENT: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);

/** @returns null when the file does not exist. */
export async function readIfThere(path: string): Promise<string | null> {
  try {
    return (await readFile(path, "utf8")).replace(/^\ufeff/, ""); // some editors write one
  } catch (error) {
    if (ABSENT.has(codeOf(error))) return null;
    throw new CommandFailure(describeReadFailure(path, error, "remove it, since a file belongs there"), {
      cause: error,
    });
  }
}

/** @returns null when the text is not a JSON object. */
export function parseObject(
  text: string,
  reviver?: (key: string, value: unknown) => unknown,
): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text, reviver);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null; // the caller names the file
  }
}

function originOf(fromEnvironment: string | null, fromFile: string | null): Origin {
  if (fromEnvironment !== null) return "environment";
  return fromFile === null ? "default" : "config file";
}

function present(value: string | undefined): string | null {
  return value === undefined || value.trim() === "" ? null : value.trim();
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
