import { expect, test } from "vitest";
import { availability, unavailableSentence } from "./availability.ts";
import { loadCatalogue } from "./catalogue.ts";

const MODEL = "openai/gpt-image-1.5"; // its end is announced for 2026-12-01

function catalogueAt(time: string) {
  const clock = { now: Date.parse(time), nowMs: () => clock.now };
  const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true, clock });
  const listed = () => catalogue.resources().resources.models.map(({ model }) => model);
  return { catalogue, listed, moveTo: (next: string) => (clock.now = Date.parse(next)) };
}

test("a model whose end is announced is offered until that day begins, marked with its successor", () => {
  const { catalogue, listed } = catalogueAt("2026-11-30T23:59:59.999Z");
  expect(availability(catalogue, MODEL)).toMatchObject({
    kind: "available",
    entry: { status: "deprecated" },
    ends: `The model ${MODEL} ends on 2026-12-01. Runs of its prompts are refused from that day on. Its successor is openai/gpt-image-2.6-flare.`,
  });
  expect(listed()).toContain(MODEL);
});

test("on the announced day a model retires in a running process, whatever another process enables", () => {
  const { catalogue, listed, moveTo } = catalogueAt("2026-11-30T23:59:59.999Z");
  const before = catalogue.resources().hash;
  moveTo("2026-12-01T00:00:00.000Z");
  const found = availability(catalogue, MODEL);
  expect(found).toMatchObject({ kind: "retired", entry: { retiredAt: "2026-12-01" } });
  if (found.kind === "available") throw new Error("it is still available");
  expect(unavailableSentence(MODEL, found)).toBe(
    `The model ${MODEL} is retired. Its successor is openai/gpt-image-2.6-flare.`,
  );
  expect(listed()).not.toContain(MODEL);
  expect(catalogue.resources().hash).not.toBe(before);
  expect(catalogue.enabledHere()).not.toContain(MODEL);
  catalogue.useEnabled([MODEL, "sandbox/text"], []);
  expect(listed()).toEqual(["sandbox/text"]);
});

test("a process that starts after that day does not offer the model", () => {
  const { catalogue } = catalogueAt("2027-02-01T00:00:00Z");
  expect(catalogue.isEnabled(MODEL)).toBe(false);
});

test("a model without an announced end keeps the status in its file", () => {
  const { catalogue } = catalogueAt("2036-01-01T00:00:00Z");
  expect(availability(catalogue, "sandbox/text")).toMatchObject({ kind: "available", ends: null });
});

test("every model that ends or has ended names a successor that outlives it", () => {
  const { catalogue } = catalogueAt("2026-11-22T00:00:00Z");
  const ending = catalogue.entries.filter(({ status }) => status !== "active");
  expect(ending.length).toBeGreaterThan(10);
  const successors = ending.map(({ model, successor }) => [model, catalogue.find(successor ?? "")?.status]);
  expect(successors.filter(([, status]) => status !== "active")).toEqual([]);
});
