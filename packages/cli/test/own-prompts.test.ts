/** An author with a server: everything over HTTP with a management token, against a real server. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clientOf, createTestPerson, type TestPerson } from "../../server/test/people/people-fixture.ts";
import { startTestServer, type TestServer } from "../../server/test/support/test-server.ts";
import { runCommandHere } from "./run-here.ts";

let server: TestServer;
let ada: TestPerson;
let directory = "";
let env: Record<string, string> = {};
beforeAll(async () => {
  server = await startTestServer();
  ada = await createTestPerson(server);
  directory = await mkdtemp(join(tmpdir(), "promptd-author-"));
  const { token } = await ada.token(["prompts:read", "prompts:write"]);
  const { apiKey } = await server.createCaller();
  env = { HOME: directory, PROMPTD_URL: server.url, PROMPTD_TOKEN: token, PROMPTD_API_KEY: apiKey };
});
afterAll(async () => {
  await server.close();
  await rm(directory, { recursive: true });
});

const TEA = `---
promptd: 1
title: Tea poem
slug: tea-poem
model: sandbox/text
inputs:
  topic: {}
  tone: { options: [calm, bright], default: calm }
---
Write about {{ topic }}, {{ tone }}.
`;

const run = (...argv: string[]) => runCommandHere(argv, { env, directory });
const write = (name: string, text: string) => writeFile(join(directory, name), text);

describe("an author with a folder of prompts and a token", () => {
  test("checks and previews with the models of the server", async () => {
    await write("tea.prompt.md", TEA);
    const checked = await run("prompt", "check", "tea.prompt.md");
    expect(checked.stdout).toMatch(/^tea\.prompt\.md is fine: Tea poem \(sandbox\/text; /);
    expect((await run("prompt", "preview", "tea.prompt.md", "-i", "topic=rain")).stdout).toContain(
      "Write about rain, calm.",
    );
    await write("bad.prompt.md", TEA.replace("{{ topic }}", "{{ topik }}"));
    const bad = await run("prompt", "check", "bad.prompt.md");
    expect(bad.code).toBe(1);
    expect(bad.stdout).toContain("line 10, column 16, template: ");
    const slip = await run("prompt", "preview", "tea.prompt.md", "-i", "topik=rain");
    expect([slip.code, slip.stderr]).toEqual([
      1,
      'These have no effect: textInputs.topik\nText input "topic" is required. The prompt has no input "topik". Did you mean "topic"?\nSet an input with -i KEY=VALUE.\n',
    ]);
  });

  test("sees each fault of a rejected file on its own line", async () => {
    await write("faulty.prompt.md", TEA.replace("title:", "titel:").replace("{{ topic }}", "{{ topik }}"));
    const refused = await run("prompt", "publish", "faulty.prompt.md");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(
      /^faulty\.prompt\.md was not published:\n {2}line 2, title: .*\n {2}line 3, titel: .*\n/,
    );
  });

  test("pushes a draft, publishes it, and gets no new version for the same file", async () => {
    const pushed = await run("prompt", "push", "tea.prompt.md", "--write-id");
    expect(pushed.stdout).toMatch(/new +[0-9a-f-]{36} +1 +tea\.prompt\.md/);
    const text = await readFile(join(directory, "tea.prompt.md"), "utf8");
    expect(text).toMatch(/^---\npromptd: 1\nid: [0-9a-f-]{36}\n/);
    expect((await run("prompt", "list")).stdout).toMatch(/ draft +0 +- +0 +Tea poem\n$/);
    const first = await run("prompt", "publish", "tea.prompt.md", "--note", "First");
    expect(first.stdout).toMatch(/v1 {2}tea-poem {2}Tea poem\nPublished 1\.\n$/);
    expect(first.stderr).toContain("sandbox/text is a sandbox model");
    const again = await run("prompt", "publish", "tea.prompt.md");
    expect([again.stdout, again.stderr]).toEqual(["Published 0. Unchanged: 1.\n", ""]);
    const back = await run("prompt", "rollback", "tea-poem", "1");
    expect([back.code, back.stdout]).toEqual([
      0,
      "The latest version of tea-poem, 1, is already identical: nothing was published. There is no other version to roll back to.\n",
    ]);
  });

  test("sees what a changed file would change, publishes it, and rolls back", async () => {
    const text = await readFile(join(directory, "tea.prompt.md"), "utf8");
    await write("tea.prompt.md", text.replace("default: calm", "default: bright"));
    const diff = await run("prompt", "diff", "tea.prompt.md");
    expect(diff.stderr).toBe("");
    expect(diff.stdout).toContain('inputs.tone.default: "calm" -> "bright"');
    expect((await run("prompt", "publish", "tea.prompt.md")).stdout).toContain("v2  tea-poem");
    expect((await run("prompt", "rollback", "tea-poem", "1", "--note", "Calmer")).stdout).toBe(
      "Published version 3 of tea-poem, identical to version 1.\n",
    );
    expect((await run("prompt", "rollback", "tea-poem", "9")).stderr).toContain("The prompt has no version 9.");
  });

  test("labels a version, which callers run by slug@label", async () => {
    expect((await run("prompt", "label", "tea-poem", "production", "2")).stdout).toBe(
      "production of tea-poem is now version 2.\n",
    );
    expect((await run("prompt", "label", "tea-poem")).stdout).toMatch(/production +2 +[0-9a-f-]{36}\n$/);
    const answer = await run("run", "tea-poem@production", "topic=rain");
    expect([answer.code, answer.stdout]).toEqual([0, expect.stringContaining("Write about rain, bright.")]);
    expect((await run("run", "tea-poem", "topic=rain")).stdout).toContain("Write about rain, calm.");
    expect((await run("prompt", "label", "tea-poem", "production", "--delete")).stdout).toBe(
      "Deleted production of tea-poem.\n",
    );
    expect((await run("run", "tea-poem@production", "topic=rain")).stderr).toContain(
      'The prompt "tea-poem" has no label "production".',
    );
  });

  test("pulls one file and exports all, and overwrites none", async () => {
    expect((await run("prompt", "pull", "tea-poem")).stdout).toContain("title: Tea poem");
    expect((await run("prompt", "pull", "tea-pome")).stderr).toContain('Did you mean "tea-poem"?');
    await write("mine.prompt.md", "not saved yet");
    const refused = await run("prompt", "pull", "tea-poem", "--out", "mine.prompt.md");
    expect([refused.code, refused.stderr]).toEqual([
      1,
      "mine.prompt.md has different contents and was not overwritten.\nOverwrite it with --force, or pull to another file with --out.\n",
    ]);
    for (const argv of [["--force"], []]) {
      expect((await run("prompt", "pull", "tea-poem", "--out", "mine.prompt.md", ...argv)).code).toBe(0);
      expect(await readFile(join(directory, "mine.prompt.md"), "utf8")).toContain("title: Tea poem");
    }
    expect((await run("prompt", "export", "--out", "all")).stdout).toBe("all/tea-poem.prompt.md\nWrote 1.\n");
    expect(await readdir(join(directory, "all"))).toEqual(["tea-poem.prompt.md"]);
    const again = await run("prompt", "export", "--out", "all");
    expect([again.code, again.stderr]).toEqual([1, "all/tea-poem.prompt.md already exists and was not overwritten.\n"]);
  });

  test("does not overwrite a draft that somebody else has saved, unless forced", async () => {
    const text = await readFile(join(directory, "tea.prompt.md"), "utf8");
    const promptId = /^id: (.+)$/m.exec(text)?.[1] ?? "";
    expect((await run("prompt", "push", "tea.prompt.md")).code).toBe(0);
    const bob = await createTestPerson(server);
    const member = "insert into account_members (account_id, person_id, role) values ($1, $2, 'member')";
    await server.app.db.query(member, [ada.accountId, bob.personId]);
    const { source, draft } = await ada.client.send("getPrompt", { params: { promptId } });
    const body = { source: source.replace("Write about", "Sing of"), revision: draft?.revision ?? 0 };
    const ofAccount = clientOf(server, { cookie: bob.cookie, origin: server.url }, ada.accountId);
    await ofAccount.send("saveDraft", { params: { promptId }, body });
    const refused = await run("prompt", "push", "tea.prompt.md");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("tea.prompt.md was not saved: its prompt has another draft");
    expect((await run("prompt", "push", "tea.prompt.md", "--force")).stdout).toMatch(/draft +[0-9a-f-]{36} +3 /);
  });

  test("runs a draft's samples and tests on the server", async () => {
    await server.app.db.query("update accounts set pro_until = 'infinity' where id = $1", [ada.accountId]);
    const tests =
      "tests:\n  - { name: fits, inputs: { topic: rain }, expect: { contains: rain } }\n  - { name: fails, inputs: { topic: rain }, expect: { contains: snow } }\n";
    await write(
      "tested.prompt.md",
      TEA.replace("Tea poem", "Tested").replace("tea-poem", "tested").replace("inputs:", `${tests}inputs:`),
    );
    const { code, stdout, stderr } = await run("prompt", "test", "tested.prompt.md");
    expect(stdout, stderr).toMatch(/ok +Tested +fits +sandbox\/text/);
    expect(stdout).toMatch(/FAILED +Tested +fails +sandbox\/text/);
    expect([code, stdout.trim().split("\n").at(-1)]).toEqual([1, "1 passed, 1 failed."]);
  });

  test("pushes a file without an id to the same draft again, and publishes that draft", async () => {
    await write("rain.prompt.md", TEA.replace("Tea poem", "Rain poem").replace("tea-poem", "rain-poem"));
    const idOf = (text: string) => /[0-9a-f-]{36} +\d/.exec(text)?.[0];
    const first = await run("prompt", "push", "rain.prompt.md");
    const second = await run("prompt", "push", "rain.prompt.md");
    expect([first.stdout, second.stdout]).toEqual([expect.stringContaining("new "), expect.stringContaining("draft ")]);
    expect(idOf(second.stdout)?.slice(0, 36)).toBe(idOf(first.stdout)?.slice(0, 36));
    await run("prompt", "publish", "rain.prompt.md");
    expect((await run("prompt", "list")).stdout.match(/Rain poem/g)).toHaveLength(1);
    await write("torn.prompt.md", TEA.replace("{{ topic }}", "{{ topik }}"));
    expect((await run("prompt", "push", "torn.prompt.md")).stderr).toContain("or push with --write-id.");
  });

  test("learns what was published when the sample was not set", async () => {
    await write("sampled.prompt.md", TEA.replace("Tea poem", "Sampled").replace("tea-poem", "sampled"));
    const noRun = "019a2b10-7a44-7e90-8b1d-5c2f9e7d3b18";
    const published = await run("prompt", "publish", "sampled.prompt.md", "--sample-from", noRun);
    expect([published.code, published.stdout]).toEqual([
      1,
      expect.stringContaining("v1  sampled  Sampled\nPublished 1."),
    ]);
    expect(published.stderr).toMatch(/^The sample was not set: ./m);
  });

  test("learns which scope a token lacks", async () => {
    const reading = await ada.token(["prompts:read"]);
    env = { ...env, PROMPTD_TOKEN: reading.token };
    expect((await run("prompt", "publish", "tea.prompt.md")).stderr).toContain("with the scope prompts:write");
  });
});

test("with only an API key, an author command names both ways of working and what each needs", async () => {
  const { PROMPTD_TOKEN: _, ...withoutToken } = env;
  const own = { env: { ...withoutToken, PROMPTD_DATA_DIR: join(directory, "nowhere") }, directory };
  await write("mine.prompt.md", TEA);
  const hint = `For your account on a server: sign in with "promptd login", or set PROMPTD_TOKEN.
For the database of a server on this machine: set PROMPTD_DATA_DIR or DATABASE_URL to the server's value, and name the author with --author.
`;
  for (const argv of [["list"], ["pull", "tea-poem"], ["diff", "mine.prompt.md"]]) {
    const { code, stderr } = await runCommandHere(["prompt", ...argv], own);
    expect([code, stderr]).toEqual([
      1,
      `No management token is set (an API key is only for runs), and this machine has no server database.\n${hint}`,
    ]);
  }
  const published = await runCommandHere(["prompt", "publish", "mine.prompt.md"], own);
  expect([published.code, published.stderr]).toEqual([
    1,
    `No management token is set (an API key is only for runs), and --author is not given.\n${hint}`,
  ]);
  const listed = await runCommandHere(["prompt", "list", "--author", "ada@example.org"], own);
  expect(listed.stderr).toContain("contains no promptd database, and none was created.");
});

test("an author reads a warning that many published files share only once", async () => {
  await write("one.prompt.md", TEA.replaceAll(/tea/gi, "one"));
  await write("two.prompt.md", TEA.replaceAll(/tea/gi, "two"));
  const { token } = await ada.token(["prompts:write"]);
  const own = { env: { ...env, PROMPTD_TOKEN: token }, directory };
  const { stderr } = await runCommandHere(["prompt", "publish", "one.prompt.md", "two.prompt.md"], own);
  expect(stderr).toMatch(/^warning: one\.prompt\.md and 1 more: sandbox\/text is a sandbox model.*\n$/);
});
