/**
 * The sample of a prompt: a run that its author chose, public and stored with the prompt, and deleted when it is
 * replaced.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codeOf } from "../people/page-requests.ts";
import { createTestPerson, type TestPerson } from "../people/people-fixture.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { imagePrompt, textPrompt } from "./prompt-files.ts";

let server: TestServer;
let ada: TestPerson;
let bob: TestPerson;
beforeAll(async () => {
  server = await startTestServer({ environment: { PROMPTD_SIGN_UP_PLAN: "pro", PROMPTD_SIGN_UP_CREDITS: "1000" } });
  [ada, bob] = await Promise.all([createTestPerson(server), createTestPerson(server)]);
});
afterAll(() => server.close());

async function draftOf(source: string): Promise<string> {
  return (await ada.client.send("createDraft", { body: { source } })).promptId;
}

async function publishOwn(source: string): Promise<{ promptId: string; promptVersionId: string; slug: string }> {
  const promptId = await draftOf(source);
  const body = { revision: 1, baseVersionId: null };
  return ada.client.send("publishDraft", { params: { promptId }, body });
}

async function runOf({ client }: TestPerson, promptVersionId: string, topic?: string): Promise<string> {
  const inputs = { textInputs: topic === undefined ? {} : { topic } };
  const run = await client.send("createRun", { body: { promptVersionId, inputs } });
  expect(run.runStatus).toBe("succeeded");
  return run.runId;
}

const take = (promptId: string, runId: string, { client }: TestPerson = ada) =>
  client.send("setPromptSample", { params: { promptId }, body: { runId } });
const shownOf = async (slug: string) => (await bob.client.send("getMarketplacePrompt", { params: { slug } })).samples;
const liveFiles = () =>
  server.app.db.query<{ id: string }>("select id from files where kind = 'sample' and expires_at > promptd_now()");

describe("the sample of a prompt", () => {
  test("is a small public picture from a run of its author, and outlives the run's files", async () => {
    const { promptId, promptVersionId, slug } = await publishOwn(
      imagePrompt({ title: "Azure square study", fields: 'options: { size: "1024x1024" }' }),
    );
    const runId = await runOf(ada, promptVersionId);
    const { sample } = await take(promptId, runId);
    expect(sample).toMatchObject({ runId, output: { type: "image" } });
    await server.app.db.query("update files set expires_at = promptd_now() where kind = 'output'");
    const { outputs } = await shownOf(slug);
    const { rows } = await (await server.createCaller()).client.prompts.search("azure square study");
    expect(rows.find((row) => row.promptId === promptId)?.samples.outputs).toEqual(outputs);
    const picture = await fetch(outputs[0]?.data ?? "");
    expect([picture.status, picture.headers.get("content-type")]).toEqual([200, "image/webp"]);
    const { default: sharp } = await import("sharp");
    const { width, height } = await sharp(Buffer.from(await picture.arrayBuffer())).metadata();
    expect([width, height]).toEqual([1_024, 1_024]);
  });

  test("may come from a test run of the draft; when another run replaces it, its file is removed", async () => {
    const before = (await liveFiles()).length;
    const promptId = await draftOf(imagePrompt());
    const params = { promptId };
    const first = await ada.client.send("createTestRun", { params, body: { revision: 1 } });
    const second = await ada.client.send("createTestRun", { params, body: { revision: 1 } });
    await take(promptId, first.runId);
    await take(promptId, second.runId);
    expect(await liveFiles()).toHaveLength(before + 1);
    expect((await ada.client.send("getPrompt", { params })).sample?.runId).toBe(second.runId);
    await ada.client.send("deleteDraft", { params });
    expect(await liveFiles()).toHaveLength(before);
  });

  test("may be a video, unchanged", async () => {
    const source = imagePrompt({ title: "Crimson wheel study", model: "sandbox/video", fields: "options: {}" });
    const { promptId, promptVersionId, slug } = await publishOwn(source);
    const runId = await runOf(ada, promptVersionId);
    const { outputs: made } = await ada.client.send("getRun", { params: { runId } });
    const bytesOf = async (url = "") => Buffer.from(await (await fetch(url)).arrayBuffer());
    await take(promptId, runId);
    const [shown] = (await shownOf(slug)).outputs;
    expect([shown?.type, new URL(shown?.data ?? "").pathname.split(".").at(-1)]).toEqual(["video", "mp4"]);
    expect((await bytesOf(shown?.data)).equals(await bytesOf(made[0]?.data))).toBe(true);
    const part = await fetch(shown?.data ?? "", { headers: { range: "bytes=0-99" } });
    expect([part.status, part.headers.get("content-type")]).toEqual([206, "video/mp4"]);
  });

  test("of a prompt with steps is the output of its last step", async () => {
    const fields = "steps:\n  draft: { model: sandbox/text }\n  cover: { options: { size: 256x256 } }";
    const body = "<!-- step: draft -->\nSay something.\n<!-- step: cover -->\nA square for {{ steps.draft }}";
    const { promptId, promptVersionId, slug } = await publishOwn(imagePrompt({ fields, body }));
    await take(promptId, await runOf(ada, promptVersionId));
    expect((await shownOf(slug)).outputs).toMatchObject([{ type: "image" }]);
  });

  test("is a text with its inputs, and replaces the file's samples until its author removes it", async () => {
    const fields =
      'inputs: { topic: {} }\nsamples: [{ inputs: { topic: of the file }, outputs: ["As the file says."] }]';
    const { promptId, promptVersionId, slug } = await publishOwn(textPrompt({ fields }));
    const ofFile = await shownOf(slug);
    const runId = await runOf(ada, promptVersionId, "tea");
    await take(promptId, runId);
    const taken = await shownOf(slug);
    expect(taken).toMatchObject({
      inputs: { textInputs: { topic: "tea" }, imageInputs: [] },
      outputs: [{ type: "text" }],
    });
    expect(taken.outputs[0]?.data).toContain("tea");
    expect(await ada.client.send("deletePromptSample", { params: { promptId } })).toEqual({ sample: null });
    expect(await shownOf(slug)).toEqual(ofFile);
  });

  test("cannot be a run of another account or prompt, and nobody else can choose it", async () => {
    const { promptId, promptVersionId } = await publishOwn(textPrompt());
    const other = await publishOwn(textPrompt());
    const [own, foreign, elsewhere] = [
      await runOf(ada, promptVersionId, "own"),
      await runOf(bob, promptVersionId, "secret"),
      await runOf(ada, other.promptVersionId, "x"),
    ];
    expect(await codeOf(take(promptId, foreign))).toBe("NOT_FOUND_ERROR");
    expect(await codeOf(take(promptId, elsewhere))).toBe("NOT_FOUND_ERROR");
    expect(await codeOf(take(promptId, own, bob))).toBe("NOT_FOUND_ERROR");
    expect(await codeOf(bob.client.send("deletePromptSample", { params: { promptId } }))).toBe("NOT_FOUND_ERROR");
  });

  test("has no more text than a file's samples may have, since search shows it in each row", async () => {
    const { promptId, promptVersionId, slug } = await publishOwn(textPrompt());
    const before = await shownOf(slug);
    // The sandbox repeats about 6 KiB of these: neither inputs nor output are too long by themselves.
    const [long, short] = [
      await runOf(ada, promptVersionId, "x".repeat(60_000)),
      await runOf(ada, promptVersionId, "x".repeat(40_000)),
    ];
    const refusal = await take(promptId, long).catch(String);
    expect(refusal).toMatch(/contain 66,\d{3} bytes.+ may contain at most 65,536/);
    expect(await shownOf(slug)).toEqual(before);
    await take(promptId, short);
    expect((await shownOf(slug)).inputs.textInputs["topic"]?.length).toBe(40_000);
  });

  test("needs a picture that still exists", async () => {
    const { promptId, promptVersionId } = await publishOwn(imagePrompt());
    const runId = await runOf(ada, promptVersionId);
    const text = `update runs set outputs = json_build_array(json_build_object('type', 'image', 'data', $2::text)) where id = $1`;
    await server.app.db.query(text, [runId, `${server.url}/files/${runId}.png`]);
    await expect(take(promptId, runId)).rejects.toThrow(/file of this run has expired/);
  });
});
