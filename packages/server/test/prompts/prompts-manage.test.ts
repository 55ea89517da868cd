/** Publishing over the management API: drafts, versions, labels, rollbacks, test runs, and what others see of them. */
import type { OwnPrompt, PromptPublication } from "@promptd/contract/manage";
import { manageSchemas } from "@promptd/contract/manage/schemas";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { createTestPerson, type TestPerson } from "../people/people-fixture.ts";
import { dataOf, errorOf, get } from "../wire/requests.ts";
import { textPrompt } from "./prompt-files.ts";

let server: TestServer;
let ada: TestPerson;
let bob: TestPerson;
beforeAll(async () => {
  server = await startTestServer();
  [ada, bob] = await Promise.all([createTestPerson(server), createTestPerson(server)]);
  await server.app.db.query("update accounts set pro_until = 'infinity'");
});
afterAll(() => server.close());

const ABSENT = "00000000-0000-7000-8000-000000000000";
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const statusOf = async (promise: Promise<unknown>) =>
  promise.then(
    () => 200,
    (error: { httpStatus?: number }) => error.httpStatus,
  );

/** A published prompt of Ada with one version. */
async function published(source = textPrompt()): Promise<OwnPrompt> {
  const { promptId } = await ada.client.send("createDraft", { body: { source } });
  await ada.client.send("publishDraft", { params: { promptId }, body: { revision: 1, baseVersionId: null } });
  return ada.client.send("getPrompt", { params: { promptId } });
}

/** The next version, whose body is `body`. */
async function publishNext({ promptId, source, latest }: OwnPrompt, body: string, note?: string): Promise<OwnPrompt> {
  const changed = source.replace(/Write about.*/, body);
  await ada.client.send("saveDraft", { params: { promptId }, body: { source: changed, revision: 0 } });
  const baseVersionId = latest?.promptVersionId ?? null;
  await ada.client.send("publishDraft", { params: { promptId }, body: { revision: 1, baseVersionId, note } });
  return ada.client.send("getPrompt", { params: { promptId } });
}

describe("a draft", () => {
  test("starts as a file that can be published, and is listed as a draft", async () => {
    const { promptId, source } = await ada.client.send("createDraft", { body: {} });
    const check = await ada.client.send("checkPromptFile", { body: { source } });
    expect([check.faults, check.prompts[0]?.title, check.testRuns]).toEqual([[], "Untitled prompt", "free"]);
    const { rows } = await ada.client.send("listPrompts", { query: { state: "draft", q: "untitled" } });
    expect(rows[0]).toMatchObject({ promptId, state: "draft", slug: null, latest: null, versions: 0 });
    expect(rows[0]?.draft).toMatchObject({
      revision: 1,
      savedBy: expect.stringContaining("Person"),
      baseVersionId: null,
    });
    expect(await ada.client.send("deleteDraft", { params: { promptId } })).toEqual({ promptId, isPromptDeleted: true });
    expect(await statusOf(ada.client.send("getPrompt", { params: { promptId } }))).toBe(404);
  });

  test("keeps its title while another line of the file is invalid", async () => {
    const source = textPrompt({ title: "Room to watercolor" }).replace("title:", "inputs: {\ntitle:");
    const { promptId, title } = await ada.client.send("createDraft", { body: { source } });
    expect(title).toBe("Room to watercolor");
    await ada.client.send("deleteDraft", { params: { promptId } });
  });

  // A pattern that goes back and forth in such a text would stop the server for hours.
  test.each([
    ["spaces", " ".repeat(2 ** 19)],
    ["spaces after braces", `Hello {{ ${" ".repeat(2 ** 19)}.`],
    ["letters above a line with two colons", `promptd: 1\nx: ${"a".repeat(2 ** 19)}\ny: b: c\n`],
  ])("may be a long text that is not a prompt file, and is read in one pass: %s", async (_, source) => {
    const { promptId, title } = await ada.client.send("createDraft", { body: { source } });
    expect(title).toBe("Untitled prompt");
    expect((await ada.client.send("checkPromptFile", { body: { source } })).faults.length).toBeGreaterThan(0);
    await ada.client.send("deleteDraft", { params: { promptId } });
  });

  test("of many prompts is checked as a whole, and the answer is sent in pieces", async () => {
    const prompt = (n: number) => ({ title: `Prompt ${n}`, model: "sandbox/text", template: "Write about tea." });
    const source = JSON.stringify({ promptd: 1, prompts: Array.from({ length: 300 }, (_, n) => prompt(n)) });
    const answer = await ada.client.request({
      method: "POST",
      path: "/manage/v1/prompt-files/check",
      body: { source },
    });
    expect([answer.httpStatus, answer.headers.get("content-length")]).toEqual([200, null]);
    const { prompts, faults } = manageSchemas.checkPromptFile.data.parse(dataOf(answer));
    expect([prompts.length, prompts[299]?.title, faults]).toEqual([300, "Prompt 299", []]);
  });

  test("is not overwritten by an editor with an older revision", async () => {
    const { promptId } = await ada.client.send("createDraft", { body: {} });
    const save = (revision: number, source: string) =>
      ada.client.request({ method: "PUT", path: `/manage/v1/prompts/${promptId}/draft`, body: { source, revision } });
    expect((await save(1, "mine")).httpStatus).toBe(200);
    const late = await save(1, "yours");
    expect([late.httpStatus, errorOf(late).data]).toMatchObject([422, { issues: [{ code: "conflict" }] }]);
    expect((await save(0, "new")).httpStatus).toBe(422);
    expect(await ada.client.send("getPrompt", { params: { promptId } })).toMatchObject({
      source: "mine",
      draft: { revision: 2 },
    });
  });

  test("that is saved twice at once is saved once", async () => {
    const { promptId } = await ada.client.send("createDraft", { body: {} });
    const saves = Array.from({ length: 5 }, async (_, i) =>
      statusOf(ada.client.send("saveDraft", { params: { promptId }, body: { source: `text ${i}`, revision: 1 } })),
    );
    const statuses = await Promise.all(saves);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 422)).toHaveLength(4);
  });

  test("with faults reports each with line and column, and is not published", async () => {
    const source =
      "---\npromptd: 1\ntitle: Broken\nmodel: sandbox/text\ninputs: { topic: {} }\n---\nAbout {{ topic }} and {{ tone }}.\n";
    const { faults, message } = await ada.client.send("checkPromptFile", { body: { source } });
    expect(faults).toMatchObject([
      { line: 7, column: 26, code: "INPUT_UNDECLARED", excerpt: expect.stringContaining("tone") },
    ]);
    const { promptId } = await ada.client.send("createDraft", { body: { source } });
    const path = `/manage/v1/prompts/${promptId}/publish`;
    const answer = await ada.client.request({ method: "POST", path, body: { revision: 1, baseVersionId: null } });
    expect(answer.httpStatus).toBe(422);
    expect(errorOf(answer).data).toMatchObject({ issues: [{ path: ["body", "source"], message }] });
  });

  test("shows the exact messages of a run without calling a model", async () => {
    const source = textPrompt({ title: "Previewed" });
    const body = { source, textInputs: { topic: "tea" } };
    const preview = await ada.client.send("previewPromptFile", { body });
    expect(preview.steps[0]?.messages).toEqual([{ role: "user", text: "Write about tea.", images: [] }]);
    const wrong = await ada.client.send("previewPromptFile", { body: { source } });
    expect(wrong).toMatchObject({ steps: [], price: null, issues: [{ code: "required" }] });
  });

  test("is checked without an id that is not the author's, with a warning, no matter who has that id", async () => {
    const mine = await published();
    const theirs = await bob.client.send("createDraft", { body: { source: textPrompt() } });
    const check = async (id: string) => {
      const source = textPrompt().replace(/^---\n/, `---\nid: ${id}\n`);
      const { prompts } = await ada.client.send("checkPromptFile", { body: { source } });
      return prompts.map(({ promptId, warnings }) => [promptId, ...warnings.filter((one) => one.includes(" the id "))]);
    };
    const unknown = (id: string) =>
      `This author has no prompt with the id ${id}, so that id is ignored. Put the id of your prompt in the file, or remove the "id:" line.`;
    expect(await check(mine.promptId)).toEqual([[mine.promptId]]);
    expect(await check(theirs.promptId)).toEqual([[null, unknown(theirs.promptId)]]);
    expect(await check(ABSENT)).toEqual([[null, unknown(ABSENT)]]);
  });

  test("adds no row to the audit log when it is checked or shown, since that is not a write", async () => {
    const body = { source: textPrompt({ title: "Looked at" }) };
    await ada.client.send("checkPromptFile", { body });
    await ada.client.send("previewPromptFile", { body: { ...body, textInputs: { topic: "tea" } } });
    const text = "select action from audit_entries where action in ('checkPromptFile', 'previewPromptFile')";
    expect(await server.app.db.query(text)).toEqual([]);
  });
});

describe("publishing", () => {
  test("makes versions with notes, and none for a draft with the same content", async () => {
    const first = await published();
    expect(first).toMatchObject({ state: "published", versions: 1, draft: null, latest: { version: 1, note: null } });
    const second = await publishNext(first, "Write a poem about {{ topic }}.", "A poem.");
    expect(second).toMatchObject({ versions: 2, slug: first.slug, latest: { version: 2, note: "A poem." } });
    const { promptId, source } = second;
    const withComment = source.replace("promptd: 1", "# for the editor\npromptd: 1");
    await ada.client.send("saveDraft", { params: { promptId }, body: { source: withComment, revision: 0 } });
    const body = { revision: 1, baseVersionId: second.latest?.promptVersionId ?? null };
    const same = await ada.client.send("publishDraft", { params: { promptId }, body });
    expect(same).toMatchObject({ outcome: "unchanged", version: 2 });
    const after = await ada.client.send("getPrompt", { params: { promptId } });
    expect([after.versions, after.source, after.draft]).toEqual([2, withComment, null]);
    const { rows } = await ada.client.send("listVersions", { params: { promptId } });
    expect(rows.map(({ version, note, isLatest }) => [version, note, isLatest])).toEqual([
      [2, "A poem.", true],
      [1, null, false],
    ]);
    const { promptVersionId = "" } = rows[1] ?? {};
    const old = await ada.client.send("getVersion", { params: { promptId, promptVersionId } });
    expect(old.source).toBe(first.source);
  });

  test("is rejected when another version was published since the draft was compared", async () => {
    const first = await published();
    const { promptId } = first;
    await publishNext(first, "Write two lines about {{ topic }}.");
    await ada.client.send("saveDraft", { params: { promptId }, body: { source: first.source, revision: 0 } });
    const path = `/manage/v1/prompts/${promptId}/publish`;
    const body = { revision: 1, baseVersionId: first.latest?.promptVersionId };
    const answer = await ada.client.request({ method: "POST", path, body });
    expect(errorOf(answer).data).toMatchObject({ issues: [{ code: "conflict", path: ["body", "baseVersionId"] }] });
  });

  test("one draft by two people at once makes one version", async () => {
    const { promptId } = await ada.client.send("createDraft", { body: { source: textPrompt() } });
    const body = { revision: 1, baseVersionId: null };
    const both = [1, 2].map(async () => statusOf(ada.client.send("publishDraft", { params: { promptId }, body })));
    const statuses = await Promise.all(both);
    expect([statuses.includes(200), statuses.includes(422)]).toEqual([true, true]);
    expect((await ada.client.send("getPrompt", { params: { promptId } })).versions).toBe(1);
  });

  test("a whole file is the same: once published, it is unchanged", async () => {
    const source = textPrompt({ title: "By file" });
    const send = () => ada.client.send("publishPromptFile", { body: { source, note: "From CI." } });
    const [first, again] = [await send(), await send()];
    expect([first.published[0]?.outcome, again.published[0]?.outcome]).toEqual(["created", "unchanged"]);
    expect(again.published[0]?.promptVersionId).toBe(first.published[0]?.promptVersionId);
  });

  test("a file with the id of another account's draft or prompt, or an unknown id, gets the same response and takes over no prompt", async () => {
    const [prompt, draft] = [await published(), await ada.client.send("createDraft", { body: {} })];
    const publishAs = async (promptId: string) => {
      const carl = await createTestPerson(server);
      const source = textPrompt({ title: "Moved", slug: `moved-${promptId}` }).replace(
        "title:",
        `id: ${promptId}\ntitle:`,
      );
      const answer = await carl.client.request({
        method: "POST",
        path: "/manage/v1/prompt-files",
        body: { source },
      });
      const [made] = (dataOf(answer) as { published: PromptPublication[] }).published;
      return { made, text: answer.text.replaceAll(promptId, "NAMED").replaceAll(UUID, "NEW") };
    };
    const [ofPrompt, ofDraft, ofNothing] = [
      await publishAs(prompt.promptId),
      await publishAs(draft.promptId),
      await publishAs(ABSENT),
    ];
    expect([ofPrompt.text, ofDraft.text]).toEqual([ofNothing.text, ofNothing.text]);
    expect(ofNothing.made?.warnings.join()).toContain(`This author has no prompt with the id ${ABSENT}`);
    for (const promptId of [prompt.promptId, draft.promptId]) {
      expect((await ada.client.send("getPrompt", { params: { promptId } })).versions).toBeLessThan(2);
    }
  });

  test("a slug reserved for drafts is never assigned", async () => {
    const draft = await ada.client.send("createDraft", { body: {} });
    const slugAs = async (promptId: string) => {
      const source = textPrompt({ slug: `draft-${promptId}` });
      const { published: made } = await bob.client.send("publishPromptFile", { body: { source } });
      return made[0]?.slug.replace(promptId, "NAMED") ?? "";
    };
    expect(await slugAs(draft.promptId)).toBe(await slugAs(ABSENT));
  });

  test("a file with an id that is not the account's publishes the draft with its title, like a file without an id", async () => {
    const source = textPrompt({ title: "Moved here" });
    const { promptId } = await ada.client.send("createDraft", { body: { source } });
    const named = source.replace("title:", `id: ${ABSENT}\ntitle:`);
    const [first, again] = [
      await ada.client.send("publishPromptFile", { body: { source: named } }),
      await ada.client.send("publishPromptFile", { body: { source: named } }),
    ];
    expect(first.published).toMatchObject([{ promptId, outcome: "created" }]);
    expect(again.published).toMatchObject([{ promptId, outcome: "unchanged" }]);
  });

  test("a file that is also the draft deletes the draft, but keeps a draft with other content", async () => {
    const file = textPrompt({ title: "Pushed" });
    const { promptId } = await ada.client.send("createDraft", { body: { source: file } });
    const draft = async () => (await ada.client.send("getPrompt", { params: { promptId } })).draft;
    const source = file.replace("title:", `id: ${promptId}\ntitle:`);
    await ada.client.send("publishPromptFile", { body: { source } });
    expect(await draft()).toBeNull();
    const save = { source: source.replace("Write about", "Sing of"), revision: 0 };
    await ada.client.send("saveDraft", { params: { promptId }, body: save });
    await ada.client.send("publishPromptFile", { body: { source: source.replace("Write about", "Speak of") } });
    expect(await draft()).toMatchObject({ revision: 1 });
  });

  test("two prompts with the same title in one file makes two prompts, even if a draft has that title too", async () => {
    await ada.client.send("createDraft", { body: { source: textPrompt({ title: "Twins" }) } });
    const twin = { title: "Twins", description: "One of two.", model: "sandbox/text", template: "Say {{ topic }}." };
    const source = JSON.stringify({ promptd: 1, prompts: [twin, { ...twin, template: "Sing {{ topic }}." }] });
    const { published: made } = await ada.client.send("publishPromptFile", { body: { source } });
    expect(new Set(made.map(({ promptId }) => promptId)).size).toBe(2);
    expect(made.map(({ outcome }) => outcome)).toEqual(["created", "created"]);
  });

  test("can be undone and repeated, and can roll back to an old version", async () => {
    const first = await published();
    const { promptId, slug } = first;
    const { client } = await server.createCaller();
    const resolve = () => get(client, `/v1/prompt-slugs/${slug ?? ""}`);
    expect((await resolve()).httpStatus).toBe(200);
    const gone = await ada.client.send("unpublishPrompt", { params: { promptId } });
    expect([gone.state, (await resolve()).httpStatus]).toEqual(["unpublished", 404]);
    const back = await ada.client.send("republishPrompt", { params: { promptId } });
    expect([back.state, (await resolve()).httpStatus]).toEqual(["published", 200]);
    await publishNext(first, "Write worse about {{ topic }}.");
    const promptVersionId = first.latest?.promptVersionId ?? "";
    const body = { promptVersionId, note: "The poem was worse." };
    expect(await ada.client.send("rollBackPrompt", { params: { promptId }, body })).toMatchObject({
      version: 3,
      outcome: "changed",
    });
    const now = await ada.client.send("getPrompt", { params: { promptId } });
    expect([now.source, now.latest?.note]).toEqual([first.source, "The poem was worse."]);
  });
});

describe("what differs", () => {
  test("between versions and the draft is listed by field, with what would break callers", async () => {
    const first = await published();
    const { promptId } = first;
    const source = first.source
      .replace("{ topic: {} }", "{ topic: { maxLength: 20 }, tone: {} }")
      .replace("Write about {{ topic }}.", "Write about {{ topic }}, {{ tone }}.");
    await ada.client.send("saveDraft", { params: { promptId }, body: { source, revision: 0 } });
    const diff = await ada.client.send("diffPrompt", { params: { promptId } });
    expect(diff.isSame).toBe(false);
    expect(diff.texts[0]?.lines.map(({ kind }) => kind)).toEqual(["removed", "added"]);
    expect(diff.conflicts.map(({ kind, name }) => [kind, name])).toEqual([
      ["input_required", "tone"],
      ["value_refused", "topic"],
    ]);
    const from = first.latest?.promptVersionId ?? "";
    expect((await ada.client.send("diffPrompt", { params: { promptId }, query: { from, to: from } })).isSame).toBe(
      true,
    );
  });
});

describe("a label", () => {
  test("points callers to a version, can be moved, and is gone when it is deleted", async () => {
    const first = await published();
    const { promptId, slug } = first;
    const second = await publishNext(first, "Write more about {{ topic }}.");
    const [one = "", two = ""] = [first.latest?.promptVersionId, second.latest?.promptVersionId];
    const { client } = await server.createCaller();
    const resolve = async (label: string | null) => {
      const query = label === null ? {} : { label };
      const { data } = await client.call("resolveSlug", { params: { slug: slug ?? "" }, query });
      return data.promptVersionId;
    };
    const set = (promptVersionId: string) =>
      ada.client.send("setLabel", { params: { promptId, label: "production" }, body: { promptVersionId } });
    expect((await set(one)).labels).toEqual([{ label: "production", promptVersionId: one, version: 1 }]);
    expect([await resolve(null), await resolve("latest"), await resolve("production")]).toEqual([two, two, one]);
    await set(two);
    expect(await resolve("production")).toBe(two);
    await ada.client.send("deleteLabel", { params: { promptId, label: "production" } });
    const gone = await get(client, `/v1/prompt-slugs/${slug ?? ""}?label=production`);
    const absent = await get(client, `/v1/prompt-slugs/absent?label=production`);
    expect([gone.httpStatus, errorOf(gone).message.replace(slug ?? "", "absent")]).toEqual([
      404,
      errorOf(absent).message,
    ]);
    const foreign = await published();
    expect(await statusOf(set(foreign.latest?.promptVersionId ?? ""))).toBe(404);
    const path = `/manage/v1/prompts/${promptId}/labels/latest`;
    expect((await ada.client.request({ method: "PUT", path, body: { promptVersionId: one } })).httpStatus).toBe(422);
  });
});
