import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadCatalogue, type CatalogueEntry } from "./catalogue.ts";
import { checkOverlay, listModels } from "./models-report.ts";

const options = { hasSecret: (name: string) => name === "OPENAI_API_KEY", sandbox: true };

function check(overlay: unknown) {
  const directory = mkdtempSync(join(tmpdir(), "promptd-overlay-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "models.json");
  writeFileSync(file, JSON.stringify(overlay));
  return checkOverlay(file, options);
}

test("the list shows every model with its price, and what would enable it", () => {
  const lines = listModels(loadCatalogue({ ...options, overlayFile: null }), new Set());
  expect(lines[0]).toMatchObject({ index: 1, model: "sandbox/text", enabled: true, requires: null });
  const byModel = new Map(lines.map((line) => [line.model, line]));
  expect(byModel.get("openai/gpt-5.2")).toMatchObject({
    enabled: true,
    price: "inputPer1k 0.175, cachedInputPer1k 0.0175, outputPer1k 1.4, webSearch 1 per search",
  });
  expect(byModel.get("anthropic/claude-haiku-4-5")).toMatchObject({ enabled: false, requires: "ANTHROPIC_API_KEY" });
});

test("the list shows the range of a price that depends on an option, and models of found servers", () => {
  const catalogue = loadCatalogue({ ...options, overlayFile: null });
  const known = catalogue.find("sandbox/text");
  if (known === null) throw new Error("no entry");
  const found: CatalogueEntry = {
    ...known,
    index: 20_000,
    model: "local/llama3.2",
    provider: "local",
    price: {},
    webSearch: undefined,
    limits: { ...known.limits, concurrency: 64 },
    isPaced: true,
  };
  catalogue.useEnabled(["local/llama3.2"], [found]);
  const byModel = new Map(listModels(catalogue, new Set()).map((line) => [line.model, line]));
  expect(byModel.get("fal/luma-ray-2")).toMatchObject({ price: "perImage 50-100" });
  expect(byModel.get("openai/gpt-image-2")).toMatchObject({ price: "inputPer1k 0.8, perImage 0.588-21.072" });
  expect(byModel.get("local/llama3.2")).toMatchObject({
    index: 20_000,
    enabled: true,
    price: "",
    runsAtOnce: { max: 64, follows: true },
  });
  expect(byModel.get("fal/luma-ray-2")).toMatchObject({ runsAtOnce: { max: 8, follows: false } });
});

test("a price factor alone changes no model, and is reported once", () => {
  expect(check({ formatVersion: 1, priceFactor: "1.2" })).toMatchObject({ priceFactor: "1.2", changed: [] });
});

test("an overlay's report says what it adds, changes, and withdraws", () => {
  const own = {
    index: 10_000,
    model: "home/llama",
    provider: "home",
    providerModel: "llama",
    api: "chat",
    modality: "text",
    price: {},
    limits: { maxOutputTokens: 4_096, contextTokens: 32_768, timeoutMs: 600_000, concurrency: 4 },
  };
  const report = check({
    formatVersion: 1,
    providers: { home: { baseURL: "http://127.0.0.1:11434/v1" } },
    models: [
      own,
      { model: "openai/gpt-5.2", price: { inputPer1k: "0.2", outputPer1k: "2" } },
      { model: "openai/gpt-5.5", status: "retired", retiredAt: "2026-11-01", successor: "openai/gpt-5.2" },
      { model: "openai/gpt-5.4", status: "deprecated" },
    ],
  });
  expect(report).toEqual({
    faults: [],
    priceFactor: "1",
    added: ["home/llama"],
    changed: ["openai/gpt-5.2", "openai/gpt-5.4", "openai/gpt-5.5"],
    retired: ["openai/gpt-5.5"],
    deprecated: ["openai/gpt-5.4"],
    pricesToConfirm: expect.arrayContaining(["fal/hunyuan-video", "replicate/wan-2.2-i2v-fast"]) as unknown,
  });
});

test("a price without a source needs confirmation until the operator sets it", () => {
  const line = (overlayFile: string | null) =>
    listModels(loadCatalogue({ ...options, overlayFile }), new Set()).find((one) => one.model === "fal/hunyuan-video");
  expect(line(null)).toMatchObject({ priceToConfirm: true });
  const withPrice = { formatVersion: 1, models: [{ model: "fal/hunyuan-video", price: { perImage: "41" } }] };
  const withoutPrice = { formatVersion: 1, models: [{ model: "fal/hunyuan-video", status: "deprecated" }] };
  expect(check(withPrice).pricesToConfirm).not.toContain("fal/hunyuan-video");
  expect(check(withoutPrice).pricesToConfirm).toContain("fal/hunyuan-video");
});

test("a faulty overlay's report lists every fault: in its format, its entries, and their references", () => {
  const report = check({
    formatVersion: 1,
    priceFactr: "1.2",
    models: [
      { model: "openai/gpt-5.2", limts: 1 },
      { model: "new/one", status: "deprecated" },
      { model: "openai/gpt-5.4", price: { inputPer1k: "1" } },
      { model: "openai/gpt-5.5", status: "retired", retiredAt: "2026-11-01", successor: "openai/nowhere" },
      { model: "openai/gpt-5", status: "retired", retiredAt: "2026-11-01", successor: "openai/gpt-5.2" },
    ],
  });
  expect(report.faults).toEqual([
    expect.stringContaining("limts"),
    expect.stringContaining("priceFactr"),
    expect.stringContaining(
      "new/one: this model is not in the shipped catalogue; to add your own, set index, provider, providerModel, modality, price, and limits.",
    ),
    expect.stringContaining(
      "openai/gpt-5.4: price replaces the shipped price as a whole, so it must also set outputPer1k",
    ),
    expect.stringContaining("openai/gpt-5: this model is not in the shipped catalogue"),
    expect.stringContaining('openai/gpt-5.5: the successor "openai/nowhere" is not an active model'),
  ]);
  expect(report.added).toEqual([]);
});

test.each(["ftp://home", "http://home/v1?key=1", "http://home/#v1", "home"])(
  "a provider at %s is a fault: paths are appended to the address",
  (baseURL) => {
    const { faults } = check({ formatVersion: 1, providers: { home: { baseURL } } });
    expect(faults).toEqual([expect.stringContaining("must be an http(s) address without ? and #")]);
  },
);

test("a fault in a provider or a model is not reported again for what refers to it", () => {
  const own = { index: 10_000, model: "home/a", provider: "home", providerModel: "a", api: "chat", modality: "text" };
  const limits = { maxOutputTokens: 4_096, contextTokens: 32_768, timeoutMs: 600_000, concurrency: 4 };
  const { faults } = check({
    formatVersion: 1,
    providers: { home: { baseURL: "ftp://home" } },
    models: [{ ...own, price: {}, limits }],
  });
  expect(faults).toEqual([expect.stringContaining("providers.home.baseURL: must be an http(s) address")]);
});

test("every fault is reported in the first round: each provider and entry is checked on its own", () => {
  const limits = { maxOutputTokens: 4_096, timeoutMs: 600_000, concurrency: 4 };
  const own = { index: 10_000, provider: "home", providerModel: "a", api: "chat", modality: "text", price: {}, limits };
  const { faults } = check({
    formatVersion: 1,
    providers: {
      openai: { baseURL: "http://home" },
      home: { baseURL: "ftp://home" },
      fine: { baseURL: "http://fine" },
    },
    models: [
      { ...own, model: "home/a" },
      { ...own, model: "home/b", provider: "nope", limits: { ...limits, concurrency: 0 } },
      { ...own, model: "fine/a", index: 10_001, provider: "fine", api: "responses", fallback: "home/b" },
      { ...own, model: "fine/b", index: 5, provider: "fine", limits: {}, fallback: "fine/nowhere" },
      { model: "sandbox/video", status: "gone", successor: "nope/x" },
      { model: "openai/gpt-5.2", index: 9, status: "retired", price: { inputPer1k: "1" } },
    ],
  });
  expect(faults.map((fault) => fault.replace(/^.*?\.json: /, "")).toSorted()).toEqual([
    expect.stringContaining('fine/a: "api" must be chat.'),
    "fine/a: limits.contextTokens is required for text.",
    expect.stringContaining("fine/b: limits.concurrency"),
    expect.stringContaining("fine/b: limits.maxOutputTokens"),
    expect.stringContaining("fine/b: limits.timeoutMs"),
    'fine/b: the fallback "fine/nowhere" is not a model of the same modality.',
    "fine/b: the index of your own model must be between 10000 and 19999.",
    "home/a: limits.contextTokens is required for text.",
    'home/b: provider "nope" is neither built in nor listed in "providers".',
    "index 10000 is used twice: by home/a and home/b.",
    expect.stringContaining("models[1].limits.concurrency"),
    expect.stringContaining("models[4].status"),
    expect.stringContaining("openai/gpt-5.2: price replaces the shipped price as a whole"),
    expect.stringContaining('openai/gpt-5.2: retiredAt is required for status "retired"'),
    expect.stringMatching(/^openai\/gpt-5.2: the index of a shipped model \(\d+\) cannot be changed/),
    expect.stringContaining("providers.home.baseURL"),
    "providers.openai: the name belongs to a built-in provider.",
    'sandbox/video: the successor "nope/x" is not an active model.',
  ]);
  expect(faults.filter((fault) => !fault.includes("models.json: "))).toEqual([]);
});

test("an overlay can change one limit and keep the others", () => {
  const overlay = { formatVersion: 1, models: [{ model: "openai/gpt-5.2", limits: { concurrency: 3 } }] };
  expect(check(overlay)).toMatchObject({ faults: [], changed: ["openai/gpt-5.2"] });
});
