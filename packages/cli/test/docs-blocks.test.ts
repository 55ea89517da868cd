/** Every code block in the documentation is run, or checked as far as its language allows. An unknown new block fails. */
import { createHmac } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SCOPES } from "@promptd/contract";
import { setPlan } from "../../server/src/accounts/index.ts";
import { createTestPerson } from "../../server/test/people/people-fixture.ts";
import { COMPILE_CACHE } from "../../server/test/support/promptd-process.ts";
import { startTestServer, type TestServer } from "../../server/test/support/test-server.ts";
import { sign } from "../../server/test/webhooks/webhook-receiver.ts";
import { PAGES, readBlocks, readSavedFiles, ROOT, type Block } from "./docs/blocks.ts";
import { checkCsv, checkIni, checkJson, checkScrapeConfig, isScrapeConfig, promptFileOf } from "./docs/documents.ts";
import {
  openShell,
  portOf,
  runDocumented,
  runProgram,
  SAY_PORT,
  startProgram,
  stopPrograms,
  type Shell,
} from "./docs/programs.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const SECRET = `whsec_${Buffer.from("a secret of the documentation").toString("base64")}`;

/** Blocks that are not run, and why. Each entry is the beginning of a block. */
const NOT_RUN: Readonly<Record<string, string>> = {
  "npx promptd conform": "conform.test.ts runs the whole kit, which takes longer than all blocks",
};

const home = mkdtempSync(join(tmpdir(), "promptd-docs-"));
let server: TestServer;
let shell: Shell;
let environment: Record<string, string>;
let placeholders: readonly (readonly [RegExp, string])[];

const poem = (slug: string, more = "") => `---
promptd: 1
title: A poem about tea
slug: ${slug}
model: sandbox/text
inputs: { topic: {} }
${more}---
Write about {{ topic }}.
`;

beforeAll(async () => {
  server = await startTestServer({ environment: { PROMPTD_WEBHOOK_PRIVATE_ADDRESSES: "on" } });
  const person = await createTestPerson(server, { isOperator: true, email: "ada@example.org" });
  await createTestPerson(server, { email: "demo@promptd.invalid" });
  await setPlan(server.app.db, person.accountId, { plan: "pro", untilMs: null });
  const { apiKey, client } = await server.createKey(person.accountId);
  await server.grant(person.accountId, { amount: 100_000 });
  const { token } = await person.token(SCOPES);
  for (const slug of ["cat-poem", "summarize", "tea-label-poem"]) await server.publish(poem(slug));
  const { promptVersionId } = await server.publish(poem("a-poem-about-tea"));
  for (const slug of ["cat-portrait", "watercolor-portrait"]) {
    const portrait = poem(slug, "images: [{ label: Cat }]\n").replace("inputs: { topic: {} }\n", "");
    await server.publish(portrait.replace("{{ topic }}", "it"));
  }
  const { runId } = await client.run("cat-poem", { inputs: { topic: "tea" } });
  const { batchId } = await client.batches.create({
    promptVersionId,
    items: [{ inputs: { textInputs: { topic: "tea" } } }],
  });
  await client.batches.wait(batchId);
  const created = await person.client.send("createDraft", { body: {} });
  placeholders = [
    [/http:\/\/127\.0\.0\.1:8787|https:\/\/promptd\.example\.org/g, server.url],
    [/<the demo key>|pd_…/g, apiKey],
    [/pdm_…/g, token],
    [/<from the printed request>|<promptVersionId>|<the id it printed>|(?<="promptVersionId":")…/g, promptVersionId],
    [/RUN_ID/g, runId],
    [/BATCH_ID/g, batchId],
  ];
  environment = {
    HOME: home,
    PROMPTD_URL: server.url,
    PROMPTD_API_KEY: apiKey,
    PROMPTD_TOKEN: token,
    PROMPTD_DATA_DIR: join(home, "data"),
    PROMPTD_LOCAL_MODELS: "off",
    DATABASE_URL: server.databaseUrl,
    RUN_ID: runId,
    SERVER: server.url,
    AUTH: `Authorization: Bearer ${token}`,
    PROMPT: created.promptId,
    WEBHOOK_SECRET: SECRET,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    PYTHONPATH: join(ROOT, "python"),
    PYTHONPYCACHEPREFIX: join(home, "compiled"), // each program imports our client and must not write next to it
  };
  shell = await openShell(home);
});

afterAll(async () => {
  stopPrograms();
  await shell?.close();
  await server.close();
  rmSync(home, { recursive: true, force: true });
});

const SAMPLE = "samples: [{ inputs: { topic: frost } }]\n";

/** Files that a page expects in the folder where its commands run. */
function openFolder(page: string): string {
  const folder = join(home, page.replaceAll("/", "-"));
  mkdirSync(folder);
  for (const name of ["cat.png", "cat.jpg", "dog.png"]) writeFileSync(join(folder, name), Buffer.from(PNG, "base64"));
  for (const name of ["poem.prompt.md", "my.prompt.md"]) writeFileSync(join(folder, name), poem("tea-poem", SAMPLE));
  writeFileSync(join(folder, "frost.prompt.md"), poem("frost-poem", SAMPLE));
  writeFileSync(join(folder, "topics.csv"), "key,topic\na1,tea\n");
  writeFileSync(
    join(folder, "support.json"),
    JSON.stringify({ model: "gpt-5.2", instructions: "Help.", input: "Why?" }),
  );
  for (const { name, text } of readSavedFiles(page)) writeFileSync(join(folder, name), text);
  symlinkSync(join(ROOT, "examples"), join(folder, "examples"));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return folder;
}

function filled({ text }: Block): string {
  return placeholders.reduce((filling, [pattern, value]) => filling.replaceAll(pattern, value), text);
}

async function runShell(block: Block, folder: string): Promise<void> {
  const { code, output } = await shell.run(await ofOwnPrompt(filled(block)), folder, environment);
  expect(code, output).toBe(0);
  // curl exits with 0 whatever the server returns
  if (!block.text.includes("images.example.com")) expect(output).not.toMatch(/"status":"[A-Z_]+_ERROR"/);
}

/** What a page has read from a response: the published version. */
async function ofOwnPrompt(text: string): Promise<string> {
  const latest = "select latest_version_id as id from prompts where id = $1";
  const [own] = await server.app.db.query<{ id: string | null }>(latest, [environment["PROMPT"]]);
  return own?.id == null ? text : text.replaceAll("$VERSION", own.id);
}

/** What a page has shown before a block that is not a complete program. */
const CLIENT = `import { createClient } from "@promptd/client";
const client = createClient({ baseUrl: process.env.PROMPTD_URL, apiKey: process.env.PROMPTD_API_KEY });
const [runId, topics] = [process.env.RUN_ID, ["tea", "rain"]];
`;
const NODE = ["--conditions=promptd-source"];

async function runJavaScript(block: Block, folder: string): Promise<void> {
  const path = join(folder, `line-${block.line}.${block.language === "ts" ? "mts" : "mjs"}`);
  const text = filled(block);
  writeFileSync(path, text.includes("import {") ? text : CLIENT + text);
  if (text.includes("createServer(")) {
    return expectReceiver(startProgram(process.execPath, ["--import", SAY_PORT, path], folder, environment));
  }
  const { code, output } = await runProgram(process.execPath, [...NODE, path], folder, environment);
  expect(code, output).toBe(0);
}

const LISTENS = /HTTPServer\(\("127\.0\.0\.1", \d+\), (\w+)\)\.serve_forever\(\)/;

async function runPython(block: Block, folder: string): Promise<void> {
  const before =
    'import os\nfrom promptd import Client\nclient = Client(os.environ["PROMPTD_URL"], api_key=os.environ["PROMPTD_API_KEY"])\n';
  const text = filled(block);
  if (text.includes("HTTPServer(")) {
    const listening = text.replace(
      LISTENS,
      'server = HTTPServer(("127.0.0.1", 0), $1)\nprint(server.server_port, flush=True)\nserver.serve_forever()',
    );
    return expectReceiver(startProgram("python3", ["-c", listening], folder, environment));
  }
  const { code, output } = await runProgram(
    "python3",
    ["-c", /^(from|import) /.test(text) ? text : before + text],
    folder,
    environment,
  );
  expect(code, output).toBe(0);
}

/** A program that listens accepts signed requests and nothing else. */
async function expectReceiver(child: ReturnType<typeof startProgram>): Promise<void> {
  const url = `http://127.0.0.1:${await portOf(child)}/`;
  const event = {
    type: "payment.succeeded",
    payment: { id: `payment_${child.pid}`, email: "ada@example.org", amountCents: 5 },
  };
  const body = JSON.stringify({ ...event, data: {} });
  const headers = {
    ...sign(body, SECRET),
    "x-signature": createHmac("sha256", SECRET).update(body).digest("hex"),
  };
  const send = async (sent: Record<string, string>) =>
    (await fetch(url, { method: "POST", body, headers: sent })).status;
  expect(await send(headers)).toBe(204);
  expect([400, 401]).toContain(await send({ ...headers, "webhook-signature": "v1,AAAA", "x-signature": "00" }));
  expect([400, 401]).toContain(await send({}));
}

async function checkPromptFile(block: Block, folder: string): Promise<void> {
  const { name, text } = promptFileOf(block);
  writeFileSync(join(folder, name), text);
  const { code, output } = await runDocumented(["prompt", "check", name], { cwd: folder, env: environment, stdin: "" });
  expect(code, output).toBe(0);
}

const NOT_ALLOWED = "42501";
const NO_SUCH_ROLE = "42704";

/** Checks only the grammar: the test's database role may not create roles or databases. */
async function runSql(block: Block): Promise<void> {
  for (const statement of filled(block).replaceAll("promptd", `guide_${process.pid}`).split(/;\n/)) {
    const code = await server.app.db.query(statement).then(
      () => null,
      (error: { readonly code?: string }) => error.code,
    );
    expect([null, NOT_ALLOWED, NO_SUCH_ROLE], statement).toContain(code);
  }
}

type Runner = (block: Block, folder: string) => Promise<void> | void;

const RUNNERS: Readonly<Record<string, Runner>> = {
  sh: runShell,
  bash: runShell,
  js: runJavaScript,
  ts: runJavaScript,
  python: runPython,
  sql: runSql,
  json: (block) => void checkJson(block),
  csv: checkCsv,
  ini: checkIni,
  yaml: (block, folder) => (isScrapeConfig(block) ? checkScrapeConfig(block) : checkPromptFile(block, folder)),
  markdown: checkPromptFile,
  liquid: checkPromptFile,
};

/** Program output is not run: commands.test.ts checks the sessions in docs/cli.md, and examples check events. */
const PRINTED = new Set(["", "text"]);

const blocksOf = (page: string) => readBlocks(page).filter(({ language }) => !PRINTED.has(language));

describe.each(PAGES.filter((page) => blocksOf(page).length > 0))("%s", (page) => {
  let folder: string;
  beforeAll(async () => {
    folder = openFolder(page);
    // Each page gets a reader for whom its files' slugs are free.
    const rename =
      "update prompts set slug = id::text, own_slug = id::text where slug in ('tea-poem', 'frost-poem', 'haiku')";
    await server.app.db.query(rename);
  });
  test.each(blocksOf(page))("line $line holds: $language", async (block) => {
    const runner = RUNNERS[block.language];
    expect(runner, `Nothing here knows how to run "${block.language}".`).toBeDefined();
    if (!Object.keys(NOT_RUN).some((start) => block.text.startsWith(start))) await runner?.(block, folder);
  });
});
