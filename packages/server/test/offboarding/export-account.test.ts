/**
 * The export of an account: one archive with everything, readable by other programs, and nothing from other accounts.
 */
import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { writeTar, type TarEntry } from "../../src/offboarding/tar.ts";
import { auditedFetch } from "../files/audited-fetch.ts";
import { createTestPerson, type TestPerson } from "../people/people-fixture.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

const PROMPT =
  "---\npromptd: 1\ntitle: Echo\nmodel: sandbox/text\ninputs: { ask: {} }\n---\nTemplate of Ada {{ ask }}\n";
const PICTURE = "---\npromptd: 1\ntitle: Picture\nmodel: sandbox/image\n---\nA fox\n";

let server: TestServer;
let ada: TestPerson;
beforeAll(async () => {
  server = await startTestServer();
  ada = await createTestPerson(server, { email: "ada@example.org" });
});
afterAll(() => server.close());

async function unpack(bytes: Uint8Array): Promise<Map<string, Buffer>> {
  const folder = await mkdtemp(join(tmpdir(), "promptd-export-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "archive.tar.gz"), bytes);
  execFileSync("tar", ["xzf", "archive.tar.gz"], { cwd: folder });
  const names = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((one) => one.isFile());
  const files = names.map(async (one): Promise<[string, Buffer]> => {
    const path = join(one.parentPath, one.name);
    return [path.slice(folder.length + 1), await readFile(path)];
  });
  return new Map(await Promise.all(files));
}

const download = (person: TestPerson, path: string) =>
  auditedFetch(server.url + path, { headers: { cookie: person.cookie } });

test("contains the account, its prompts, runs, journal, and files, and no secret", async () => {
  const { accountId } = ada;
  await server.grant(accountId, { amount: 500 });
  await server.app.db.query("update accounts set pro_until = 'infinity' where id = $1", [accountId]);
  const key = await server.createKey(accountId, { name: "laptop" });
  const { token } = await ada.token(["runs:read"]);
  const { promptVersionId, slug } = await server.publish(PROMPT, { authorId: accountId });
  const picture = await server.publish(PICTURE);
  const other = await server.createCaller();
  const theirs = { promptVersionId, inputs: { textInputs: { ask: "the other caller's words" } } };
  await other.client.runs.create(theirs);
  for (let i = 0; i < 3; i += 1) {
    await key.client.runs.create({ promptVersionId, inputs: { textInputs: { ask: `mine ${i}` } } });
  }
  const ask = { ask: "in a batch" };
  const { batchId } = await key.client.runBatch(promptVersionId, [{ inputs: ask, key: "k0" }, { inputs: ask }], {
    name: "two",
  });
  const image = await key.client.runs.create({ promptVersionId: picture.promptVersionId, inputs: {} });
  const body = { url: "https://receiver.example.org/events", events: ["run.finished" as const] };
  const webhook = await ada.client.send("createWebhook", { body });
  const { deliveryId } = await ada.client.send("testWebhook", { params: { webhookId: webhook.webhookId } });
  const response = await download(ada, `/manage/v1/account/export?account=${accountId}`);
  expect([response.status, response.headers.get("content-type"), response.headers.get("content-disposition")]).toEqual([
    200,
    "application/gzip",
    `attachment; filename="promptd-${accountId}.tar.gz"`,
  ]);
  const files = await unpack(await response.bytes());
  const text = (name: string) => files.get(name)?.toString() ?? "";
  const lines = (name: string) =>
    text(name)
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(JSON.parse(text("account.json"))).toMatchObject({
    account: { accountId, email: "ada@example.org", plan: "pro", planUntil: null },
    members: [{ email: "ada@example.org", role: "owner" }],
    keys: [{ name: "laptop" }],
    credits: { posted: expect.any(Number) },
    webhooks: [{ webhookId: webhook.webhookId, url: body.url }],
  });
  expect(lines("deliveries/0001.jsonl")).toMatchObject([
    { deliveryId, webhookId: webhook.webhookId, state: "pending" },
  ]);
  expect(text(`prompts/${slug}/v1.json`)).toContain("Template of Ada");
  expect(lines("runs/0001.jsonl").map(({ runStatus }) => runStatus)).toEqual(Array(6).fill("succeeded"));
  expect(lines("batches/0001.jsonl")).toMatchObject([
    { batchId, name: "two", batchStatus: "finished", index: 0, key: "k0", runId: expect.any(String), inputs: null },
    { batchId, index: 1, key: null, runId: expect.any(String), error: null },
  ]);
  expect(lines("journal/0001.jsonl").at(-1)).toMatchObject({ kind: "grant", amount: 500 });
  const [file] = lines("files/list.jsonl");
  expect(file).toMatchObject({ runId: image.runId, kind: "output", mediaType: "image/png" });
  const shown = await fetch(image.outputs[0]?.data ?? "");
  expect(files.get(String(file?.["name"]))?.equals(Buffer.from(await shown.bytes()))).toBe(true);
  const everything = [...files].map(([name, bytes]) => name + bytes.toString("latin1")).join("\n");
  for (const secret of [key.apiKey, token, webhook.secret, "the other caller's words"])
    expect(everything).not.toContain(secret);
});

test("is available to operators for any account, and to nobody else", async () => {
  const operator = await createTestPerson(server, { isOperator: true });
  const path = `/manage/v1/accounts/${ada.accountId}/export`;
  const files = await unpack(await (await download(operator, path)).bytes());
  expect(files.has("README.txt")).toBe(true);
  const eve = await createTestPerson(server);
  expect((await download(eve, path)).status).toBe(401);
  expect((await download(eve, `/manage/v1/account/export?account=${ada.accountId}`)).status).toBe(404);
  const absent = "019a2b10-7a44-7e90-8b1d-5c2f9e7d3b18";
  expect((await download(operator, `/manage/v1/accounts/${absent}/export`)).status).toBe(404);
});

test("leaves a row in the audit log: by whom, of which account, and with what outcome", async () => {
  const operator = await createTestPerson(server, { isOperator: true });
  const bob = await createTestPerson(server);
  const path = `/manage/v1/accounts/${bob.accountId}/export`;
  await (await download(operator, path)).bytes();
  await (await download(bob, `/manage/v1/account/export?account=${bob.accountId}`)).bytes();
  await download(bob, path);
  const actionsOf = async (personId: string) => {
    const { rows } = await operator.client.send("listAudit", { query: { personId } });
    const exports = rows.filter(({ action }) => action !== "welcome"); // as they signed in
    return exports.map(({ action, subject, outcome }) => [action, subject, outcome]);
  };
  expect(await actionsOf(operator.personId)).toEqual([["exportAccountOf", bob.accountId, "SUCCESS"]]);
  expect(await actionsOf(bob.personId)).toEqual([
    ["exportAccountOf", bob.accountId, "UNAUTHORIZED_ERROR"],
    ["exportAccount", null, "SUCCESS"],
  ]);
});

test("an archive unpacks to what was put in, with long paths and content of any size", async () => {
  const long = `${"folder/".repeat(20)}${"n".repeat(90)}.txt`;
  const contents = new Map([
    ["empty", Buffer.alloc(0)],
    ["block", Buffer.alloc(512, 1)],
    [long, Buffer.from("long")],
  ]);
  async function* entries(): AsyncGenerator<TarEntry> {
    for (const [name, bytes] of contents) yield { name, size: bytes.length, content: [bytes] };
  }
  const folder = await mkdtemp(join(tmpdir(), "promptd-tar-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const parts: Uint8Array[] = [];
  for await (const part of writeTar(entries(), 0)) parts.push(part);
  await writeFile(join(folder, "a.tar"), Buffer.concat(parts));
  execFileSync("tar", ["xf", "a.tar"], { cwd: folder });
  for (const [name, bytes] of contents) expect((await readFile(join(folder, name))).equals(bytes)).toBe(true);
  async function* lying(): AsyncGenerator<TarEntry> {
    yield { name: "a", size: 3, content: [Buffer.from("four")] };
  }
  await expect(async () => {
    for await (const part of writeTar(lying(), 0)) parts.push(part);
  }).rejects.toThrow("a has 4 bytes, 3 were announced.");
});
