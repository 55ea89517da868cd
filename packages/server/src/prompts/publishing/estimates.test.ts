import { readdir, readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { loadCatalogue, priceCeiling } from "../../models/index.ts";
import { catalogue, liveVersion, textPrompt } from "../../../test/prompts/prompt-fixtures.ts";
import { planSteps } from "../inputs/step-plans.ts";
import type { InputField, PromptSource } from "../prompt-definition.ts";
import { estimatePrices } from "./estimates.ts";
import { parsePromptFile } from "../checks/parse-prompt-file.ts";

const SEED = new URL("../../../seed/", import.meta.url);
const everyModel = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true });

async function seedFiles(): Promise<string[]> {
  const own = (await readdir(new URL("prompts/", SEED))).map((name) => `prompts/${name}`);
  return Promise.all(["catalogue.json", ...own].map((name) => readFile(new URL(name, SEED), "utf8")));
}

/** What a caller writes: 500 characters, or each of the choices. */
function valuesOf(input: InputField): string[] {
  if (input.choices === null) return ["x".repeat(Math.min(500, input.maxLength ?? 500)), input.default ?? "x"];
  return input.choices.map(({ name }) => name);
}

function holdOf(source: PromptSource, pick: (values: string[]) => string | undefined): number {
  const inputs = source.definition.inputs.map((input) => [input.key, pick(valuesOf(input)) ?? ""]);
  const plans = planSteps(source, Object.fromEntries(inputs) as Record<string, string>, {}, everyModel);
  return priceCeiling(everyModel, plans, source.model).credits;
}

describe("creditsRequired", () => {
  test.each(["sandbox/text", "openai/gpt-5.4-mini"])(
    "of every seed prompt on %s is enough for a run with texts of 500 characters, and close to the estimate",
    async (model) => {
      const files = (await seedFiles()).map((text) => text.replaceAll("sandbox/text", model).replaceAll("-free", ""));
      const sources = files.flatMap((text) => parsePromptFile(text, everyModel));
      expect(sources.length).toBeGreaterThan(400);
      for (const source of sources) {
        const { estimatedCredits, creditsRequired } = estimatePrices(source, everyModel);
        for (const pick of [(values: string[]) => values[0], (values: string[]) => values.at(-1)])
          expect(holdOf(source, pick), source.slug).toBeLessThanOrEqual(creditsRequired);
        // 3 for the answers; a step's reasoning may use 2 at medium effort, and 8 at high effort.
        const efforts = source.definition.steps.map(({ options }) => (options["reasoningEffort"] === "high" ? 8 : 2));
        const near = 3 + efforts.reduce((sum, credits) => sum + credits, 0);
        expect(creditsRequired - estimatedCredits, source.slug).toBeLessThanOrEqual(near);
        expect(creditsRequired, source.slug).toBeGreaterThanOrEqual(estimatedCredits);
      }
    },
  );

  test("counts the longest choices, and a default that is longer than 500 characters", () => {
    const required = (field: string): number =>
      estimatePrices(liveVersion(textPrompt("{{ a }}", `inputs: { a: ${field} }`)), catalogue).creditsRequired;
    const long = "x".repeat(10_000);
    expect(required("{ options: { short: x, long: y } }")).toBe(1);
    expect(required(`{ options: { short: x, long: ${long} } }`)).toBe(2);
    expect(required(`{ default: ${long} }`)).toBe(2);
  });

  test("of a prompt that texts of this length would make too long to send is based on its template", () => {
    const version = liveVersion(textPrompt("{{ a }}".repeat(2_100)));
    expect(estimatePrices(version, catalogue).creditsRequired).toBeGreaterThan(0);
  });
});
