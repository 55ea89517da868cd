/** The shape stage: everything about a body that can be decided without the database, all problems at once. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { textPrompt } from "../prompts/prompt-files.ts";
import { errorOf, issueLines, issuesOf, postRun, RANDOM_ID, runOf } from "./requests.ts";

let server: TestServer;
let caller: TestCaller;
let promptVersionId = "";

beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller();
  ({ promptVersionId } = await server.publish(textPrompt()));
});
afterAll(() => server.close());

const post = (body: unknown) => postRun(caller.client, body);
const withText = (topic: unknown) => post({ promptVersionId, inputs: { textInputs: { topic } } });

describe("the body", () => {
  test.each([
    ["an array", "[]"],
    ["a string", '"x"'],
    ["a number", "7"],
    ["null", "null"],
  ])("that is %s is 422 invalid_type", async (what, body) => {
    const answer = await post(body);
    expect(answer.httpStatus).toBe(422);
    expect(issuesOf(answer)).toEqual([
      { path: ["body"], code: "invalid_type", message: `The request body must be a JSON object, got ${what}.` },
    ]);
  });

  test.each(["", "{}"])("that is empty (%j) lists every missing field", async (body) => {
    const answer = await post(body);
    expect(answer.httpStatus).toBe(422);
    expect(issueLines(answer)).toEqual(["required body.promptVersionId", "required body.inputs"]);
    expect(errorOf(answer).message).toBe("promptVersionId is required. inputs is required.");
  });

  test.each([
    [{ input: {} }, 'inputs is required. "input" is not recognized.'],
    [{ inputs: { topic: "tea" } }, 'Text input "topic" is required. "inputs.topic" is not recognized.'],
    [
      { inputs: { textInput: {} }, a: 1, b: 2, c: 3 },
      'Text input "topic" is required. "a", "b", "c" are not recognized.',
    ],
    [
      { inputs: { textInputs: { Topic: "" } } },
      'Text input "topic" is required. The prompt has no input "Topic". Did you mean "topic"?',
    ],
  ])("that lacks something names the unknown members that it has: %j", async (fields, message) => {
    const answer = await post({ promptVersionId, ...fields });
    expect(answer.httpStatus).toBe(422);
    expect(errorOf(answer).message).toBe(message);
  });

  test("that is not JSON is 400 with the position", async () => {
    const answer = await post('{"promptVersionId": }');
    expect(answer.httpStatus).toBe(400);
    expect(errorOf(answer)).toMatchObject({ status: "BAD_REQUEST_ERROR", data: null });
    expect(errorOf(answer).message).toMatch(/^The request body is not valid JSON: .* at position \d+\.$/);
  });

  test("that is a form upload is 400 and says what to send", async () => {
    const form = new FormData();
    form.set("promptVersionId", promptVersionId);
    const { headers, body } = new Response(form).clone();
    const text = await new Response(body).text();
    const answer = await postRun(caller.client, text, { "content-type": headers.get("content-type") });
    expect(answer.httpStatus).toBe(400);
    expect(errorOf(answer).message).toBe(
      "The request body could not be read as JSON (Content-Type: multipart/form-data). " +
        'Send JSON with "Content-Type: application/json".',
    );
  });

  test.each(["text/plain", "application/x-www-form-urlencoded", "application/vnd.api+json", null])(
    "may have the type %s: it is read as JSON",
    async (type) => {
      const body = JSON.stringify({ promptVersionId, inputs: { textInputs: { topic: "tea" } } });
      expect((await postRun(caller.client, body, { "content-type": type })).httpStatus).toBe(200);
    },
  );

  test("over 32 MiB is 400 BODY_TOO_LARGE", async () => {
    const answer = await post(`{"x":"${"a".repeat(33_554_432)}"}`);
    expect(answer.httpStatus).toBe(400);
    expect(errorOf(answer)).toEqual({
      status: "BAD_REQUEST_ERROR",
      message: "The request body is larger than 32 MiB (33,554,432 bytes).",
      data: { reason: "BODY_TOO_LARGE", maxBytes: 33_554_432 },
    });
  });

  test("may have unlisted fields, such as runModel: they change nothing and are named in X-Ignored", async () => {
    const answer = await post({
      promptVersionId,
      inputs: { textInputs: { topic: "tea" }, extra: 1 },
      runModel: "sandbox/image",
      runOptions: {},
      metadata: { a: 1 },
      webhook: null,
    });
    expect(runOf(answer).outputs[0]?.data).toContain("model: sandbox/text\n");
    expect(answer.headers.get("x-ignored")).toBe("runModel, metadata, webhook, inputs.extra");
  });
});

describe("promptVersionId", () => {
  test.each(["abc", "", "11111111-1111-1111-1111-11111111111", `{${RANDOM_ID}}`, `urn:uuid:${RANDOM_ID}`])(
    "%j is no UUID",
    async (id) => {
      const answer = await post({ promptVersionId: id, inputs: {} });
      expect(answer.httpStatus).toBe(422);
      expect(issueLines(answer)).toEqual(["invalid_uuid body.promptVersionId"]);
    },
  );

  test("the message quotes what was given", async () => {
    const answer = await post({ promptVersionId: "abc", inputs: {} });
    expect(errorOf(answer).message).toBe('promptVersionId must be a UUID, got "abc".');
  });

  test("a quoted value is cut to 40 code points and its control characters are escaped", async () => {
    const answer = await post({ promptVersionId: `\u001b[31m${"🍵".repeat(60)}`, inputs: {} });
    expect(errorOf(answer).message).toBe(`promptVersionId must be a UUID, got "\\u001b[31m${"🍵".repeat(35)}…".`);
  });

  test.each([null, undefined])("%s is missing", async (id) => {
    expect(issueLines(await post({ promptVersionId: id, inputs: {} }))).toEqual(["required body.promptVersionId"]);
  });

  test("a number is not a string", async () => {
    const answer = await post({ promptVersionId: 7, inputs: {} });
    expect(issuesOf(answer)).toMatchObject([
      { code: "invalid_type", message: "promptVersionId must be a string, got a number." },
    ]);
  });

  test("any case is accepted, and every version and variant is well-formed", async () => {
    const inputs = { textInputs: { topic: "tea" } };
    expect(runOf(await post({ promptVersionId: promptVersionId.toUpperCase(), inputs })).runStatus).toBe("succeeded");
    for (const id of ["11111111-1111-1111-1111-111111111111", "00000000-0000-0000-0000-000000000000"]) {
      expect((await post({ promptVersionId: id, inputs })).httpStatus).toBe(404);
    }
  });
});

describe("inputs", () => {
  test.each([undefined, null])("%s is missing, even for a prompt without inputs", async (inputs) => {
    expect(issueLines(await post({ promptVersionId, inputs }))).toEqual(["required body.inputs"]);
  });

  test.each([
    ["an array", []],
    ["a string", "x"],
    ["a boolean", true],
  ])("%s is not an object", async (what, inputs) => {
    const answer = await post({ promptVersionId, inputs });
    expect(issuesOf(answer)).toEqual([
      { path: ["body", "inputs"], code: "invalid_type", message: `inputs must be an object, got ${what}.` },
    ]);
  });

  test.each(["textInputs", "runOptions"])("%s that is no object is 422", async (field) => {
    const inputs = field === "textInputs" ? { textInputs: ["x"] } : {};
    const runOptions = field === "runOptions" ? ["x"] : {};
    const answer = await post({ promptVersionId, inputs, runOptions });
    expect(issuesOf(answer)).toMatchObject([
      { code: "invalid_type", message: `${field} must be an object, got an array.` },
    ]);
  });

  test("imageInputs that is not an array is 422", async () => {
    const answer = await post({ promptVersionId, inputs: { imageInputs: {} } });
    expect(issuesOf(answer)).toMatchObject([
      { code: "invalid_type", message: "imageInputs must be an array, got an object." },
    ]);
  });
});

describe("a text input", () => {
  test.each([
    ["a number", 7],
    ["a boolean", false],
    ["null", null],
    ["an object", {}],
    ["an array", ["a"]],
  ])("that is %s is not coerced", async (what, value) => {
    const answer = await withText(value);
    expect(issuesOf(answer)).toEqual([
      {
        path: ["body", "inputs", "textInputs", "topic"],
        code: "invalid_type",
        message: `Text input "topic" must be a string, got ${what}.`,
      },
    ]);
  });

  test("with U+0000 is 422 invalid_text", async () => {
    const answer = await withText("a\u0000b");
    expect(issueLines(answer)).toEqual(["invalid_text body.inputs.textInputs.topic"]);
    expect(errorOf(answer).message).toBe('Text input "topic" contains the character U+0000, which is not allowed.');
  });

  test("under a key with half of a surrogate pair is 422, and the path that names it is text", async () => {
    const body = `{"promptVersionId":"${promptVersionId}","inputs":{"textInputs":{"a\\ud800b":"c"}}}`;
    expect(issueLines(await post(body))).toContain("invalid_text body.inputs.textInputs.a\ufffdb");
  });

  test("with half of a surrogate pair is 422 invalid_text", async () => {
    const body = `{"promptVersionId":"${promptVersionId}","inputs":{"textInputs":{"topic":"a\\ud800b"}}}`;
    expect(issueLines(await post(body))).toEqual(["invalid_text body.inputs.textInputs.topic"]);
  });

  test("over 100 KiB of UTF-8 is 422 too_long", async () => {
    expect(issueLines(await withText("é".repeat(51_201)))).toEqual(["too_long body.inputs.textInputs.topic"]);
  });

  test("above 64 keys, or above 1 MiB in total, is refused", async () => {
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, "x"]));
    const tooMany = await post({ promptVersionId, inputs: { textInputs: many } });
    expect(issueLines(tooMany)).toEqual(["too_many body.inputs.textInputs"]);
    const large = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`k${i}`, "x".repeat(100_000)]));
    const tooLong = await post({ promptVersionId, inputs: { textInputs: large } });
    expect(issueLines(tooLong)).toEqual(["too_long body.inputs.textInputs"]);
  });
});

describe("a run option", () => {
  test("that is a number is 422 invalid_type: values are strings, even numbers", async () => {
    const inputs = { textInputs: { topic: "tea" } };
    const answer = await post({ promptVersionId, inputs, runOptions: { seconds: 4 } });
    expect(issuesOf(answer)).toEqual([
      {
        path: ["body", "runOptions", "seconds"],
        code: "invalid_type",
        message: 'Run option "seconds" must be a string, got a number.',
      },
    ]);
  });
});

test("all problems of the shape are reported at once", async () => {
  const answer = await post({
    promptVersionId: "abc",
    inputs: {
      textInputs: { a: 1, b: "\u0000" },
      imageInputs: [{ type: "file" }, { type: "url" }],
    },
    runOptions: { quality: 1 },
  });
  expect(answer.httpStatus).toBe(422);
  expect(issueLines(answer).toSorted()).toEqual([
    "invalid_text body.inputs.textInputs.b",
    "invalid_type body.inputs.textInputs.a",
    "invalid_type body.runOptions.quality",
    "invalid_uuid body.promptVersionId",
    "required body.inputs.imageInputs.1.url",
    "unsupported_image_type body.inputs.imageInputs.0.type",
  ]);
});

test("at most 20 issues travel, and the message has at most 1,000 characters", async () => {
  const textInputs = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`a rather long key number ${i}`, i]));
  const answer = await post({ promptVersionId, inputs: { textInputs } });
  expect(issuesOf(answer)).toHaveLength(20);
  expect(errorOf(answer).message.length).toBeLessThanOrEqual(1_000);
});
