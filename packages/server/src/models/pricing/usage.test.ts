import { expect, test } from "vitest";
import { loadCatalogue, resolveMapping } from "../catalogue/catalogue.ts";
import { priceCeiling, settlePrice, type StepPlan } from "./price-plan.ts";
import { callBytes, imageUsage, NO_USAGE, videoUsage, withSearches } from "./usage.ts";

const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true });
function entryOf(model: string) {
  const entry = catalogue.find(model);
  if (entry === null) throw new Error(model);
  return entry;
}
const image = (bytes = 1_000) => ({ bytes: new Uint8Array(bytes), mediaType: "image/png" as const });
const plan = (model: string, change: Partial<StepPlan>): StepPlan => ({
  model,
  options: {},
  maxOutputTokens: null,
  count: 1,
  images: 0,
  textBytes: 0,
  readsTokens: 0,
  ...change,
});

test("input images at a provider that counts nothing are charged by the catalogue, within the hold", () => {
  const model = "replicate/flux-2-pro";
  const usage = imageUsage(undefined, { entry: entryOf(model), images: [image(), image(), image()] });
  expect(usage).toMatchObject({ inputTokens: 3_000, images: 1, isEstimated: true });
  const { credits, prices } = priceCeiling(catalogue, [plan(model, { images: 3 })], model);
  // 4.5 for the image, 1.5 for each input; the hold has room for 64 tokens of text beside
  expect([settlePrice(prices, [{ step: 0, usage }]), credits]).toEqual([9, 10]);
});

test("a provider's counts are used unchanged", () => {
  const entry = entryOf("openai/gpt-image-1");
  const usage = imageUsage({ inputTokens: 323, outputTokens: 4_160 }, { entry, images: [image()] });
  expect(usage).toMatchObject({ inputTokens: 323, outputTokens: 4_160, isEstimated: false });
});

test("an image without input images is not estimated", () => {
  expect(imageUsage(undefined, { entry: entryOf("replicate/flux-2-pro"), images: [] })).toMatchObject({
    inputTokens: 0,
    isEstimated: false,
  });
});

test.each([
  ["fal/luma-ray-2", "5", 50],
  ["fal/luma-ray-2", "9", 100],
  ["fal/luma-ray-2-flash", "9", 40],
  ["google/veo-3.1-generate-preview", "8", 320],
])("a clip of %s of %s s is held and charged at %i credits", (model, seconds, expected) => {
  const options = { seconds };
  const { credits, prices } = priceCeiling(catalogue, [plan(model, { options })], model);
  const usage = videoUsage(resolveMapping(entryOf(model), options));
  expect([credits, settlePrice(prices, [{ step: 0, usage }])]).toEqual([expected, expected]);
});

test("a call's memory grows with its images and its text", () => {
  const bytes = (images: number, prompt: string) =>
    callBytes({ images: Array.from({ length: images }, () => image(1_000_000)), prompt, instructions: "" });
  expect(bytes(2, "") - bytes(0, "")).toBe(10_000_000);
  expect(bytes(0, "ä".repeat(1_000)) - bytes(0, "")).toBe(4_000);
});

test.each([
  ["openai/gpt-5.2", null, 1], // its response does not say
  ["openai/gpt-5.2", 2, 2],
  ["openai/gpt-5.2", -1, 1],
  ["openai/gpt-5.2", Number.NaN, 1],
  ["openai/gpt-5.2", 1e12, 1_000],
  ["google/gemini-2.5-flash", 3, 1], // billed per prompt
  ["google/gemini-2.5-flash", 0, 0],
])("searches of %s that are reported as %s count as %i", (model, reported, searches) => {
  expect(withSearches(NO_USAGE, entryOf(model), reported)).toMatchObject({ searches });
});
