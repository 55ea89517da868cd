import type { ImageSource } from "@promptd/client";
import type { PromptConfig } from "@promptd/contract";
import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandFailure, type CommandArgs, type CommandIo } from "../command.ts";
import { describeReadFailure } from "../files/file-failure.ts";
import { printableLine } from "../printable.ts";
import { readJsonTexts } from "./json-texts.ts";
import { readText, STDIN_NAME } from "./read-text.ts";

/** Limits this process's memory. The server's own limit, also 10 MiB per image, has its own message. */
const IMAGE_BYTES_MAX = 32 * 1024 * 1024;

/** The inputs of a run: texts by name, and images in the order of the prompt's slots. */
export interface GivenInputs {
  readonly texts: Readonly<Record<string, string>>;
  readonly images: readonly ImageSource[];
}

/**
 * Reads the inputs of one command line: `--inputs FILE`, then words such as `key=value`, `key=@file`, and `key=-`, then
 * literal `--input key=value`, and images. Later ones override earlier ones.
 * @throws CommandFailure for an input that cannot be read or is given twice in the same way.
 */
export async function readInputs(args: CommandArgs, config: PromptConfig, io: CommandIo): Promise<GivenInputs> {
  const file = args.text("inputs");
  const read = new Map<string, string>(file === undefined ? [] : Object.entries(await readInputsFile(file, io)));
  const words = await readWords(args.positionals.slice(1), config, io);
  for (const [key, value] of [...words.texts, ...Object.entries(readPairs("--input", args.list("input")))]) {
    read.set(key, value);
  }
  const others = await Promise.all(args.list("image").map((source) => readImage(source, io.directory)));
  return { texts: Object.fromEntries(read), images: inOrder(config, words.images, others) };
}

/** An image that names its slot fills it. The others fill the remaining slots in order. */
function inOrder(
  config: PromptConfig,
  named: ReadonlyMap<number, ImageSource>,
  others: readonly ImageSource[],
): ImageSource[] {
  const rest = [...others];
  const slots = config.imageInputs.map(({ position }) => position).toSorted((a, b) => a - b);
  const filled = slots.flatMap((position) => named.get(position) ?? rest.shift() ?? []);
  return [...filled, ...rest];
}

/**
 * Reads `key=value` pairs; the key ends at the first "=".
 * @throws CommandFailure for a pair without "=", an empty key or a repeated one.
 */
export function readPairs(flag: string, pairs: readonly string[]): Record<string, string> {
  const read = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    if (at < 1) throw new CommandFailure(`${flag} must have the form KEY=VALUE, got "${pair}".`);
    const key = pair.slice(0, at);
    if (read.has(key)) throw new CommandFailure(`${flag} names "${key}" twice. Give it once.`);
    read.set(key, pair.slice(at + 1));
  }
  return Object.fromEntries(read);
}

interface Words {
  readonly texts: readonly (readonly [string, string])[];
  /** By slot position. */
  readonly images: ReadonlyMap<number, ImageSource>;
}

/** A word that names an image slot, such as `photo=@cat.jpg`, is that image. */
async function readWords(words: readonly string[], config: PromptConfig, io: CommandIo): Promise<Words> {
  const pairs = Object.entries(
    readPairs(
      "An input",
      words.map((word) => (word === "-" ? `${onlyInput(config)}=-` : word)),
    ),
  );
  const texts: (readonly [string, string])[] = [];
  const slots = new Map<number, ImageSource>();
  for (const [key, value] of pairs) {
    const slot = config.imageInputs.find(({ label }) => label.toLowerCase() === key.toLowerCase());
    if (slot === undefined || Object.hasOwn(config.textInputs, key)) texts.push([key, await readValue(key, value, io)]);
    else slots.set(slot.position, await readImage(value.replace(/^@/, ""), io.directory));
  }
  return { texts, images: slots };
}

function onlyInput(config: PromptConfig): string {
  const keys = Object.keys(config.textInputs);
  const required = keys.filter((key) => config.textInputs[key]?.required === true);
  const [key, ...others] = keys.length === 1 ? keys : required;
  if (key !== undefined && others.length === 0) return key;
  throw new CommandFailure(`Standard input could be any of ${keys.length} inputs: ${keys.join(", ")}.`, {
    hint: "Name one: KEY=-",
  });
}

/** `@file` and `-` stand for their contents. Pass a text that begins with @ with `--input`. */
async function readValue(key: string, value: string, io: CommandIo): Promise<string> {
  if (value === "-") return (await io.readStdin()).trimEnd();
  if (!value.startsWith("@")) return value;
  return (await readText(value.slice(1), `pass the text itself with --input '${key}=${value}'`, io)).trimEnd();
}

async function readInputsFile(file: string, io: CommandIo): Promise<Record<string, string>> {
  if (file.trimStart().startsWith("{")) {
    throw new CommandFailure("--inputs names a file, and this is JSON.", {
      hint: "Pass each input as a word, KEY=VALUE, or the JSON on standard input with --inputs -",
    });
  }
  const text = file === "-" ? await io.readStdin() : await readText(file, "name a JSON file in it", io);
  const name = file === "-" ? STDIN_NAME : printableLine(file);
  return readJsonTexts(text, name);
}

/** Passes a URL on, and reads a path. @throws CommandFailure when the file cannot be read. */
export async function readImage(source: string, directory: string): Promise<ImageSource> {
  if (/^https?:\/\//i.test(source)) return source;
  const path = resolve(directory, source);
  try {
    const { size } = await stat(path);
    if (size > IMAGE_BYTES_MAX)
      throw new CommandFailure(`The image ${source} is too large: ${size} bytes. The limit is 10 MiB.`);
    return new Uint8Array(await readFile(path));
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(describeReadFailure(source, error, "name an image in it"), { cause: error });
  }
}
