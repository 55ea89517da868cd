import type { McpSource } from "@promptd/mcp";
import { findChosen, readChoice, type PromptChoice } from "@promptd/mcp/describe";
import { serveOnStdio } from "@promptd/mcp/stdio";
import { readdir, readFile, realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { CommandFailure, type Command, type CommandArgs, type CommandIo } from "../../command.ts";
import { describeFolderFailure } from "../../files/file-failure.ts";
import { readVersion } from "../../help-text.ts";
import { printableLine } from "../../printable.ts";
import { withSession } from "../../session.ts";

export const mcp: Command = {
  summary: "Serve prompts as Model Context Protocol tools on standard input and output",
  usage: "",
  details: `For hosts such as Claude Desktop, VS Code, or an agent of your own, which start this command themselves. See docs/mcp.md for their configuration. Every prompt can be found, shown, and run. The prompts named with --tools, or your own prompts that carry the label given with --label, also become tools of their own, with their inputs as arguments (at most 40). Runs are paid for with your key's credits. With --images, a tool call may name an image in that folder by its path. No other file is ever read.`,
  session: `$ promptd mcp --tools cat-poem,summarize@production
$ promptd mcp --label production --images ~/Pictures`,
  options: {
    tools: {
      type: "string",
      value: "SLUG,…",
      summary: "prompts that become tools of their own, each as slug or slug@label",
    },
    label: {
      type: "string",
      value: "LABEL",
      summary: "with --tools, the version of each prompt to use; without, your own prompts that carry this label",
    },
    images: { type: "string", value: "DIR", summary: "a folder whose images tool calls may name by path" },
  },
  async run(args, io) {
    const choice = choiceOf(args);
    const folder = await folderOf(args, io);
    const version = await readVersion();
    await withSession(io, async ({ client }) => {
      const source: McpSource = {
        client,
        choice,
        fetchFile: (url, signal) => io.fetch(url, { signal }),
        readImageFile: folder === null ? null : (path) => readImageIn(folder, path),
      };
      await warnOfMissing(source, io);
      await serveOnStdio({ source, version }, { signal: io.signal, onError: (error) => io.note(error.message) });
    });
  },
};

function choiceOf(args: CommandArgs): PromptChoice {
  try {
    return readChoice(args.text("tools") ?? null, args.text("label") ?? null);
  } catch (error) {
    if (error instanceof RangeError) throw new CommandFailure(error.message, { cause: error });
    throw error;
  }
}

async function folderOf(args: CommandArgs, io: CommandIo): Promise<string | null> {
  const name = args.text("images");
  if (name === undefined) return null;
  try {
    const folder = await realpath(resolve(io.directory, name));
    await readdir(folder); // fail now for a file or an unreadable folder, not later for each image
    return folder;
  } catch (error) {
    throw new CommandFailure(describeFolderFailure(name, error), { cause: error });
  }
}

/** @throws RangeError for a path that leads out of the folder, including through a symbolic link. */
async function readImageIn(folder: string, path: string): Promise<Uint8Array> {
  const refused = new RangeError(`An image must be a URL, Base64 data, or a file in ${folder}.`);
  const whole = await realpath(resolve(folder, path)).catch(() => Promise.reject(refused));
  const inside = relative(folder, whole);
  if (inside.startsWith("..") || isAbsolute(inside)) throw refused;
  return readFile(whole).catch(() => Promise.reject(refused));
}

/** Hosts show these notes in their log. A server that is unreachable now may come up later. */
async function warnOfMissing({ client, choice }: McpSource, io: CommandIo): Promise<void> {
  for (const fault of choice.faults) io.note(fault);
  try {
    const { missing } = await findChosen(client, choice, io.signal);
    if (missing.length > 0) io.note(`No published prompt is named ${missing.map(printableLine).join(", ")}.`);
  } catch (error) {
    io.note(`Could not read the chosen prompts: ${error instanceof Error ? error.message : String(error)}`);
  }
}
