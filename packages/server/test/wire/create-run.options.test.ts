/** Run options are those of the prompt's model, as GET /v1/resources lists them (specification, "Run options"). */
import type { Modality } from "@promptd/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { imagePrompt, promptFile } from "../prompts/prompt-files.ts";
import { errorOf, issuesOf, postRun, runOf } from "./requests.ts";

let server: TestServer;
let caller: TestCaller;

beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller({ credits: 100_000 });
});
afterAll(() => server.close());

async function run(file: string, runOptions: unknown) {
  const { promptVersionId } = await server.publish(file);
  return postRun(caller.client, { promptVersionId, inputs: {}, runOptions });
}

describe("every key and value that GET /v1/resources lists", () => {
  test("is accepted", async () => {
    const { resources } = await caller.client.resources.get();
    const files: Partial<Record<Modality, string>> = { text: promptFile(), image: imagePrompt({ fields: "" }) };
    const pairs = resources.models
      .filter(({ model }) => model === "sandbox/text" || model === "sandbox/image")
      .flatMap(({ modality, availableRunOptions }) =>
        availableRunOptions.flatMap(({ key, options }) => options.map((value) => ({ modality, key, value }))),
      );
    expect(pairs.length).toBeGreaterThanOrEqual(9);
    for (const { modality, key, value } of pairs) {
      const answer = await run(files[modality] ?? "", { [key]: value });
      expect([key, value, runOf(answer).runStatus]).toEqual([key, value, "succeeded"]);
    }
  });
});

test.each([undefined, null, {}])("%j accepts the defaults", async (runOptions) => {
  expect(runOf(await run(promptFile(), runOptions)).outputs[0]?.data).toContain("reasoning: medium\n");
});

test("the caller's value wins over the author's, which wins over the catalogue's", async () => {
  const file = () => promptFile({ fields: "options: { reasoningEffort: high }" });
  expect(runOf(await run(file(), {})).outputs[0]?.data).toContain("reasoning: high\n");
  expect(runOf(await run(file(), { reasoningEffort: "low" })).outputs[0]?.data).toContain("reasoning: low\n");
});

test("a value with another price changes what the run costs", async () => {
  expect(runOf(await run(imagePrompt(), { quality: "low" })).tokens).toBe(2);
  expect(runOf(await run(imagePrompt(), { quality: "high" })).tokens).toBe(8);
});

test("a key that the model does not have is 422 unsupported_option and lists the accepted ones", async () => {
  const answer = await run(promptFile(), { quality: "high" });
  expect(answer.httpStatus).toBe(422);
  expect(issuesOf(answer)).toEqual([
    {
      path: ["body", "runOptions", "quality"],
      code: "unsupported_option",
      message: '"quality" is not a run option of the model sandbox/text. Accepted: reasoningEffort.',
    },
  ]);
});

test("any key fails on a model without options, and the message says so", async () => {
  const answer = await run(promptFile({ model: "sandbox/text-free" }), { reasoningEffort: "low" });
  expect(errorOf(answer).message).toBe(
    '"reasoningEffort" is not a run option of the model sandbox/text-free. This model has no run options.',
  );
});

test.each(["constructor", "toString", "hasOwnProperty"])("an inherited name is not an option: %s", async (key) => {
  expect(issuesOf(await run(promptFile(), { [key]: "low" }))).toMatchObject([{ code: "unsupported_option" }]);
});

test.each(["ultra", "HIGH", "high ", "", "constructor"])(
  "the value %j is 422 unsupported_option_value",
  async (value) => {
    const answer = await run(imagePrompt(), { quality: value });
    expect(answer.httpStatus).toBe(422);
    expect(issuesOf(answer)).toEqual([
      {
        path: ["body", "runOptions", "quality"],
        code: "unsupported_option_value",
        message: `"${value}" is not a valid value for quality. Accepted: low, medium, high.`,
      },
    ]);
  },
);

test("runModel does not give access to another model's options", async () => {
  const { promptVersionId } = await server.publish(promptFile());
  const body = { promptVersionId, inputs: {}, runModel: "sandbox/image", runOptions: { quality: "low" } };
  const answer = await postRun(caller.client, body);
  expect(issuesOf(answer)).toMatchObject([{ code: "unsupported_option" }]);
});
