/**
 * What people and operators do with published prompts (votes, moderation, features, shares), and what authors see of
 * it.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pollUntil } from "../../src/platform/resilience/deadline.ts";
import { createTestPerson, type TestPerson } from "../people/people-fixture.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { bodyOf, errorOf, get, postRun } from "../wire/requests.ts";
import { imagePrompt, textPrompt } from "./prompt-files.ts";

let server: TestServer;
let author: TestPerson;
let operator: TestPerson;
beforeAll(async () => {
  const PROMPTD_MODELS_FILE = new URL("retiring-sandbox.json", import.meta.url).pathname;
  server = await startTestServer({ environment: { PROMPTD_MODELS_FILE } });
  [author, operator] = [await createTestPerson(server), await createTestPerson(server, { isOperator: true })];
  await server.app.db.query("update accounts set pro_until = 'infinity'");
});
afterAll(() => server.close());

async function published(source = textPrompt(), note?: string) {
  const { published: made } = await author.client.send("publishPromptFile", { body: { source, note } });
  const [prompt] = made;
  if (prompt === undefined) throw new Error("Nothing was published.");
  return prompt;
}

describe("votes", () => {
  test("count once per person and prompt, whichever account the person uses, and can be withdrawn", async () => {
    const { slug } = await published();
    const [ada, bob] = [await createTestPerson(server), await createTestPerson(server)];
    const text = "insert into account_members (account_id, person_id, role) values ($1, $2, 'member')";
    await server.app.db.query(text, [bob.accountId, ada.personId]);
    const vote = async (person: TestPerson, word: "up" | "none", account = person.accountId) =>
      person.client.request({
        method: "PUT",
        path: `/manage/v1/marketplace/${slug}/vote`,
        headers: { "promptd-account": account },
        body: { vote: word },
      });
    await Promise.all([vote(ada, "up"), vote(ada, "up"), vote(ada, "up", bob.accountId), vote(bob, "up")]);
    const shown = await ada.client.send("getMarketplacePrompt", { params: { slug } });
    expect([shown.upVotes, shown.vote]).toEqual([2, "up"]);
    await vote(ada, "none", bob.accountId);
    const after = await ada.client.send("getMarketplacePrompt", { params: { slug } });
    expect([after.upVotes, after.vote]).toEqual([1, "none"]);
    const absent = { method: "PUT", path: "/manage/v1/marketplace/absent/vote", body: { vote: "up" } } as const;
    expect((await ada.client.request(absent)).httpStatus).toBe(404);
  });
});

describe("moderation", () => {
  test("blocks a prompt, with a reason that its author sees, until it is allowed again", async () => {
    const { promptId, promptVersionId, slug } = await published();
    const { client } = await server.createCaller();
    const params = { promptId };
    const reason = "It asks for the data of other people.";
    const blocked = await operator.client.send("moderatePrompt", { params, body: { isBlocked: true, reason } });
    expect(blocked).toMatchObject({ state: "blocked", moderation: { reason } });
    expect((await postRun(client, bodyOf(promptVersionId, { topic: "x" }))).httpStatus).toBe(404);
    expect((await get(client, `/v1/prompt-slugs/${slug}`)).httpStatus).toBe(404);
    const own = await author.client.send("getPrompt", { params });
    expect(own).toMatchObject({ state: "blocked", moderation: { reason } });
    for (const [path, body] of [
      [`/manage/v1/prompts/${promptId}/republish`, undefined],
      ["/manage/v1/prompt-files", { source: own.source }],
      ["/manage/v1/prompt-files", { source: own.source.replace("Write about", "Write on") }],
      [`/manage/v1/prompts/${promptId}/roll-back`, { promptVersionId }],
    ] as const) {
      const answer = await author.client.request({ method: "POST", path, body });
      expect([path, answer.httpStatus]).toEqual([path, 422]);
      expect(errorOf(answer).message).toContain(reason);
    }
    await operator.client.send("moderatePrompt", { params, body: { isBlocked: false } });
    expect((await postRun(client, bodyOf(promptVersionId, { topic: "x" }))).httpStatus).toBe(200);
    expect((await author.client.send("getPrompt", { params })).moderation).toBeNull();
  });

  test("needs a reason, and a prompt that its author had unpublished stays unpublished", async () => {
    const { promptId } = await published();
    const params = { promptId };
    const path = `/manage/v1/system/prompts/${promptId}/moderation`;
    expect((await operator.client.request({ method: "PUT", path, body: { isBlocked: true } })).httpStatus).toBe(422);
    await author.client.send("unpublishPrompt", { params });
    await operator.client.send("moderatePrompt", { params, body: { isBlocked: true, reason: "Spam." } });
    expect(await operator.client.send("moderatePrompt", { params, body: { isBlocked: false } })).toMatchObject({
      state: "unpublished",
    });
  });

  test("leaves a prompt unpublished if its author unpublished it meanwhile", async () => {
    const { promptId } = await published();
    const params = { promptId };
    await operator.client.send("moderatePrompt", { params, body: { isBlocked: true, reason: "Spam." } });
    await author.client.send("unpublishPrompt", { params });
    expect(await operator.client.send("moderatePrompt", { params, body: { isBlocked: false } })).toMatchObject({
      state: "unpublished",
    });
  });

  test("lists prompts that were ever published, and no drafts", async () => {
    const { promptId } = await published(textPrompt({ title: "Listed for operators" }));
    const draft = await author.client.send("createDraft", { body: { source: textPrompt({ title: "Listed draft" }) } });
    await author.client.send("unpublishPrompt", { params: { promptId } });
    const { rows } = await operator.client.send("listModeratedPrompts", {
      query: { q: "listed", state: "unpublished" },
    });
    expect(rows).toMatchObject([{ promptId, title: "Listed for operators", accountId: author.accountId }]);
    const all = await operator.client.send("listModeratedPrompts", { query: { limit: 50 } });
    expect(all.rows.map((row) => row.promptId)).not.toContain(draft.promptId);
    const params = { promptId: draft.promptId };
    await expect(
      operator.client.send("moderatePrompt", { params, body: { isBlocked: true, reason: "x" } }),
    ).rejects.toMatchObject({ httpStatus: 404 });
  });

  test("features a prompt at the top of the marketplace, and sets its author's share", async () => {
    const { promptId, slug } = await published(imagePrompt({ fields: "tags: [blue]" }));
    const params = { promptId };
    await operator.client.send("featurePrompt", { params, body: { isFeatured: true } });
    const { rows } = await author.client.send("searchMarketplace", { query: { sort: "featured" } });
    expect(rows[0]).toMatchObject({ slug, isFeatured: true, tags: ["blue"] });
    const shared = await operator.client.send("setAuthorShare", { params, body: { percent: 40 } });
    expect(shared.authorSharePercent).toBe(40);
    expect(await author.client.send("getPrompt", { params })).toMatchObject({
      authorSharePercent: 40,
      isFeatured: true,
    });
    await operator.client.send("featurePrompt", { params, body: { isFeatured: false } });
    expect(await operator.client.send("setAuthorShare", { params, body: { percent: null } })).toMatchObject({
      isFeatured: false,
      authorSharePercent: null,
    });
  });

  test("shows an author by the account's name, which its owner changes and the audit log records", async () => {
    const { slug } = await published();
    const rename = (name: string) => author.client.send("updateAccount", { body: { name } });
    expect(await rename(" Studio Ada ")).toEqual({ accountId: author.accountId, name: "Studio Ada" });
    const { author: shown } = await author.client.send("getMarketplacePrompt", { params: { slug } });
    expect(shown).toBe("Studio Ada");
    for (const name of [" ", "Li\u202en", "Pay at https://evil.example", "WWW.evil.example", "x".repeat(101)])
      await expect(rename(name)).rejects.toMatchObject({ httpStatus: 422 });
    const query = { action: "updateAccount", accountId: author.accountId };
    const { rows } = await operator.client.send("listAudit", { query: { ...query, outcome: "success" } });
    expect(rows.map(({ personId, subject }) => [personId, subject])).toEqual([[author.personId, author.accountId]]);
  });

  test("adds a row to the audit log for every write, as drafts and publishing do", async () => {
    const { promptId } = await published();
    await author.client.send("saveDraft", { params: { promptId }, body: { source: "SECRET", revision: 0 } });
    await operator.client.send("featurePrompt", { params: { promptId }, body: { isFeatured: true } });
    const { rows } = await operator.client.send("listAudit", { query: { limit: 50 } });
    const about = rows.filter(({ subject }) => subject === promptId).map(({ action }) => action);
    expect(about.toSorted((a, b) => a.localeCompare(b))).toEqual(["featurePrompt", "publishPromptFile", "saveDraft"]);
    expect(JSON.stringify(rows)).not.toContain("SECRET");
  });
});

describe("use of a prompt", () => {
  test("is counted by version and day, for all callers, both before and after it is rolled up", async () => {
    const file = imagePrompt();
    const first = await published(file);
    const second = await published(file.replace("A blue square.", "A red square."));
    const { client } = await server.createCaller();
    for (const { promptVersionId } of [first, second, second]) {
      expect((await postRun(client, bodyOf(promptVersionId))).httpStatus).toBe(200);
    }
    const params = { promptId: first.promptId };
    const read = () => author.client.send("getPromptUsage", { params, query: { by: "version,day" } });
    const before = await read();
    expect(before.rows.map(({ version, runs, failed, credits }) => [version, runs, failed, credits])).toEqual([
      [2, 2, 0, 8],
      [1, 1, 0, 4],
    ]);
    await server.app.db.query("select usage_roll_up(1000, interval '0')");
    expect(await read()).toEqual(before);
    expect((await author.client.send("getPrompt", { params })).last30Days).toEqual({
      runs: 3,
      succeeded: 3,
      failed: 0,
      credits: 12,
    });
    const { rows } = await author.client.send("listVersions", { params });
    expect(rows.map(({ last30Days }) => last30Days.runs)).toEqual([2, 1]);
  });

  test("counts as failed for what the model could not do, but not for what it declined or what the caller did", async () => {
    const file = textPrompt();
    const { promptId, ...good } = await published(file);
    const versions = [good];
    for (const directive of ["refuse", "error=400", "delay=60000"]) {
      versions.push(await published(`${file}sandbox: ${directive}\n`));
    }
    const caller = await createTestPerson(server);
    await server.grant(caller.accountId, { amount: 100 });
    await server.app.db.query("update accounts set pro_until = 'infinity'");
    for (const { promptVersionId } of versions) {
      const body = { promptVersionId, inputs: { textInputs: { topic: "tea" } } };
      const { runId } = await caller.client.send("createRun", {
        body,
        headers: { prefer: "respond-async" },
      });
      const isSlow = promptVersionId === versions.at(-1)?.promptVersionId;
      if (isSlow) await caller.client.send("cancelRun", { params: { runId } });
      await pollUntil(async () => (await caller.client.send("getRun", { params: { runId } })).finishedAt, {
        everyMs: 20,
        timeoutMs: 10_000,
      });
    }
    const params = { promptId };
    const read = async () =>
      (await author.client.send("listVersions", { params })).rows.map(({ last30Days: { runs, succeeded, failed } }) => [
        runs,
        succeeded,
        failed,
      ]);
    const before = await read();
    expect(before).toEqual([
      [1, 0, 0],
      [1, 0, 1],
      [1, 0, 0],
      [1, 1, 0],
    ]);
    await server.app.db.query("select usage_roll_up(1000, interval '0')");
    expect(await read()).toEqual(before);
    expect((await author.client.send("getPrompt", { params })).last30Days).toMatchObject({
      runs: 4,
      succeeded: 1,
      failed: 1,
    });
  });

  test("is reported with the versions that use a model with a known end", async () => {
    const file = textPrompt();
    const { promptId, promptVersionId } = await published(file);
    await published(file.replace("model: sandbox/text", "model: sandbox/text-free"));
    const { endingModels } = await author.client.send("getPrompt", { params: { promptId } });
    const ending = { model: "sandbox/text", retiresAt: "2099-03-01", successor: "sandbox/text-free" };
    expect(endingModels).toEqual([{ promptVersionId, version: 1, isLatest: false, ...ending }]);
  });
});

describe("versions of a published prompt", () => {
  test("are listed for everybody with notes and labels, newest first, without templates", async () => {
    const file = textPrompt({ body: "HIDDEN {{ topic }}" });
    const { promptId, promptVersionId, slug } = await published(file, "The first.");
    await published(file.replace("HIDDEN", "HIDDEN too"), "Better.");
    const params = { promptId, label: "production" };
    await author.client.send("setLabel", { params, body: { promptVersionId } });
    const reader = await createTestPerson(server);
    const page = await reader.client.send("listMarketplaceVersions", { params: { slug } });
    expect(page.rows.map(({ version, note, labels, isLatest }) => [version, note, labels, isLatest])).toEqual([
      [2, "Better.", [], true],
      [1, "The first.", ["production"], false],
    ]);
    const shown = await reader.client.send("getMarketplacePrompt", { params: { slug } });
    expect(shown.labels).toEqual([{ label: "production", promptVersionId, version: 1 }]);
    expect(JSON.stringify([page, shown])).not.toContain("HIDDEN");
    const toAuthor = await author.client.send("getMarketplacePrompt", { params: { slug } });
    expect([shown.isOwn, toAuthor.isOwn]).toEqual([false, true]);
  });
});
