import { expect, test } from "vitest";
import { loadCatalogue } from "../../models/index.ts";
import { PromptFileError } from "../prompt-fault.ts";
import { parsePromptFile } from "./parse-prompt-file.ts";

const ALL_KEYS = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true });
const NO_KEY = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true });

const file = (fields: string, body = "Say {{ topic }}.") => `---\npromptd: 1\ntitle: T\n${fields}\n---\n${body}\n`;

function faultsOf(text: string, catalogue = NO_KEY): string[] {
  try {
    parsePromptFile(text, catalogue);
    return [];
  } catch (error) {
    if (error instanceof PromptFileError) return error.faults.map(({ field, message }) => `${field}: ${message}`);
    throw error;
  }
}

test.each([
  ["gpt-5.4-mini", "openai/gpt-5.4-mini"],
  ["openai/gpt-5.4-mni", "openai/gpt-5.4-mini"],
  ["anthropic/claude-sonet-5-5", "anthropic/claude-sonnet-5-5"],
  ["gemini-3.8-flahs", "google/gemini-3.8-flash"],
  ["text-defualt", "text-default"],
  ["black-forest-labs/flux-2-pro", "replicate/flux-2-pro"],
])("the fault for the unknown model %s suggests %s", (typed, meant) => {
  const [fault, ...others] = faultsOf(file(`model: ${typed}`));
  expect(fault).toContain(`model: there is no model "${typed}" on this server. Did you mean ${meant}`);
  expect(others).toEqual([]);
});

test("the fault for an unknown model names the model list for every author, and the one for operators", () => {
  expect(faultsOf(file("model: nothing-like-it")).join()).toMatch(
    /on this server\. "promptd models" lists the models that run here, and an operator can list all with "promptd admin models list"; roles are text-default, /,
  );
});

test("the fault for a sandbox model says how to turn the sandbox on when it is off", () => {
  const off = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: false });
  expect(faultsOf(file("model: sandbox/text"), off).join()).toContain(
    'there is no model "sandbox/text" on this server. The sandbox is off; set PROMPTD_SANDBOX=on to enable it. ',
  );
  expect(faultsOf(file("model: sandbox/txt")).join()).not.toContain("is off");
});

test("the fault for an unknown model does not depend on the keys the server has", () => {
  const text = file("model: openai/gpt-5.4-mni");
  expect(faultsOf(text, ALL_KEYS)).toEqual(faultsOf(text, NO_KEY));
});

test("an unknown model is one fault, without further faults about images, options, or later steps", () => {
  const images = "images: [{ label: A }, { label: B }]\noptions: { quality: high }\ncount: 2";
  expect(faultsOf(file(`model: acme/none\n${images}`))).toHaveLength(1);
  const steps = "model: sandbox/image\nsteps:\n  draft: { model: acme/none }\n  paint: {}";
  const body = "<!-- step: draft -->\nInvent.\n<!-- step: paint -->\n{{ steps.draft }}";
  expect(faultsOf(file(steps, body))).toEqual([expect.stringMatching(/^steps\.draft\.model: there is no model/)]);
});

test.each([
  ["model: openai/gpt-5.4\nmaxOutputTokens: 16000", 384, 4_096],
  ["model: openai/gpt-5.4\noptions: { reasoningEffort: high }\nmaxOutputTokens: 9000", 7_384, 16_384],
])("an output limit that leaves too little room for reasoning gets a warning: %s", (fields, left, usual) => {
  const [prompt] = parsePromptFile(file(fields), ALL_KEYS);
  expect(prompt?.warnings).toEqual([expect.stringContaining(`leaves ${left} of openai/gpt-5.4's 16384 tokens`)]);
  expect(prompt?.warnings[0]).toContain(`which may use ${usual}`);
});

test.each([
  "model: openai/gpt-5.4\nmaxOutputTokens: 300",
  "model: openai/gpt-5.4\noptions: { reasoningEffort: none }\nmaxOutputTokens: 16000",
  "model: openai/gpt-5.4\noptions: { reasoningEffort: xhigh }\nmaxOutputTokens: 300",
  "model: openai/gpt-4.1\nmaxOutputTokens: 16000",
])("an output limit that leaves enough room for reasoning gets no warning: %s", (fields) => {
  expect(
    parsePromptFile(file(fields), ALL_KEYS)[0]?.warnings.filter((each) => each.includes("maxOutputTokens")),
  ).toEqual([]);
});

const EDIT = "model: openai/gpt-image-2.6-flare\nimages: [{ label: Photo }, { label: What changes, mask: true }]";
test("a role is not accepted as a fallback, nor is a model with a different kind of output", () => {
  expect(faultsOf(file("model: sandbox/text\nfallback: [text-default]"))).toEqual([
    "fallback: text-default is a role: name specific models here",
  ]);
  expect(faultsOf(file("model: sandbox/text\nfallback: [sandbox/image]"))).toEqual([
    "fallback: sandbox/image makes images, but sandbox/text makes text",
  ]);
});

test("a mask needs a model that accepts one, and another image in the same step", () => {
  expect(parsePromptFile(file(EDIT), ALL_KEYS)[0]?.definition.images).toEqual([
    { label: "Photo", description: "" },
    { label: "What changes", description: "", mask: true },
  ]);
  const faults = (fields: string) => faultsOf(file(fields)).map((fault) => fault.replace(/^images: /, ""));
  expect(faults(EDIT.replace("openai/gpt-image-2.6-flare", "sandbox/image"))).toEqual([
    "sandbox/image does not accept a mask",
  ]);
  expect(faults(EDIT.replace("{ label: Photo }", "{ mask: true }"))).toEqual([
    "a step can have at most one mask, but this one has 2",
  ]);
  expect(faults(EDIT.replace("{ label: Photo }, ", ""))).toEqual([
    expect.stringContaining("the step needs another image"),
  ]);
});

test("a known model without a key publishes, with a warning", () => {
  const text = file("model: openai/gpt-6.1-terra\noptions: { reasoningEffort: max }");
  const [without] = parsePromptFile(text, NO_KEY);
  const [having] = parsePromptFile(text, ALL_KEYS);
  expect(without?.definition).toEqual(having?.definition);
  expect(without?.warnings).toEqual([
    "The model openai/gpt-6.1-terra is not enabled on this server. Runs fail until it is.",
  ]);
  expect(having?.warnings).toEqual([]);
});
