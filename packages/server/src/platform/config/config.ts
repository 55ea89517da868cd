import { suggestName } from "@promptd/contract";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { resolve } from "node:path";
import type { z } from "zod";
import { findUnreadableFaults } from "../fault-injection.ts";
import { codeOf } from "../reason-of.ts";
import { SERVICE_KEYS } from "./service-keys.ts";
import type { Setting } from "./setting-forms.ts";
import { SETTINGS } from "./settings.ts";

type Settings = typeof SETTINGS;
type Values = {
  readonly [Name in keyof Settings]: Settings[Name]["default"] extends string
    ? z.output<Settings[Name]["form"]>
    : z.output<Settings[Name]["form"]> | null;
};

/** A process's entire configuration: read once, frozen, and passed in. Nothing else reads the environment. */
export interface Config extends Values {
  readonly PROMPTD_SANDBOX: boolean;
  readonly dataDir: string;
  readonly isProduction: boolean;
  /** True: authors also pay for runs of their own prompts. */
  readonly chargesAuthors: boolean;
  /** Returns the value of a provider key, from the environment or from the file named by NAME_FILE. */
  readonly secret: (name: string) => string | null;
  /** Says why a key cannot be sent, in sentences; empty when the key is usable or not set. */
  readonly keyFaults: (name: string) => readonly string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Every configuration error at once, each with what was expected. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? "an error" : `${faults.length} errors`}:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`,
    );
    this.faults = faults;
  }
}

/**
 * Reads the environment by the table in settings.ts.
 * @throws ConfigError with every error: invalid values, unknown PROMPTD_ names, and combinations that cannot work.
 */
export function readConfig(given: Environment = process.env): Config {
  const { environment, faults: secretFaults } = readSecrets(given);
  const faults = unknownNames(given);
  const values: Record<string, unknown> = {};
  for (const [name, entry] of Object.entries(SETTINGS)) {
    const text = environment[name] || entry.default;
    const form: z.ZodType = entry.form;
    const parsed = text === null ? null : form.safeParse(text);
    if (parsed === null || parsed.success) values[name] = parsed?.data ?? null;
    else faults.push(`${name} must be ${entry.expected}${SECRETS.has(name) ? "" : `, got "${text}"`}.`);
  }
  const unreadable = findUnreadableFaults(environment["PROMPTD_FAULT"] ?? "");
  faults.push(...unreadable.map((fault) => `PROMPTD_FAULT: ${fault}`));
  const isProduction = environment["NODE_ENV"] === "production";
  if (isProduction && environment["PROMPTD_FAULT"])
    faults.push("PROMPTD_FAULT is not allowed when NODE_ENV is production.");
  faults.push(...secretFaults);
  // Runs before files are read: an unreadable file is an error of its own, not a missing setting.
  const isSet = (name: string) => Boolean(given[name] || (SECRETS.has(name) && given[`${name}_FILE`]));
  for (const [name, { requires = [] }] of Object.entries<Setting<unknown, string | null>>(SETTINGS)) {
    const missing = isSet(name) ? requires.filter((other) => !isSet(other)) : [];
    if (missing.length > 0) faults.push(`${name} also requires ${missing.join(", ")}.`);
  }
  if (isSet("PROMPTD_SMTP_URL") !== isSet("PROMPTD_MAIL_FROM")) {
    faults.push("PROMPTD_SMTP_URL and PROMPTD_MAIL_FROM require each other. Set both or neither.");
  }
  if (faults.length > 0) throw new ConfigError(faults);
  const known = values as unknown as Values;
  const PROMPTD_SANDBOX = known.PROMPTD_SANDBOX ?? !(isProduction && known.DATABASE_URL !== null);
  const authorRuns = known.PROMPTD_AUTHOR_RUNS ?? (known.PROMPTD_SIGN_UP === "open" ? "charged" : "free");
  return Object.freeze({
    ...known,
    PROMPTD_SANDBOX,
    dataDir: resolve(known.PROMPTD_DATA_DIR),
    isProduction,
    chargesAuthors: authorRuns === "charged",
    secret: secretReader(environment),
    keyFaults: (name: string) => faultsOfKey(name, readSecret(environment, name)),
  });
}

/** Secret values never appear in messages, because errors end up in logs and tickets. Each may come from NAME_FILE. */
const SECRETS: ReadonlySet<string> = new Set([
  ...Object.entries<Setting<unknown, string | null>>(SETTINGS).flatMap(([name, { isSecret }]) =>
    isSecret ? [name] : [],
  ),
  ...Object.keys(SERVICE_KEYS),
]);

/** Names that begin with PROMPTD_ but belong to the command line, not to the server. */
const CLIENT_NAMES = new Set(["PROMPTD_URL", "PROMPTD_API_KEY", "PROMPTD_TOKEN"]);

function unknownNames(environment: Environment): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith("PROMPTD_") && !(name in SETTINGS) && !CLIENT_NAMES.has(name))
    .filter((name) => !name.startsWith("PROMPTD_TEST_") && !SECRETS.has(name.replace(/_FILE$/, "")))
    .map((name) => `${name} is not a setting${suggestionFor(name)}`);
}

const withoutPrefix = (name: string) => name.replace(/^PROMPTD_/, "");

function suggestionFor(name: string): string {
  const known = new Map(Object.keys(SETTINGS).map((setting) => [withoutPrefix(setting), setting]));
  const meant = suggestName(withoutPrefix(name), [...known.keys()]);
  return meant === null ? "; docs/settings.md lists all of them." : `; did you mean ${known.get(meant)}?`;
}

/** The environment with secrets read from files, and the errors in those files and in keys. */
function readSecrets(given: Environment): { environment: Environment; faults: readonly string[] } {
  const environment: Record<string, string | undefined> = { ...given };
  const faults: string[] = [];
  for (const name of SECRETS) {
    const found = readSecret(given, name);
    if (name in SERVICE_KEYS) faults.push(...faultsOfKey(name, found));
    else if (found instanceof ConfigError) faults.push(...found.faults);
    if (!(found instanceof ConfigError)) environment[name] = found ?? undefined;
    delete environment[`${name}_FILE`];
  }
  return { environment, faults };
}

/** Files for known names are already read. A file for another name (from a catalogue overlay) is read on request. */
function secretReader(environment: Environment): (name: string) => string | null {
  const read = new Map<string, string | null>();
  return (name) => {
    const known = read.get(name);
    if (known !== undefined) return known;
    const text = readSecret(environment, name);
    if (text instanceof ConfigError) throw text;
    read.set(name, text);
    return text;
  };
}

/** Characters allowed in an HTTP header: no control characters, nothing above U+00FF. */
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/;

function faultsOfKey(name: string, found: string | null | ConfigError): readonly string[] {
  if (found instanceof ConfigError) return found.faults;
  return SENDABLE.test(found ?? "")
    ? []
    : [`${name} contains a character that is not allowed in an HTTP header. Copy the key again.`];
}

function readSecret(environment: Environment, name: string): string | null | ConfigError {
  const given = environment[name] || null;
  const path = environment[`${name}_FILE`] || null;
  if (path === null) return given;
  if (given !== null) return new ConfigError([`${name} and ${name}_FILE are both set. Set one of them.`]);
  try {
    const text = readFileSync(path, "utf8").trim();
    return text === "" ? new ConfigError([`${name}_FILE: the file ${path} is empty. Put the value in it.`]) : text;
  } catch (error) {
    const code = codeOf(error);
    const why = code === null ? "" : ` (${code})`;
    const next = "Check that it exists and that this user can read it.";
    return new ConfigError([`${name}_FILE: the file ${path} cannot be read${why}. ${next}`]);
  }
}

/** True when only this machine can reach the address. Accepts a URL host with IPv6 brackets. */
export function isLoopback(host: string): boolean {
  if (host === "localhost") return true;
  const address = host.replace(/^\[|\]$/g, "");
  return isIP(address) === 6 ? address === "::1" : isIP(address) === 4 && address.startsWith("127.");
}
