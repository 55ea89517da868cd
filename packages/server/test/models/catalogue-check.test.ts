/**
 * `npm run catalogue:check`: whether the shipped catalogue is still correct, without a network. Prices are compared with an
 * open data set, ids with those in the providers' pinned packages, and end dates with today. It is meant to fail as time
 * goes by.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { calcPrice } from "@pydantic/genai-prices";
import { describe, expect, test } from "vitest";
import { loadCatalogue, type CatalogueEntry } from "../../src/models/catalogue/catalogue.ts";
import { readShipped } from "../../src/models/catalogue/shipped.ts";
import { DAY_MS, dayOf, systemClock } from "../../src/platform/clock.ts";
import { parsePromptFile } from "../../src/prompts/index.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const SOON_DAYS = 60;
const TODAY = dayOf(systemClock.nowMs());
const SOON = dayOf(systemClock.nowMs() + SOON_DAYS * DAY_MS);

const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true });
const records = readShipped().records.filter(({ provider }) => provider !== "sandbox");
const living = records.filter(({ status }) => status !== "retired");

describe("life", () => {
  test("no entry past its end is not marked as retired", () => {
    const overdue = living.filter(({ retiresAt }) => retiresAt !== undefined && retiresAt <= TODAY);
    expect(overdue.map(({ model, retiresAt }) => `${model}: make it retired, retiredAt ${retiresAt}`)).toEqual([]);
  });

  test("an entry's successor outlives it by more than the warning period", () => {
    const byModel = new Map(records.map((record) => [record.model, record]));
    const bad = records.filter(({ successor = null }) => {
      const next = successor === null ? undefined : byModel.get(successor);
      return next !== undefined && (next.status === "retired" || (next.retiresAt ?? "9999") <= SOON);
    });
    expect(bad.map(({ model, successor }) => `${model} -> ${successor}`)).toEqual([]);
  });

  test("at least 90 models run, and at least 60 of them for another year, as far as is known", () => {
    const inAYear = dayOf(systemClock.nowMs() + 365 * DAY_MS);
    expect(living.length).toBeGreaterThanOrEqual(90);
    expect(living.filter(({ retiresAt = "9999" }) => retiresAt > inAYear).length).toBeGreaterThanOrEqual(60);
  });

  test("every entry names the sources of its id and its life", () => {
    expect(records.filter(({ source }) => source === undefined).map(({ model }) => model)).toEqual([]);
  });

  /** Everything a role could mean counts, not only what it means where the check runs. */
  const modelsOf = (name: string): readonly string[] => catalogue.roles[name] ?? [name];
  const fileModels = (text: string): string[] =>
    parsePromptFile(text, catalogue, { isDescribed: false }).flatMap(({ definition }) =>
      definition.steps.flatMap(({ model, role }) => modelsOf(role?.name ?? model)),
    );
  const dying = (models: readonly string[]): string[] =>
    [...new Set(models)].filter((model) => {
      const entry = catalogue.find(model);
      if (entry === null) return !model.startsWith("compatible/");
      return entry.status === "retired" || (entry.retiresAt ?? "9999") <= SOON;
    });

  test.each(Object.keys(catalogue.roles))(`no model of the role %s ends within ${SOON_DAYS} days`, (role) => {
    expect(dying(modelsOf(role))).toEqual([]);
  });

  test(`no example names a model that ends within ${SOON_DAYS} days`, () => {
    const names = readdirSync(join(ROOT, "examples")).filter((name) => name.endsWith(".prompt.md"));
    expect(names.length).toBeGreaterThanOrEqual(10);
    const models = names.flatMap((name) => {
      const text = readFileSync(join(ROOT, "examples", name), "utf8");
      const [, local] = /^model: (compatible\/.*)$/m.exec(text) ?? [];
      return local === undefined ? fileModels(text) : [local]; // the user's own server
    });
    expect(dying(models)).toEqual([]);
  });

  test(`no seed prompt names a model that ends within ${SOON_DAYS} days`, () => {
    const seed = join(ROOT, "packages/server/seed");
    const own = readdirSync(join(seed, "prompts")).map((name) => join(seed, "prompts", name));
    const models = [...own, join(seed, "catalogue.json")].flatMap((name) => fileModels(readFileSync(name, "utf8")));
    expect(models.length).toBeGreaterThan(400);
    expect(dying(models)).toEqual([]);
  });
});

/** The data set's names for our providers; it has no image prices. */
const PRICED: Readonly<Record<string, string>> = {
  openai: "openai",
  anthropic: "anthropic",
  google: "google",
  xai: "x-ai",
  mistral: "mistral",
  deepseek: "deepseek",
  groq: "groq",
  openrouter: "openrouter",
};

interface Rates {
  readonly inputPer1k: number;
  readonly outputPer1k: number;
}

const TOKENS = 1_000;
const HOUR_MS = 3_600_000;
/** Every hour of a day next year: an announced price increase is in the entry from the start, so that holds cover it. */
const HOURS = Array.from({ length: 24 }, (_, hour) => {
  const day = Math.floor(systemClock.nowMs() / DAY_MS) + 365;
  return new Date(day * DAY_MS + hour * HOUR_MS + HOUR_MS / 2);
});

/** Credits per 1,000 tokens of a short prompt at the most expensive hour; null: the data set does not have the model. */
function publishedRates({ provider, providerModel }: CatalogueEntry): Rates | null {
  const providerId = PRICED[provider];
  if (providerId === undefined) return null;
  const usage = { input_tokens: TOKENS, output_tokens: TOKENS };
  const prices = HOURS.flatMap((timestamp) => calcPrice(usage, providerModel, { providerId, timestamp }) ?? []);
  if (prices.length === 0) return null;
  const credits = (usd: readonly number[]): number => Math.round(Math.max(...usd) * 100 * 1e6) / 1e6;
  return {
    inputPer1k: credits(prices.map((price) => price.input_price)),
    outputPer1k: credits(prices.map((price) => price.output_price)),
  };
}

describe("prices", () => {
  const texts = catalogue.entries.filter(({ modality, provider, status }) => {
    return modality === "text" && provider !== "sandbox" && status !== "retired";
  });
  const named = texts.filter(({ priceSource = "" }) => priceSource.startsWith("@pydantic/genai-prices"));

  test("match the data set wherever an entry names it as its source", () => {
    expect(named.length).toBeGreaterThan(40);
    const differing = named.flatMap((entry) => {
      const theirs = publishedRates(entry);
      const ours = { inputPer1k: Number(entry.price.inputPer1k), outputPer1k: Number(entry.price.outputPer1k) };
      return JSON.stringify(theirs) === JSON.stringify(ours) ? [] : [{ model: entry.model, ours, theirs }];
    });
    expect(differing).toEqual([]);
  });

  test("that differ from the data set have a reason in the entry", () => {
    const differing = texts.filter((entry) => {
      const theirs = publishedRates(entry);
      return theirs !== null && theirs.inputPer1k !== Number(entry.price.inputPer1k);
    });
    expect(
      differing.filter(({ priceSource = "" }) => priceSource.startsWith("@pydantic")).map((one) => one.model),
    ).toEqual([]);
    expect(differing.length).toBeLessThanOrEqual(3);
  });

  test("without two sources must be confirmed by the operator", () => {
    const assumed = records.filter(({ priceSource = "" }) => /assumed|one source only|no copy/i.test(priceSource));
    const trusted = assumed.filter(({ priceToConfirm, status }) => priceToConfirm !== true && status !== "retired");
    expect(trusted.map(({ model }) => model)).toEqual([]);
  });
});

/** Ids in the types of a provider's package: keys of a table, or a union of strings. */
function idsOf(packageName: string): ReadonlySet<string> {
  const types = readFileSync(join(ROOT, "node_modules", packageName, "dist/index.d.ts"), "utf8");
  return new Set(Array.from(types.matchAll(/["']([\w.-]+(?:\/[\w.-]+)*)["']/g), ([, id]) => id ?? ""));
}

/** Not in the package; their `source` says where they are documented. */
const NOT_IN_PACKAGE = new Set([
  "google/gemini-3-pro-image",
  "google/gemini-3.1-flash-lite",
  "google/gemini-3.1-flash-lite-image",
  "google/gemini-4-neon",
  "openai/gpt-6.2-astra",
  "openai/gpt-6.2-sol",
]);

describe("ids", () => {
  test.each(["openai", "anthropic", "google"])("of %s are known to its pinned package", (provider) => {
    const known = idsOf(`@ai-sdk/${provider}`);
    expect(known.size).toBeGreaterThan(20);
    const unknown = living.filter((entry) => entry.provider === provider && !known.has(entry.providerModel));
    expect(unknown.map(({ model }) => model).filter((model) => !NOT_IN_PACKAGE.has(model))).toEqual([]);
  });

  test("that the package now knows need no exception", () => {
    const learned = [...NOT_IN_PACKAGE].filter((model) => {
      const [provider = "", id = ""] = model.split("/");
      return idsOf(`@ai-sdk/${provider}`).has(id);
    });
    expect(learned).toEqual([]);
  });
});
