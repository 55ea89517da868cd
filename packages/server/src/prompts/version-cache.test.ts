import { describe, expect, test } from "vitest";
import { faultsOf, liveVersion, textPrompt } from "../../test/prompts/prompt-fixtures.ts";
import { CACHED_UNITS_MAX, unitsOf } from "./version-cache.ts";

describe("the size of a version in the cache", () => {
  const plain = unitsOf(liveVersion(textPrompt("x")));
  const long = "long ".repeat(2_000);

  test.each([
    ["the template", textPrompt(long)],
    ["the instructions", textPrompt("x", `instructions: ${long}`)],
    ["a message", textPrompt("x", `messages: [{ user: ${long} }]`)],
    ["a schema", textPrompt("x", `output: { schema: { type: object, description: ${long} } }`)],
    ["a default", textPrompt("{{ a }}", `inputs: { a: { default: ${long} } }`)],
    ["the text behind a choice", textPrompt("{{ a }}", `inputs: { a: { options: { b: ${long} } } }`)],
  ])("includes %s", (_what, file) => {
    expect(unitsOf(liveVersion(file)) - plain).toBeGreaterThan(9_000);
  });

  test("never exceeds the cache's limit, since longer prompts are rejected", () => {
    const text = "x".repeat(100_000);
    const file = (messages: number) =>
      JSON.stringify({
        promptd: 1,
        prompts: [
          {
            title: "T",
            model: "sandbox/text",
            template: text,
            messages: Array.from({ length: messages }, () => ({ user: text })),
          },
        ],
      });
    expect(faultsOf(file(38))).toEqual([]);
    expect(unitsOf(liveVersion(file(38)))).toBeLessThan(CACHED_UNITS_MAX);
    expect(faultsOf(file(40))).toEqual([
      expect.objectContaining({
        code: "LIMITS",
        message: expect.stringMatching(/is 4,1\d\d,\d{3} characters long, .* the limit is 4,000,000/),
      }),
    ]);
  });
});
