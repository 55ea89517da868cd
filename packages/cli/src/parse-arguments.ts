import { listWords, suggestName } from "@promptd/contract";
import { parseArgs } from "node:util";
import { CommandFailure, type Command, type CommandArgs, type CommandOption } from "./command.ts";

export interface ParsedArguments {
  readonly args: CommandArgs;
  readonly json: boolean;
  readonly help: boolean;
}

/** Every command accepts these. */
export const COMMON_OPTIONS: Readonly<Record<string, CommandOption>> = {
  json: { type: "boolean", summary: "print one JSON document on stdout and nothing else" },
  help: { type: "boolean", short: "h", summary: "print this help" },
};

type Values = Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>;

/**
 * Parses the words after a command's name. `parseArgs` runs in its tolerant mode and the tokens are checked here,
 * because its own messages neither name the command nor suggest the flag that was meant.
 */
export function parseArguments(name: string, command: Command, argv: readonly string[]): ParsedArguments {
  const known: Readonly<Record<string, CommandOption>> = { ...command.options, ...COMMON_OPTIONS };
  const options = Object.fromEntries(
    Object.entries(known).map(([key, { type, short, multiple }]) => [
      key,
      { type, multiple: multiple ?? false, ...(short === undefined ? {} : { short }) },
    ]),
  );
  const { values, positionals, tokens } = parseArgs({
    args: [...argv],
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const seen = new Set<string>();
  for (const token of tokens) {
    if (token.kind === "option") checkFlag(name, options, token, seen);
  }
  const help = values["help"] === true;
  if (!help) {
    checkPositionals(name, command, positionals, values);
    checkRequired(name, command, values);
  }
  return { args: argsOf(values, positionals), json: values["json"] === true, help };
}

interface FlagToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function checkFlag(
  name: string,
  options: Readonly<Record<string, { type: "string" | "boolean"; multiple?: boolean }>>,
  token: FlagToken,
  seen: Set<string>,
): void {
  const hint = `See "promptd ${name} --help".`;
  const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
  if (option === undefined) {
    const meant = suggestName(token.name, Object.keys(options));
    const isInput = meant === null && token.rawName.startsWith("--") && Object.hasOwn(options, "input");
    throw new CommandFailure(
      `"promptd ${name}" has no flag ${token.rawName}.${meant === null ? "" : ` Did you mean --${meant}?`}`,
      { hint: isInput ? `Pass a prompt input as -i ${token.name}=VALUE. ${hint}` : hint },
    );
  }
  if (option.type === "boolean" && token.value !== undefined) {
    throw new CommandFailure(`The flag ${token.rawName} does not take a value.`, { hint });
  }
  if (option.type === "string" && (token.value === undefined || isFlagTakenAsValue(token))) {
    throw new CommandFailure(`The flag ${token.rawName} needs a value.`, { hint });
  }
  if (seen.has(token.name) && option.multiple !== true && option.type === "string") {
    throw new CommandFailure(`The flag ${token.rawName} was given twice.`, { hint });
  }
  seen.add(token.name);
}

/** `--port --json` would set the port to "--json". A value that begins like a flag is written `--port=--json`. */
function isFlagTakenAsValue(token: FlagToken): boolean {
  return token.inlineValue !== true && token.value !== undefined && /^--[a-z]/.test(token.value);
}

function checkPositionals(name: string, command: Command, positionals: readonly string[], values: Values): void {
  const expected = command.usage === "" ? [] : command.usage.split(" ");
  const min = expected.filter((one) => !one.startsWith("[")).length;
  const max = command.usage.includes("…") ? Infinity : expected.length;
  const hint = `Usage: ${usageOf(name, command)}`;
  if (positionals.length < min) {
    throw new CommandFailure(`"promptd ${name}" needs ${command.usage}.`, { hint });
  }
  if (positionals.length > max) {
    const surplus = positionals.slice(max);
    const meant = suggestFlags(surplus, missingOf(command, values));
    throw new CommandFailure(`"promptd ${name}" does not accept "${surplus.join(" ")}"${meant}`, { hint });
  }
}

function checkRequired(name: string, command: Command, values: Values): void {
  const missing = missingOf(command, values);
  if (missing.length === 0) return;
  throw new CommandFailure(`"promptd ${name}" needs ${listFlags(missing)}.`, {
    hint: `Usage: ${usageOf(name, command)}`,
  });
}

/** An extra word is most likely the value of a required flag that was left out. */
function suggestFlags(surplus: readonly string[], missing: readonly NamedOption[]): string {
  const [first] = missing;
  if (first === undefined) return ".";
  if (surplus.length === 1 && missing.length === 1) {
    const [word = ""] = surplus;
    return ` without a flag. Did you mean --${first[0]} ${/\s/.test(word) ? JSON.stringify(word) : word}?`;
  }
  return ` without a flag. It needs ${listFlags(missing)}.`;
}

type NamedOption = readonly [string, CommandOption];

function listFlags(options: readonly NamedOption[]): string {
  return listWords(
    options.map(([key]) => `--${key}`),
    "and",
  );
}

function missingOf(command: Command, values: Values): readonly NamedOption[] {
  return requiredOf(command).filter(([key]) => textOf(values, key).trim() === "");
}

function requiredOf({ options }: Command): readonly NamedOption[] {
  return Object.entries(options).filter(([, option]) => option.isRequired === true);
}

/** The command line with everything required, such as `promptd admin user create --email E`. */
export function usageOf(name: string, command: Command): string {
  const flags = requiredOf(command).map(([key, option]) => flagOf(key, option));
  return ["promptd", name, command.usage, ...flags].filter((part) => part !== "").join(" ");
}

/** A flag with its value placeholder. */
export function flagOf(key: string, { type, value }: CommandOption): string {
  return `--${key}${type === "string" ? ` ${value ?? "VALUE"}` : ""}`;
}

function textOf(values: Values, name: string): string {
  const value = values[name];
  return typeof value === "string" ? value : "";
}

function argsOf(values: Values, positionals: readonly string[]): CommandArgs {
  return {
    positionals,
    text(name) {
      const value = values[name];
      return typeof value === "string" ? value : undefined;
    },
    list(name) {
      const value = values[name];
      return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
    },
    required: (name) => textOf(values, name).trim(),
    flag: (name) => values[name] === true,
  };
}
