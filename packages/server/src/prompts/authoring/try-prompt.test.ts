import { describe, expect, test } from "vitest";
import type { DirectAnswer, DirectRequest } from "../../models/index.ts";
import { catalogue, faultsOf, parseOne, STORY_COVER, textPrompt } from "../../../test/prompts/prompt-fixtures.ts";
import { tryPrompt, type TrialPorts } from "./try-prompt.ts";

/** Models whose answers a function computes from the request. */
function answering(answer: (model: string, request: DirectRequest) => DirectAnswer | string) {
  const calls: { model: string; request: DirectRequest }[] = [];
  const ports: TrialPorts = {
    catalogue,
    call: async (model, request) => {
      calls.push({ model, request });
      const made = answer(model, request);
      return typeof made === "string" ? { kind: "text", text: made } : made;
    },
    loadImages: async (_model, sources) =>
      sources.map((name) => ({ bytes: new TextEncoder().encode(name), mediaType: "image/png" as const })),
  };
  return { calls, ports };
}

const withTest = (written: string) => textPrompt("About {{ topic }}.", `inputs: { topic: {} }\ntests: [${written}]`);

async function tried(
  expectation: string,
  output: string | ((model: string, request: DirectRequest) => DirectAnswer | string),
) {
  const source = parseOne(withTest(`{ inputs: { topic: rain }, expect: ${expectation} }`));
  const [first] = source.tests;
  if (first === undefined) throw new Error("no test");
  const { calls, ports } = answering(typeof output === "string" ? () => output : output);
  return { ...(await tryPrompt(source, first, ports)), calls };
}

describe("a test of a prompt", () => {
  test.each<[string, string, boolean]>([
    ["{ contains: rain }", "a rainy day", true],
    ["{ contains: [rain, day] }", "a rainy night", false],
    ["{ notContains: snow }", "rain", true],
    ["{ notContains: snow }", "snow", false],
    ['{ matches: "^\\\\d+$" }', "42", true],
    ['{ matches: "^\\\\d+$" }', "4x", false],
    ["{ shorterThan: 5 }", "four", true],
    ["{ shorterThan: 5 }", "fives", false],
    ["{ schema: { type: object, properties: { a: { type: number } }, required: [a] } }", '{"a":1}', true],
    ["{ schema: { type: object, properties: { a: { type: number } }, required: [a] } }", '{"a":"x"}', false],
    ["{}", "anything", true],
  ])("that expects %s from %s: %s", async (expectation, output, passed) => {
    const result = await tried(expectation, output);
    expect({ passed: result.passed, hasFailures: result.failures.length > 0 }).toEqual({
      passed,
      hasFailures: !passed,
    });
  });

  test("renders the prompt with its inputs, and returns the output", async () => {
    const { calls, output } = await tried("{}", "Fine.");
    expect(calls[0]?.request.prompt).toBe("About rain.");
    expect(output).toBe("Fine.");
  });

  test("asks a model whether a statement is true, and reports its reason", async () => {
    const judge = (holds: boolean) => (model: string, request: DirectRequest) =>
      request.outputSchema === undefined ? "A poem." : JSON.stringify({ reason: `says ${model}`, holds });
    const held = await tried("{ judge: It is a poem., judgeModel: sandbox/text-free }", judge(true));
    expect([held.passed, held.calls[1]?.model]).toEqual([true, "sandbox/text-free"]);
    expect(held.calls[1]?.request.prompt).toContain("Statement: It is a poem.\n\nOutput:\nA poem.");
    const failed = await tried("{ judge: It is a poem. }", judge(false));
    expect(failed.failures).toEqual(["judge: It is a poem. (says sandbox/text)"]);
  });

  test("with several steps passes each text to the next, and stops at a step that fails", async () => {
    const source = parseOne(STORY_COVER.replace("steps:", "samples: [{ inputs: { hero: a fox } }]\nsteps:"));
    const [sample] = source.tests;
    if (sample === undefined) throw new Error("no sample");
    const good = answering((model) =>
      model === "sandbox/text" ? "A story." : { kind: "image", bytes: new Uint8Array(1) },
    );
    expect(await tryPrompt(source, sample, good.ports)).toEqual({
      name: "sample 1",
      passed: true,
      failures: [],
      output: null,
    });
    expect(good.calls[1]?.request.prompt).toContain("A story.");
    const bad = answering(() => ({ kind: "failed", message: "No." }));
    expect(await tryPrompt(source, sample, bad.ports)).toMatchObject({ passed: false, failures: ["Step draft: No."] });
    expect(bad.calls).toHaveLength(1);
  });

  test("sends its images in the slots, and fails if it has too few", async () => {
    const fields = "images: [{}, {}]\ntests: [{ images: [a.png, b.png] }, {}]";
    const source = parseOne(textPrompt("x", fields).replace("sandbox/text", "sandbox/image"));
    const { calls, ports } = answering(() => ({ kind: "image", bytes: new Uint8Array(1) }));
    const results = await Promise.all(source.tests.map((one) => tryPrompt(source, one, ports)));
    expect(results.map(({ passed }) => passed)).toEqual([true, false]);
    expect(results[1]?.failures).toEqual(["The prompt expects 2 images; the test has 0."]);
    expect(calls[0]?.request.images).toHaveLength(2);
  });
});

describe("tests of a file", () => {
  test.each([
    ["{ expect: { matches: '(' } }", /is not a valid regular expression/],
    ["{ inputs: { other: x } }", /tests\[1\]\.inputs\.other: is not an input/],
    ["{ expect: { includes: x } }", /is not a known field/],
  ])("%s are faults", (written, message) => {
    expect(
      faultsOf(withTest(written))
        .map(({ field, message: text }) => `${field}: ${text}`)
        .join("\n"),
    ).toMatch(message);
  });
});
