import type { ManageClient } from "@promptd/client/manage";
import type { PromptFile } from "@promptd/server/authoring";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { CommandFailure, type Command, type CommandIo } from "../../command.ts";
import { describeReadFailure } from "../../files/file-failure.ts";
import { formatTable } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { requirePromptFile, runAsAuthor } from "./author-files.ts";
import { runOnServerOrLocally } from "./own-prompts.ts";
import { testOnServer, type TestedFile } from "./test-on-server.ts";

export const promptTest: Command = {
  summary: "Run the samples and tests of prompt files against their models",
  usage: "FILE…",
  details: `Nothing is published. With a management token, each file is saved as a draft on the server, which runs it; the runs belong to the author. Without one, or with --here, no server or database is needed: this command calls the models itself. A sample passes when its run produces an output. A test passes when all of its expectations hold. The exit code is 1 when any of them fails. Image paths in tests are relative to the file's folder.`,
  session: `$ promptd prompt test tea.prompt.md
RESULT  PROMPT    TEST      MODEL         OUTPUT
ok      Tea note  sample 1  sandbox/text  [sandbox output, not an AI model] model: sandbox/text reason…
1 passed, 0 failed.`,
  options: {
    here: { type: "boolean", summary: "call the models from this machine, with the provider keys in its settings" },
  },
  run: async (args, io) => {
    const files = await Promise.all(args.positionals.map((name) => requirePromptFile(name, io)));
    const tested = await runOnServerOrLocally(args, io, {
      onServer: (manage) => testAllThere(manage, files, io),
      locally: () => testHere(files, io),
    });
    const results = tested.flatMap((one) => one.results);
    const failed = results.filter(({ passed }) => !passed).length;
    io.result(tested, results.length === 0 ? NOTHING : formatResults(tested));
    return failed === 0 ? 0 : 1;
  },
};

async function testAllThere(manage: ManageClient, files: readonly PromptFile[], io: CommandIo): Promise<TestedFile[]> {
  const all: TestedFile[] = [];
  for (const file of files) all.push(await testOnServer(manage, file, io));
  return all;
}

function testHere(files: readonly PromptFile[], io: CommandIo): Promise<TestedFile[]> {
  return runAsAuthor(io, async (authoring) => {
    const all: TestedFile[] = [];
    for (const file of files) {
      const folder = dirname(resolve(io.directory, file.name));
      const results = await authoring.test(file, (path) => readImage(path, folder), io.signal);
      all.push(...results.map((one) => ({ ...one, file: file.name })));
    }
    return all;
  });
}

async function readImage(path: string, folder: string): Promise<Uint8Array> {
  if (/^https?:/.test(path))
    throw new CommandFailure(`${path} is a URL, but tests read files. Save the image next to the prompt file.`);
  try {
    return await readFile(resolve(folder, path));
  } catch (error) {
    throw new CommandFailure(describeReadFailure(path, error, "name an image in it"), { cause: error });
  }
}

const NOTHING = 'Nothing to run: add "samples" or "tests" to the file.';

function formatResults(tested: readonly TestedFile[]): string {
  const rows = tested.flatMap(({ title, model, results }) =>
    results.map(({ name, passed, failures, output }) => [
      passed ? "ok" : "FAILED",
      printableLine(title),
      printableLine(name),
      model,
      printableLine(passed ? excerpt(output) : failures.join(" ")),
    ]),
  );
  const failed = rows.filter(([state]) => state === "FAILED").length;
  const table = formatTable([["RESULT", "PROMPT", "TEST", "MODEL", "OUTPUT"], ...rows]);
  return `${table}\n${rows.length - failed} passed, ${failed} failed.`;
}

const EXCERPT_LENGTH = 60;

function excerpt(output: string | null): string {
  if (output === null) return "(a file)";
  const line = output.replaceAll(/\s+/g, " ").trim();
  return line.length > EXCERPT_LENGTH ? `${line.slice(0, EXCERPT_LENGTH)}…` : line;
}
