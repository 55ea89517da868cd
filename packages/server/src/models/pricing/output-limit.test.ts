import { expect, test } from "vitest";
import { loadCatalogue, resolveMapping, type CatalogueEntry } from "../catalogue/catalogue.ts";
import { DEFAULT_OUTPUT_TOKENS, outputTokensMax } from "./output-limit.ts";
import { outputTokensOf } from "./price-plan.ts";

const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true });

function limitOf(model: string, maxOutputTokens: number | null, options: Record<string, string> = {}): number {
  const entry = catalogue.find(model);
  if (entry === null) return outputTokensOf(catalogue, { model, maxOutputTokens });
  return outputTokensMax(entry, resolveMapping(entry, options), maxOutputTokens);
}

test("a text step without an author's limit gets the usual one, and never more than its model's", () => {
  expect(limitOf("openai/gpt-4.1", null)).toBe(DEFAULT_OUTPUT_TOKENS);
  expect(outputTokensMax(entryWith(limits(1_000)), {}, null)).toBe(1_000);
});

test("the author's own limit counts, even above the usual one", () => {
  expect(limitOf("openai/gpt-4.1", 12_000)).toBe(12_000);
  expect(limitOf("openai/gpt-4.1", 10)).toBe(10);
});

test("long reasoning may use the model's whole limit: the usual one would leave nothing for the answer", () => {
  const low = limitOf("openai/gpt-5.4", null, { reasoningEffort: "low" });
  const high = limitOf("openai/gpt-5.4", null, { reasoningEffort: "high" });
  expect([low, high]).toEqual([DEFAULT_OUTPUT_TOKENS + 2_048, 16_384]);
});

test.each([
  ["openai/gpt-5.4", {}, 4_096],
  ["openai/gpt-5.4", { reasoningEffort: "none" }, 0],
  ["openai/gpt-5.4", { reasoningEffort: "low" }, 2_048],
  ["openai/gpt-5.4", { reasoningEffort: "high" }, 16_084], // as far as the model's limit allows
  ["google/gemini-3.8-flash", {}, 4_096], // it reasons by default
  ["openai/gpt-4.1", {}, 0],
  ["anthropic/claude-haiku-4-5", { reasoningEffort: "high" }, 0], // its reasoning has its own tokens
  ["sandbox/text", {}, 0],
])("an author's limit is for the answer: %s with %j gets extra tokens for reasoning", (...row) => {
  const [model, options, room] = row as [string, Record<string, string>, number];
  expect(limitOf(model, 300, options)).toBe(300 + room);
});

test("reasoning with its own tokens leaves the usual limit to the answer", () => {
  expect(limitOf("anthropic/claude-haiku-4-5", null, { reasoningEffort: "high" })).toBe(DEFAULT_OUTPUT_TOKENS);
});

test("an entry may name another usual limit", () => {
  const own = { ...limits(8_192), defaultOutputTokens: 1_500 };
  expect(outputTokensMax(entryWith(own), {}, null)).toBe(1_500);
  expect(outputTokensMax(entryWith(own), {}, 2_000)).toBe(2_000);
});

test("images have no output limit, and a model that left the catalogue has only the author's", () => {
  expect(limitOf("sandbox/image", null)).toBe(0);
  expect([limitOf("gone/model", null), limitOf("gone/model", 7)]).toEqual([0, 7]);
});

function entryWith(own: CatalogueEntry["limits"]) {
  return { modality: "text" as const, provider: "openai", limits: own };
}

function limits(maxOutputTokens: number) {
  return { maxOutputTokens, contextTokens: 100_000, timeoutMs: 1_000, concurrency: 1 };
}
