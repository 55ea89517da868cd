import { expect, test } from "vitest";
import { availability, unavailableSentence } from "./availability.ts";
import { loadCatalogue } from "./catalogue.ts";

const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true });
const retired = (successor?: string) => ({
  ...catalogue,
  find: (model: string) => {
    const entry = catalogue.find(model);
    return entry === null ? null : { ...entry, status: "retired" as const, successor };
  },
});
const sentence = (...[from, model]: Parameters<typeof availability>) => {
  const found = availability(from, model);
  return found.kind === "available" ? null : [found.kind, unavailableSentence(model, found)];
};

test("a model is available, disabled, retired, or unknown, and one sentence says why it cannot be used", () => {
  expect(sentence(catalogue, "sandbox/text")).toBeNull();
  expect(sentence(catalogue, "openai/gpt-5.2")).toEqual([
    "disabled",
    "The model openai/gpt-5.2 is not enabled on this server.",
  ]);
  expect(sentence(retired(), "sandbox/text")).toEqual(["retired", "The model sandbox/text is retired."]);
  expect(sentence(retired("sandbox/text-free"), "sandbox/text")).toEqual([
    "retired",
    "The model sandbox/text is retired. Its successor is sandbox/text-free.",
  ]);
  expect(sentence(catalogue, "nobody/model")).toEqual(["unknown", 'There is no model "nobody/model" on this server.']);
});

test("a retired model stays retired, whatever an older process enables", () => {
  expect(availability({ ...retired(), isEnabled: () => true }, "sandbox/text").kind).toBe("retired");
});
