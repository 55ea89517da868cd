/** GET /v1/prompts/:promptId and GET /v1/prompt-versions/:promptVersionId (specification, "Retrieve a prompt"). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { promptFile, textPrompt } from "../prompts/prompt-files.ts";
import { dataOf, errorOf, get, issuesOf, RANDOM_ID } from "./requests.ts";

let server: TestServer;
let caller: TestCaller;
beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller();
});
afterAll(() => server.close());

const byPrompt = (id: string, query = "") => get(caller.client, `/v1/prompts/${id}${query}`);
const byVersion = (id: string, query = "") => get(caller.client, `/v1/prompt-versions/${id}${query}`);

describe("a published prompt", () => {
  test("is answered with exactly promptVersionId, promptId, title, publishedAt and config, by either id", async () => {
    const { promptId, promptVersionId } = await server.publish(textPrompt({ title: "Tea poem" }));
    const data = dataOf(await byPrompt(promptId));
    expect(data).toEqual({
      promptVersionId,
      promptId,
      title: "Tea poem",
      publishedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      config: expect.any(Object),
    });
    expect(dataOf(await byVersion(promptVersionId))).toEqual(data);
    expect(await caller.client.promptVersions.get(promptVersionId)).toEqual(data);
  });

  test("returns its latest published version, or the version that versionId names", async () => {
    const { accountId: authorId } = await server.createCaller({ credits: 0 });
    const slug = "three-versions";
    const first = await server.publish(promptFile({ slug, title: "One" }), { authorId });
    const second = await server.publish(promptFile({ slug, title: "Two" }), { authorId });
    const { promptId } = first;
    const draft = await server.freezeDraft(promptFile({ slug, title: "Draft" }), { authorId, promptId });
    const title = async (versionId?: string) => (await caller.client.prompts.get(promptId, { versionId })).title;
    expect(await title()).toBe("Two");
    expect(await title(first.promptVersionId)).toBe("One");
    expect(await title(second.promptVersionId.toUpperCase())).toBe("Two");
    expect((await byVersion(first.promptVersionId)).httpStatus).toBe(200);
    expect((await byPrompt(promptId, `?versionId=${draft.promptVersionId}`)).httpStatus).toBe(404);
    expect((await byVersion(draft.promptVersionId)).httpStatus).toBe(404);
  });

  test("is readable when it makes videos", async () => {
    const { promptId } = await server.publish(promptFile({ model: "sandbox/video" }));
    expect(await caller.client.prompts.get(promptId)).toMatchObject({
      config: { modality: "video", output: { type: "video" } },
    });
  });

  test("keeps its publishedAt when a later version is published", async () => {
    const { accountId: authorId } = await server.createCaller({ credits: 0 });
    const first = await server.publish(promptFile({ slug: "kept", title: "One" }), { authorId });
    const before = await caller.client.promptVersions.get(first.promptVersionId);
    await server.publish(promptFile({ slug: "kept", title: "Two" }), { authorId });
    expect(await caller.client.promptVersions.get(first.promptVersionId)).toEqual(before);
  });
});

test("config describes every input, enough to build a form and a run, and mirrors the request", async () => {
  const fields = [
    "images: [{ label: Photo, description: One clear photo }]",
    "inputs:",
    "  topic: { description: What it is about, maxLength: 40 }",
    '  "7": {}',
    '  Child\'s Age: { default: "7", label: Age }',
    "  tone: { options: { Calm: HIDDEN, Loud: HIDDEN }, default: Calm }",
    "  style: { options: [A, B, C], multiple: { min: 1, max: 2 } }",
    '  note: { allowEmpty: true, default: "" }',
    "options: { quality: high }",
  ].join("\n");
  const body = '{{ topic }}{{ input["7"] }}{{ input["Child\'s Age"] }}{{ tone }}{{ style }}{{ note }}';
  const { promptId } = await server.publish(promptFile({ model: "sandbox/image", fields, body }));
  const { config } = await caller.client.prompts.get(promptId);
  const text = { type: "text", description: "", required: true, allowEmpty: false, default: null };
  const open = { maxLength: null, options: null, multiple: null };
  expect(config.textInputs).toEqual({
    topic: { ...text, ...open, position: 0, label: "topic", description: "What it is about", maxLength: 40 },
    7: { ...text, ...open, position: 1, label: "7" },
    "Child's Age": { ...text, ...open, position: 2, label: "Age", required: false, default: "7" },
    tone: {
      ...text,
      ...open,
      position: 3,
      type: "select",
      label: "tone",
      required: false,
      default: "Calm",
      options: ["Calm", "Loud"],
    },
    style: {
      ...text,
      ...open,
      position: 4,
      type: "select",
      label: "style",
      options: ["A", "B", "C"],
      multiple: { min: 1, max: 2 },
    },
    note: { ...text, ...open, position: 5, label: "note", required: false, default: "", allowEmpty: true },
  });
  expect(config).toMatchObject({
    imageInputs: [{ position: 0, label: "Photo", description: "One clear photo" }],
    imageCount: 1,
    model: "sandbox/image",
    modality: "image",
    runOptions: {
      quality: { default: "high", options: ["low", "medium", "high"] },
      size: { default: "512x512", options: ["256x256", "512x512", "1024x1024"] },
    },
    output: { type: "image" },
  });
  expect(config.inputSchema).toMatchObject({
    type: "object",
    properties: {
      textInputs: {
        required: ["topic", "7", "style"],
        properties: { topic: { type: "string", maxLength: 40, minLength: 1 } },
      },
      imageInputs: { minItems: 1, maxItems: 1 },
    },
    required: ["textInputs", "imageInputs"],
  });
  expect(JSON.stringify(config)).not.toContain("HIDDEN");
});

test("of a prompt without inputs the config holds empty members", async () => {
  const { promptId } = await server.publish(promptFile({ model: "sandbox/text-free" }));
  expect((await caller.client.prompts.get(promptId)).config).toMatchObject({
    textInputs: {},
    imageInputs: [],
    imageCount: 0,
    runOptions: {},
  });
});

describe("404", () => {
  test("is the answer to an unknown id, by either path", async () => {
    expect(errorOf(await byPrompt(RANDOM_ID))).toEqual({
      status: "NOT_FOUND_ERROR",
      message: `No published prompt has the id ${RANDOM_ID}.`,
      data: null,
    });
    expect(errorOf(await byVersion(RANDOM_ID))).toEqual({
      status: "NOT_FOUND_ERROR",
      message: `No published prompt version has the id ${RANDOM_ID}.`,
      data: null,
    });
  });

  test("is the answer to a version of another prompt", async () => {
    const [one, two] = [await server.publish(textPrompt()), await server.publish(textPrompt())];
    const answer = await byPrompt(one.promptId, `?versionId=${two.promptVersionId}`);
    expect(answer.httpStatus).toBe(404);
    expect(errorOf(answer).message).toBe(`No published version of this prompt has the id ${two.promptVersionId}.`);
  });

  test("is the answer once the prompt is unpublished, until it is published again", async () => {
    const { promptId, promptVersionId } = await server.publish(textPrompt());
    const statuses = async () =>
      (
        await Promise.all([
          byPrompt(promptId),
          byPrompt(promptId, `?versionId=${promptVersionId}`),
          byVersion(promptVersionId),
        ])
      ).map(({ httpStatus }) => httpStatus);
    expect(await statuses()).toEqual([200, 200, 200]);
    await server.unpublish(promptId);
    expect(await statuses()).toEqual([404, 404, 404]);
    await server.republish(promptId);
    expect(await statuses()).toEqual([200, 200, 200]);
  });

  test("does not confuse the two kinds of id, and says which one was given", async () => {
    const { promptId, promptVersionId } = await server.publish(textPrompt());
    const [ofPrompt, ofVersion] = [await byPrompt(promptVersionId.toUpperCase()), await byVersion(promptId)];
    expect([ofPrompt.httpStatus, ofVersion.httpStatus]).toEqual([404, 404]);
    expect(errorOf(ofPrompt).message).toBe(
      `No published prompt has the id ${promptVersionId}. It is the id of a version of the prompt ${promptId}.`,
    );
    expect(errorOf(ofVersion).message).toBe(
      `No published prompt version has the id ${promptId}. It is the id of a prompt whose latest version is ${promptVersionId}.`,
    );
    await server.unpublish(promptId);
    expect(errorOf(await byPrompt(promptVersionId)).message).toBe(`No published prompt has the id ${promptVersionId}.`);
    expect(errorOf(await byVersion(promptId)).message).toBe(`No published prompt version has the id ${promptId}.`);
  });
});

describe("422", () => {
  test.each(["cat", "%20", `${RANDOM_ID}0`])("is the answer to %s, which is no UUID", async (id) => {
    expect(issuesOf(await byPrompt(id))).toMatchObject([{ path: ["path", "promptId"], code: "invalid_uuid" }]);
    expect(issuesOf(await byVersion(id))).toMatchObject([{ path: ["path", "promptVersionId"], code: "invalid_uuid" }]);
  });

  test("quotes what was given", async () => {
    expect(errorOf(await byPrompt("cat")).message).toBe('promptId must be a UUID, got "cat".');
    expect(errorOf(await byVersion("v2")).message).toBe('promptVersionId must be a UUID, got "v2".');
  });

  test.each(["?versionId=", "?versionId=x", `?versionId=${RANDOM_ID}&versionId=${RANDOM_ID}`])(
    "is the answer to %s",
    async (query) => {
      const { promptId } = await server.publish(textPrompt());
      const answer = await byPrompt(promptId, query);
      expect(answer.httpStatus).toBe(422);
      expect(issuesOf(answer)).toMatchObject([{ path: ["query", "versionId"] }]);
    },
  );

  test("names the path and the query at once", async () => {
    const answer = await byPrompt("cat", "?versionId=dog");
    expect(issuesOf(answer).map(({ path }) => path.join("."))).toEqual(["path.promptId", "query.versionId"]);
  });
});

test("versionId means nothing to GET /v1/prompt-versions/:promptVersionId", async () => {
  const { promptVersionId } = await server.publish(textPrompt());
  const answer = await byVersion(promptVersionId, "?versionId=x");
  expect(answer.httpStatus).toBe(200);
  expect(answer.headers.get("x-ignored")).toBe("versionId");
});
