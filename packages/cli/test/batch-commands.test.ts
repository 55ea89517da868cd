/** `promptd run --batch` and `promptd batches`, against a real server. */
import type { Batch, BatchResult } from "@promptd/contract";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../../server/test/support/test-server.ts";
import { NO_TERMINAL, type Terminal } from "../src/terminal/terminal.ts";
import { runCommandHere } from "./run-here.ts";

const PROMPT = `---
promptd: 1
title: Directed
slug: directed
model: sandbox/text
inputs: { do: {}, topic: { default: tea } }
---
sandbox: {{ do }}
{{ topic }}
`;
const PORTRAIT = `---
promptd: 1
title: Portrait
slug: portrait
model: sandbox/image
images: [{ label: Photo, description: One clear photo }]
options: { size: "256x256" }
---
Redraw the photo.
`;
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

let server: TestServer;
let caller: TestCaller;
let home = "";
beforeAll(async () => {
  server = await startTestServer();
  await server.publish(PROMPT);
  await server.publish(PORTRAIT);
  home = await mkdtemp(join(tmpdir(), "promptd-batch-"));
});
beforeEach(async () => {
  caller = await server.createCaller();
});
afterAll(async () => {
  await server.close();
  await rm(home, { recursive: true, force: true });
});

interface Started {
  readonly terminal?: Partial<Terminal>;
  readonly answer?: string;
  /** Receives the questions. */
  readonly questions?: string[];
  /** Presses Ctrl-C when this is written. */
  readonly stopAt?: RegExp;
}

async function promptd(argv: readonly string[], { terminal = {}, answer, questions = [], stopAt }: Started = {}) {
  const stop = new AbortController();
  const ended = await runCommandHere(argv, {
    env: { HOME: home, PROMPTD_URL: server.url, PROMPTD_API_KEY: caller.apiKey },
    directory: home,
    terminal: { ...NO_TERMINAL, ...terminal },
    ask: async (question) => {
      questions.push(question);
      return answer ?? null;
    },
    writeError: (text) => {
      if (stopAt?.test(text) === true) stop.abort(new Error("Ctrl-C"));
    },
    listenForStop: () => stop.signal,
  });
  return { code: ended.code, out: ended.stdout, error: ended.stderr };
}

const linesOf = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as BatchResult);
const ranTimes = async () => (await caller.client.runs.list({ limit: 50 })).rows.length;

test("in a pipe: a run for each row, its price first, and results as JSON lines", async () => {
  await writeFile(join(home, "topics.csv"), "key,do,topic\na1,tokens=3,frost\na2,refuse,\na3,tokens=2,rain\n");
  const { code, out, error } = await promptd(["run", "directed", "--batch", "topics.csv"]);
  expect(error).toContain("3 runs of Directed: about ");
  expect(error).toContain("You have 1,000.\n");
  expect(linesOf(out).map(({ index, key, status }) => [index, key, status])).toEqual([
    [0, "a1", "succeeded"],
    [1, "a2", "failed"],
    [2, "a3", "succeeded"],
  ]);
  expect(code).toBe(1); // one failed
  const [, second] = linesOf((await promptd(["run", "directed", "--batch", "topics.csv"])).out);
  expect(second?.key).toBe("a2");
  expect(await ranTimes()).toBe(3);
});

test("stopped by Ctrl-C and started again: it continues the same batch and runs nothing twice", async () => {
  const rows = Array.from({ length: 12 }, (_, i) => JSON.stringify({ do: `delay=100 tokens=${i + 1}` }));
  await writeFile(join(home, "slow.jsonl"), rows.join("\n"));
  const argv = ["run", "directed", "--batch", "slow.jsonl", "topic=rain"];
  const stopped = await promptd(argv, { stopAt: /Waiting for the batch/ });
  expect(stopped.code).toBe(130);
  const batchId = /promptd batches watch (\S+)/.exec(stopped.error)?.[1] ?? "";
  const resumed = await promptd([...argv, "--out", "slow.csv"]);
  expect(resumed.code).toBe(0);
  expect(resumed.error).toContain("Nothing is run twice");
  expect(await ranTimes()).toBe(12);
  const saved = await readFile(join(home, "slow.csv"), "utf8");
  expect(saved.split("\r\n")).toHaveLength(14);
  const got = await promptd(["batches", "get", batchId, "--json"]);
  expect(JSON.parse(got.out)).toMatchObject({ batchId, batchStatus: "finished", name: "slow.jsonl" });
  const results = await promptd(["batches", "results", batchId], { terminal: { isOut: true } });
  expect(linesOf(results.out)).toHaveLength(12);
  const asJson = await promptd(["batches", "results", batchId, "--json"]);
  expect((JSON.parse(asJson.out) as { results: unknown[] }).results).toHaveLength(12);
  expect((await promptd(["batches", "watch", batchId])).code).toBe(0);
  expect((await promptd(["batches", "list"])).out).toContain(`${batchId}  finished  12`);
  const tooLate = await promptd(["batches", "cancel", batchId]);
  expect([tooLate.code, tooLate.error]).toEqual([0, "Nothing to cancel: the batch has already ended.\n"]);
  const again = await promptd([...argv, "--again", "--no-wait", "--json"]);
  const { batchId: other } = JSON.parse(again.out) as Batch;
  expect(other).not.toBe(batchId);
  expect((await promptd(["batches", "cancel", other])).out).toContain("canceled");
});

test("a canceled batch does not continue, and the command says how to run its rows again", async () => {
  const { promptVersionId } = await caller.client.prompts.getBySlug("directed");
  const items = [{ inputs: { textInputs: { do: "delay=60000" } } }];
  const { batchId } = await caller.client.batches.create({ promptVersionId, items });
  await caller.client.batches.cancel(batchId);
  const { code, out, error } = await promptd(["batches", "resume", batchId]);
  expect(code).toBe(1);
  expect(out).toContain("canceled");
  expect(error).toBe(
    "The batch was canceled and cannot be resumed. To run all rows again: promptd run PROMPT --batch FILE --again\n",
  );
});

test("paused for lack of credits: says that it resumes by itself; paused for a key: says with which command", async () => {
  caller = await server.createCaller({ credits: 1 });
  await writeFile(join(home, "paid.jsonl"), '{"do":"tokens=1"}\n{"do":"tokens=2"}\n');
  const paused = await promptd(["run", "directed", "--batch", "paid.jsonl"], { stopAt: /Paused: This run needs/ });
  const reason =
    "Paused: This run needs 1 credit, but only 0 are available. Ask an operator of this server for more credits.";
  expect(paused.error).toContain(`${reason}\nIt resumes by itself when that changes.\n`);
  const batchId = /promptd batches watch (\S+)/.exec(paused.error)?.[1] ?? "";
  await server.app.db.query("update batches set pause_reason = 'KEY_NOT_VALID', retry_at = null where id = $1", [
    batchId,
  ]);
  expect((await promptd(["batches", "get", batchId])).out).toContain(
    `${reason}\nTo continue with another key: promptd batches resume ${batchId}\n`,
  );
});

test("stopped while sending: says how to find out what became of the batch", async () => {
  await writeFile(join(home, "sent.csv"), "do\ntokens=1\n");
  const argv = ["run", "directed", "--batch", "sent.csv"];
  const stopped = await promptd(argv, { stopAt: /You have/ });
  expect(stopped.code).toBe(130);
  expect(stopped.error).toContain("the same command joins it. See: promptd batches list");
  expect((await promptd(argv)).code).toBe(0);
  expect(await ranTimes()).toBe(1);
});

test("rows that cannot be run are named by line before anything is charged", async () => {
  await writeFile(join(home, "slips.csv"), "do,tpoic\ntokens=1,tea\n");
  const slip = await promptd(["run", "directed", "--batch", "slips.csv"]);
  expect(slip).toMatchObject({ code: 1, out: "" });
  expect(slip.error).toContain('The prompt has no input "tpoic". Did you mean "topic"?');
  await writeFile(join(home, "gaps.csv"), 'do,topic\ntokens=1,"two\nlines"\n,rain\n');
  const gap = await promptd(["run", "directed", "--batch", "gaps.csv"]);
  expect(gap.error).toContain('1 of 2 rows cannot be run.\ngaps.csv:4: Text input "do" is required.\n');
  expect(gap.error).toContain("Nothing was run, and nothing was charged.");
  const twoTwice = ["key,do", "a1,x", '"a2","two', 'lines"', "a1,x", "a3,x", "a2,x", "a1,x"].join("\n");
  await writeFile(join(home, "twice.csv"), twoTwice);
  const twice = await promptd(["run", "directed", "--batch", "twice.csv"]);
  expect(twice.error).toBe(`twice.csv:5: The row in line 2 also has the key "a1".
twice.csv:7: The row in line 3 also has the key "a2".
twice.csv:8: The row in line 2 also has the key "a1".
Give each row a unique key. Nothing was sent, and nothing was charged.
`);
  await writeFile(join(home, "same.csv"), `key,do\n${"a1,x\n".repeat(30)}`);
  const same = (await promptd(["run", "directed", "--batch", "same.csv"])).error.split("\n");
  expect(same.slice(19)).toEqual([
    'same.csv:22: The row in line 2 also has the key "a1".',
    "and 9 more.",
    "Give each row a unique key. Nothing was sent, and nothing was charged.",
    "",
  ]);
  await writeFile(join(home, "many.csv"), `do,topic\n${",tea\n".repeat(30)}`);
  const many = await promptd(["run", "directed", "--batch", "many.csv", "-o", "size=1"]);
  expect(many.error).toContain('The prompt has no option "size".');
  const cut = await promptd(["run", "directed", "--batch", "many.csv"]);
  expect(cut.error).toContain("30 of 30 rows cannot be run.\nmany.csv:2: ");
  await writeFile(join(home, "latin1.csv"), Buffer.from("do,topic\ntokens=1,caf\u00e9\n", "latin1"));
  const latin1 = await promptd(["run", "directed", "--batch", "latin1.csv"]);
  expect(latin1.error).toContain("latin1.csv is not UTF-8 text.\nSave it as UTF-8");
  await writeFile(join(home, "none.csv"), "do\n");
  expect((await promptd(["run", "directed", "--batch", "none.csv"])).error).toContain("none.csv has no rows.");
  const strange = await promptd(["run", "directed", "--batch", "slips.csv", "--out", "results.xml"]);
  expect(strange).toMatchObject({ code: 1, out: "" });
  expect(strange.error).toContain('--out must end in .jsonl or .csv, got "results.xml".');
  await mkdir(join(home, "folder.csv"));
  const unwritable = { "none/results.csv": "its folder does not exist", "folder.csv": "it is a folder" };
  for (const [out, why] of Object.entries(unwritable)) {
    const { error } = await promptd(["run", "directed", "--batch", "one.csv", "--out", out]);
    expect(error).toContain(`${join(home, out)} cannot be written: ${why}.`);
    expect(error).toContain("\nNothing was run, and nothing was charged.\n");
  }
  expect(await caller.client.batches.list()).toEqual({ rows: [], hasMore: false });
});

test("on a terminal, it asks for confirmation first", async () => {
  await writeFile(join(home, "one.csv"), "do\ntokens=1\n");
  const terminal = { isOut: true, isError: true };
  const questions: string[] = [];
  const refused = await promptd(["run", "directed", "--batch", "one.csv"], { terminal, answer: "n", questions });
  await promptd(["run", "directed", "--batch", "one.csv", "--again"], { terminal, answer: "n", questions });
  expect(questions).toEqual(["Run what has not been run yet? [y/N] ", "Run them? [y/N] "]);
  expect(refused.code).toBe(1);
  expect(refused.error).toContain("Nothing was sent, and nothing was charged.");
  expect(await ranTimes()).toBe(0);
  const asked = await promptd(["run", "directed", "--batch", "one.csv"], { terminal, answer: "y" });
  expect(asked.code).toBe(0);
  expect(asked.out).toContain("finished  1 of 1 done");
  expect(asked.out).toContain("promptd batches results ");
});

test("a column named after an image slot contains URLs, or paths relative to the file", async () => {
  await writeFile(join(home, "cat.png"), Buffer.from(PNG, "base64"));
  await writeFile(join(home, "photos.csv"), "image:Photo\ncat.png\n@cat.png\n");
  const { code, out } = await promptd(["run", "portrait", "--batch", "photos.csv"]);
  expect(code).toBe(0);
  expect(linesOf(out).map(({ outputs }) => outputs[0]?.type)).toEqual(["image", "image"]);
  await writeFile(join(home, "wrong.csv"), "image:Foto\ncat.png\n");
  const wrong = await promptd(["run", "portrait", "--batch", "wrong.csv"]);
  expect(wrong.error).toContain('The prompt has no image "foto". Its images: Photo.');
  await writeFile(join(home, "near.csv"), "Portrait,Phot\ncat.png,cat.png\n");
  const near = await promptd(["run", "portrait", "--batch", "near.csv"]);
  expect(near.error).toContain('The prompt has no input "Portrait". Its inputs: Photo.');
  expect(near.error).toContain('The prompt has no input "Phot". Did you mean "Photo"?');
});

test("rows that were run with an earlier version of the prompt are not silently run again", async () => {
  const { accountId: authorId } = await server.createCaller();
  const text = PROMPT.replace("Directed", "Moving").replace("slug: directed", "slug: moving");
  await server.publish(text, { authorId });
  await writeFile(join(home, "move.csv"), "do\ntokens=1\n");
  expect((await promptd(["run", "moving", "--batch", "move.csv"])).code).toBe(0);
  await server.publish(`${text}.`, { authorId });
  const moved = await promptd(["run", "moving", "--batch", "move.csv"]);
  expect(moved.code).toBe(1);
  expect(moved.error).toContain("These rows were run with an earlier version of the prompt.");
  expect((await promptd(["run", "moving", "--batch", "move.csv", "--again"])).code).toBe(0);
});
