import { expect, test } from "vitest";
import { loadCatalogue } from "../catalogue/catalogue.ts";
import { DEFAULT_OUTPUT_TOKENS, outputTokensMax } from "./output-limit.ts";
import { outputTokensOf } from "./price-plan.ts";

const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true });

function limitOf(model: string, maxOutputTokens: number | null, options: Record<string, string> = {}): number {
  return outputTokensOf(catalogue, { model, options, maxOutputTokens });
}

test("a text step without a limit of its author gets the usual one, and never more than its model's", () => {
  expect(limitOf("openai/gpt-4.1", null)).toBe(DEFAULT_OUTPUT_TOKENS);
  expect(outputTokensMax({ modality: "text", limits: limits(1_000) }, {}, null)).toBe(1_000);
});

test("the author's own limit counts, above the usual one as well", () => {
  expect(limitOf("openai/gpt-4.1", 12_000)).toBe(12_000);
  expect(limitOf("openai/gpt-4.1", 10)).toBe(10);
});

test("long reasoning may use the model's whole limit: it would leave nothing of the usual one for the answer", () => {
  const low = limitOf("openai/gpt-5.4", null, { reasoningEffort: "low" });
  const high = limitOf("openai/gpt-5.4", null, { reasoningEffort: "high" });
  expect([low, high]).toEqual([DEFAULT_OUTPUT_TOKENS, 16_384]);
});

test("reasoning that has tokens of its own leaves the usual limit to the answer", () => {
  expect(limitOf("anthropic/claude-haiku-4-5", null, { reasoningEffort: "high" })).toBe(DEFAULT_OUTPUT_TOKENS);
});

test("an entry may name another usual limit", () => {
  const own = { ...limits(8_192), defaultOutputTokens: 1_500 };
  expect(outputTokensMax({ modality: "text", limits: own }, {}, null)).toBe(1_500);
  expect(outputTokensMax({ modality: "text", limits: own }, {}, 2_000)).toBe(2_000);
});

test("images have no output limit, and a model that left the catalogue only the author's", () => {
  expect(limitOf("sandbox/image", null)).toBe(0);
  expect([limitOf("gone/model", null), limitOf("gone/model", 7)]).toEqual([0, 7]);
});

function limits(maxOutputTokens: number) {
  return { maxOutputTokens, contextTokens: 100_000, timeoutMs: 1_000, concurrency: 1 };
}
