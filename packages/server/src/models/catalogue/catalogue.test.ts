import { readdirSync, readFileSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { CatalogueError, catalogueFileSchema, entriesFileSchema } from "./catalogue-file.ts";
import { readShipped } from "./shipped.ts";
import { loadCatalogue, resolveMapping, type Catalogue } from "./catalogue.ts";
import { priceCeiling } from "../pricing/price-plan.ts";

function load(overlay: unknown = null, options: { secrets?: string[]; sandbox?: boolean } = {}): Catalogue {
  const { secrets = [], sandbox = true } = options;
  const hasSecret = (name: string): boolean => secrets.includes(name);
  if (overlay === null) return loadCatalogue({ overlayFile: null, hasSecret, sandbox });
  const directory = mkdtempSync(join(tmpdir(), "promptd-catalogue-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const overlayFile = join(directory, "models.json");
  writeFileSync(overlayFile, typeof overlay === "string" ? overlay : JSON.stringify(overlay));
  return loadCatalogue({ overlayFile, hasSecret, sandbox });
}

function faultsOf(overlay: unknown): string {
  try {
    load(overlay);
  } catch (error) {
    if (error instanceof CatalogueError) return error.faults.join("\n");
    throw error;
  }
  return "no fault";
}

const own = {
  index: 10_000,
  model: "home/llama",
  provider: "home",
  providerModel: "llama-3.3",
  api: "chat",
  modality: "text",
  price: {},
  limits: { maxOutputTokens: 4_096, contextTokens: 32_768, timeoutMs: 600_000, concurrency: 4 },
};
const providers = { home: { baseURL: "http://127.0.0.1:11434/v1" } };
const file = (...models: unknown[]) => ({ formatVersion: 1, providers, models });

describe("the shipped catalogue", () => {
  const shipped = { models: readShipped().records };

  test("matches its schemas, which startup does not check again", () => {
    const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));
    const files = readdirSync(new URL("./entries/", import.meta.url)).map((name) => read(`./entries/${name}`));
    // Parsing returns the file unchanged, so startup may use the file directly.
    expect(files.map((one) => entriesFileSchema.parse(one))).toEqual(files);
    expect(catalogueFileSchema.parse(read("./catalogue.json"))).toEqual(read("./catalogue.json"));
  });

  test("follows the rules for overlays, which startup without an overlay does not check", () => {
    expect(faultsOf({ formatVersion: 1 })).toBe("no fault");
  });

  test("never reuses, changes, or drops a public number", () => {
    const recorded = JSON.parse(readFileSync(new URL("./catalogue-indexes.json", import.meta.url), "utf8")) as [
      number,
      string,
    ][];
    const now = new Map(shipped.models.map(({ index, model }) => [index, model]));
    // The list only grows: new models are appended, and no pair in it may ever differ from the catalogue.
    expect(recorded.map(([index]) => [index, now.get(index)])).toEqual(recorded);
    expect(now.size).toBe(recorded.length);
    expect(new Set(recorded.map(([, model]) => model)).size).toBe(recorded.length);
  });

  test("names the source and date of every price that is charged for a real model", () => {
    const real = shipped.models.filter((entry) => entry.provider !== "sandbox");
    const sourced = real.filter((entry) => entry.priceToConfirm !== true);
    expect(sourced.length).toBeGreaterThanOrEqual(25);
    const unsourced = new Set(real.map((entry) => entry.provider)).difference(
      new Set(sourced.map((entry) => entry.provider)),
    );
    expect([...unsourced]).toEqual([]);
    // Memory is not a source.
    expect(sourced.filter((entry) => /remember|known to|not read|no source/i.test(entry.priceSource ?? ""))).toEqual(
      [],
    );
    expect(real.filter((entry) => entry.priceSource === undefined || entry.priceDate === undefined)).toEqual([]);
  });

  test("asks OpenAI to store nothing, for each of its text models", () => {
    const texts = load().entries.filter((entry) => entry.provider === "openai" && entry.modality === "text");
    expect(texts.length).toBeGreaterThan(5);
    for (const entry of texts)
      expect(resolveMapping(entry, {}).providerOptions?.["openai"]).toMatchObject({ store: false });
  });

  test("can be priced with every option of every model", () => {
    const catalogue = load();
    for (const entry of catalogue.entries) {
      const plan = {
        model: entry.model,
        options: {},
        maxOutputTokens: null,
        count: 1,
        images: 0,
        textBytes: 1_000,
        readsTokens: 0,
      };
      const isFree = entry.model === "sandbox/text-free";
      for (const [key, option] of Object.entries(entry.runOptions)) {
        for (const value of Object.keys(option.values)) {
          const { credits } = priceCeiling(catalogue, [{ ...plan, options: { [key]: value } }], entry.model);
          expect(credits > 0, `${entry.model} ${key}=${value}`).toBe(!isFree);
        }
      }
      expect(priceCeiling(catalogue, [plan], entry.model).credits > 0, entry.model).toBe(!isFree);
    }
  });
});

describe("a model", () => {
  test("is enabled when the variable it requires is set", () => {
    expect(load().isEnabled("openai/gpt-5.2")).toBe(false);
    expect(load(null, { secrets: ["OPENAI_API_KEY"] }).isEnabled("openai/gpt-5.2")).toBe(true);
  });

  test("of the sandbox is always enabled, and unknown if the sandbox is off", () => {
    expect(load().isEnabled("sandbox/text")).toBe(true);
    const off = load(null, { sandbox: false });
    expect(off.isEnabled("sandbox/text")).toBe(false);
    expect(off.find("sandbox/text")).toBeNull();
    expect(off.resources().resources.models).toEqual([]);
  });

  test("that is retired is found but neither enabled nor listed, and names its successor", () => {
    const catalogue = load({
      formatVersion: 1,
      models: [{ model: "sandbox/text", status: "retired", retiredAt: "2026-11-01", successor: "sandbox/text-free" }],
    });
    expect(catalogue.find("sandbox/text")).toMatchObject({ status: "retired", successor: "sandbox/text-free" });
    expect(catalogue.isEnabled("sandbox/text")).toBe(false);
    expect(catalogue.resources().resources.models.map(({ model }) => model)).not.toContain("sandbox/text");
  });

  test("that is deprecated is still listed", () => {
    const catalogue = load({ formatVersion: 1, models: [{ model: "sandbox/text", status: "deprecated" }] });
    expect(catalogue.isEnabled("sandbox/text")).toBe(true);
  });

  test("that another process enabled is listed, and the hash changes with the set", () => {
    const catalogue = load();
    const before = catalogue.resources();
    expect(catalogue.resources()).toBe(before);
    catalogue.useEnabled(["sandbox/text", "openai/gpt-5.2"], []);
    expect(catalogue.isEnabled("openai/gpt-5.2")).toBe(true);
    expect(catalogue.isEnabled("sandbox/image")).toBe(false);
    expect(catalogue.resources().hash).not.toBe(before.hash);
    expect(catalogue.resources().resources.models.map(({ model }) => model)).toEqual([
      "openai/gpt-5.2",
      "sandbox/text",
    ]);
  });
});

describe("an overlay", () => {
  test("adds models of its own provider, enabled by that provider's key", () => {
    const keyed = {
      formatVersion: 1,
      providers: { home: { ...providers.home, apiKeyEnv: "HOME_KEY" } },
      models: [own],
    };
    expect(load(file(own)).isEnabled("home/llama")).toBe(true);
    expect(load(keyed).isEnabled("home/llama")).toBe(false);
    expect(load(keyed, { secrets: ["HOME_KEY"] }).isEnabled("home/llama")).toBe(true);
    expect(load(file(own)).find("home/llama")?.server).toEqual(providers.home);
  });

  test("changes single fields of a shipped model and keeps the others", () => {
    const price = { inputPer1k: "0.1", outputPer1k: "9" };
    const catalogue = load({ formatVersion: 1, models: [{ model: "sandbox/text", price }] });
    expect(catalogue.find("sandbox/text")).toMatchObject({ index: 1, price, modality: "text" });
  });

  test("multiplies every price by its factor", () => {
    const plan = {
      model: "sandbox/video",
      options: {},
      maxOutputTokens: null,
      count: 1,
      images: 0,
      textBytes: 0,
      readsTokens: 0,
    };
    expect(priceCeiling(load(), [plan], plan.model).credits).toBe(10);
    const dearer = load({ formatVersion: 1, priceFactor: "1.25" });
    expect(priceCeiling(dearer, [plan], plan.model).credits).toBe(13);
  });

  test("is reported with all of its faults at once", () => {
    const faults = faultsOf(
      file(
        { ...own, index: 10_001, model: "home/a", provider: "nobody" },
        { ...own, index: 10_001, model: "home/b", api: "responses" },
        { ...own, index: 500, model: "home/c" },
        { model: "sandbox/text", index: 77 },
        { ...own, index: 10_004, model: "home/d", limits: { ...own.limits, contextTokens: undefined } },
        { ...own, index: 10_005, model: "home/e", successor: "home/nowhere", fallback: "home/nothing" },
        { ...own, index: 10_006, model: "home/f", status: "retired" },
        { ...own, index: 10_007, model: "home/g", price: { inputPer1k: "1", cachedInputPer1k: "2" } },
        { ...own, index: 10_008, model: "home/h", modality: "video", api: undefined },
        { model: "sandbox/video", fallback: "sandbox/video" },
      ),
    );
    for (const expected of [
      `home/a: provider "nobody" is neither built in nor listed`,
      "index 10001 is used twice: by home/a and home/b.",
      `home/b: "api" must be chat`,
      "home/c: the index of your own model must be between 10000 and 19999",
      "sandbox/text: the index of a shipped model (1) cannot be changed",
      "home/d: limits.contextTokens is required",
      `home/e: the successor "home/nowhere" is not an active model`,
      `home/e: the fallback "home/nothing"`,
      `home/f: retiredAt is required for status "retired"`,
      "home/g: cachedInputPer1k must not exceed inputPer1k",
      `home/h: provider "home" does not support video`,
      "sandbox/video: a video model cannot have a fallback",
    ]) {
      expect(faults).toContain(expected);
    }
  });

  test.each([
    ["a misspelled field", { ...own, limts: {} }, 'models[0]: "limts" is not a known field here. Known fields: '],
    [
      "a misspelled required field",
      { ...own, limits: { ...own.limits, timeoutMs: undefined, timeoutMS: 5 } },
      'models[0].limits: "timeoutMS" is not a known field here. Did you mean "timeoutMs"?',
    ],
    ["a wrong type", { ...own, index: "1" }, 'models[0].index: must be a number, got "1"'],
    ["a fraction", { ...own, index: 1.5 }, "models[0].index: must be a whole number, got 1.5"],
    ["too large a number", { ...own, index: 20_000 }, "models[0].index: must be at most 19999, got 20000"],
    [
      "an array instead of an object",
      { ...own, runOptions: [] },
      "models[0].runOptions: must be an object, got an array",
    ],
    ["an unknown value", { ...own, api: "x" }, 'models[0].api: must be "responses" or "chat", got "x"'],
    ["an empty text", { ...own, providerModel: "" }, "models[0].providerModel: must have a length of at least 1"],
    ["an invalid date", { ...own, retiresAt: "soon" }, 'models[0].retiresAt: must be a date such as "2027-01-31"'],
    [
      "invalid pixels",
      { ...own, defaults: { size: "big" } },
      'models[0].defaults.size: must be pixels such as "1024x1536"',
    ],
    ["a missing field in a complete entry", { ...own, modality: undefined }, "modality: must be "],
    ["a price that is not a decimal", { ...own, price: { perImage: "1e3" } }, "must be a price"],
    ["an uppercase model id", { ...own, model: "Home/Llama" }, "must consist of lowercase letters"],
    ["a missing field", { ...own, limits: undefined }, "limits"],
  ])("is refused for %s", (_name, model, words) => {
    expect(faultsOf(file(model))).toContain(words);
  });

  test("is refused if options set the same member, or default to a missing value", () => {
    const quality = { default: "best", values: { low: { price: { perImage: "1" } } } };
    const size = { values: { small: { size: "256x256", price: { perImage: "2" } } } };
    const image = { ...own, modality: "image", api: undefined, runOptions: { quality, size } };
    const faults = faultsOf(file(image));
    expect(faults).toContain("runOptions.quality and runOptions.size both set price.perImage");
    expect(faults).toContain(`runOptions.quality: the default "best" is not one of its values`);
  });

  test.each([
    ["an option", { model: "openai/gpt-image-2", price: { inputPer1k: "0.8", perImage: "9" } }],
    ["the defaults", { model: "fal/hunyuan-video", price: { perImage: "9" }, defaults: { price: { perImage: "8" } } }],
  ])("is refused if its price would be ignored because %s sets one", (_name, model) => {
    expect(faultsOf({ formatVersion: 1, models: [model] })).toMatch(
      /price\.\w+ has no effect: .*(Set the price|sets its own price)/,
    );
  });

  test("is rejected with the options that a price belongs to, and accepted with the price there", () => {
    const image = { model: "openai/gpt-image-2", price: { inputPer1k: "0.8", perImage: "9" } };
    expect(faultsOf({ formatVersion: 1, models: [image] })).toContain(
      "openai/gpt-image-2: price.perImage has no effect: every value of the option quality sets its own price. Change runOptions.quality.values.low.price.perImage, runOptions.quality.values.medium.price.perImage,",
    );
    const quality = { default: "medium", values: { medium: { price: { perImage: "9" } } } };
    const priced = load({ formatVersion: 1, models: [{ model: "openai/gpt-image-2", runOptions: { quality } }] });
    const plan = { options: {}, maxOutputTokens: null, count: 1, images: 0, textBytes: 0, readsTokens: 0 };
    expect(priceCeiling(priced, [{ ...plan, model: image.model }], image.model).credits).toBe(10);
  });

  test("is refused if its price leaves out a shipped rate, which would then be free", () => {
    const change = (price: object) => faultsOf({ formatVersion: 1, models: [{ model: "openai/gpt-5.2", price }] });
    expect(change({ inputPer1k: "0.2" })).toContain(
      'openai/gpt-5.2: price replaces the shipped price as a whole, so it must also set outputPer1k (1.4); use "0" if',
    );
    const free = { model: "openai/gpt-5.2", price: { inputPer1k: "0", outputPer1k: "0" } };
    expect(load({ formatVersion: 1, models: [free] }).find(free.model)?.price).toEqual(free.price);
  });

  test("is refused if a per-second price has no duration", () => {
    const video = { model: "sandbox/video", runOptions: {}, price: { perSecond: "5" } };
    expect(faultsOf({ formatVersion: 1, models: [video] })).toContain("a per-second price needs a duration");
  });

  test("may begin with a UTF-8 byte order mark", () => {
    expect(load(`\uFEFF${JSON.stringify(file(own))}`).isEnabled("home/llama")).toBe(true);
  });

  test("that is not JSON is refused by name", () => {
    expect(faultsOf("{")).toMatch(/models\.json: not valid JSON: /);
  });

  test("that cannot be read is refused with its name, its setting, and what to do", () => {
    const read = (overlayFile: string) => () => loadCatalogue({ overlayFile, hasSecret: () => false, sandbox: true });
    const missing = join(tmpdir(), "promptd-no-such-file.json");
    expect(read(missing)).toThrow(
      new CatalogueError([`${missing} (PROMPTD_MODELS_FILE) cannot be used: it does not exist. Check the path.`]),
    );
    expect(read(tmpdir())).toThrow("cannot be used: it is a folder, not a file. Check the path.");
  });
});

test("option mappings are merged from left to right, provider options by key at every depth", () => {
  const catalogue = load(
    file({
      ...own,
      modality: "image",
      api: undefined,
      defaults: { size: "512x512", providerOptions: { home: { steps: 4, style: { warm: true } } } },
      runOptions: {
        style: { default: "cold", values: { cold: { providerOptions: { home: { style: { cold: true } } } } } },
        size: { values: { large: { size: "1024x1024" } } },
      },
    }),
  );
  const entry = catalogue.find("home/llama");
  if (entry === null) throw new Error("the overlay's model is missing");
  expect(resolveMapping(entry, { size: "large" })).toEqual({
    size: "1024x1024",
    providerOptions: { home: { steps: 4, style: { warm: true, cold: true } } },
  });
  expect(resolveMapping(entry, { size: "no such value" }).size).toBe("512x512");
});

test("models and options in the list are sorted by UTF-16 code units; values keep the catalogue's order", () => {
  const { models } = load(null, { secrets: ["OPENAI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"] }).resources().resources;
  const ids = models.map(({ model }) => model);
  expect(ids).toEqual([...ids].sort((a, b) => (a < b ? -1 : 1)));
  expect(models.find(({ model }) => model === "openai/gpt-image-2")?.availableRunOptions).toEqual([
    { key: "quality", options: ["low", "medium", "high"] },
    { key: "size", options: expect.arrayContaining(["auto", "1024x1024", "1024x1536", "1536x1024"]) as unknown },
  ]);
});
