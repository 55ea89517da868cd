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
])("an unknown model %s is answered with what may be meant: %s", (typed, meant) => {
  const [fault, ...others] = faultsOf(file(`model: ${typed}`));
  expect(fault).toContain(`model: there is no model "${typed}" on this server. Did you mean ${meant}`);
  expect(others).toEqual([]);
});

test("an unknown model is answered with a list that every author can read, beside that of operators", () => {
  expect(faultsOf(file("model: nothing-like-it")).join()).toMatch(
    /on this server\. "promptd models" lists those that run here, and "promptd admin models list" shows an operator all; roles are text-default, /,
  );
});

test("a model of the sandbox, where that is off, is answered with what brings it back", () => {
  const off = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: false });
  expect(faultsOf(file("model: sandbox/text"), off).join()).toContain(
    'there is no model "sandbox/text" on this server. The sandbox is off; PROMPTD_SANDBOX=on brings it back. ',
  );
  expect(faultsOf(file("model: sandbox/txt")).join()).not.toContain("is off");
});

test("an unknown model is answered alike whatever keys the server has", () => {
  const text = file("model: openai/gpt-5.4-mni");
  expect(faultsOf(text, ALL_KEYS)).toEqual(faultsOf(text, NO_KEY));
});

test("an unknown model is one fault, and none of images, options or later steps follows from it", () => {
  const images = "images: [{ label: A }, { label: B }]\noptions: { quality: high }\ncount: 2";
  expect(faultsOf(file(`model: acme/none\n${images}`))).toHaveLength(1);
  const steps = "model: sandbox/image\nsteps:\n  draft: { model: acme/none }\n  paint: {}";
  const body = "<!-- step: draft -->\nInvent.\n<!-- step: paint -->\n{{ steps.draft }}";
  expect(faultsOf(file(steps, body))).toEqual([expect.stringMatching(/^steps\.draft\.model: there is no model/)]);
});

test.each([
  ["model: openai/gpt-5.4\nmaxOutputTokens: 16000", 384, 4_096],
  ["model: openai/gpt-5.4\noptions: { reasoningEffort: high }\nmaxOutputTokens: 9000", 7_384, 16_384],
])("an output limit that leaves too little for reasoning is warned of: %s", (fields, left, usual) => {
  const [prompt] = parsePromptFile(file(fields), ALL_KEYS);
  expect(prompt?.warnings).toEqual([expect.stringContaining(`leaves ${left} of the 16384 tokens`)]);
  expect(prompt?.warnings[0]).toContain(`which may take ${usual}`);
});

test.each([
  "model: openai/gpt-5.4\nmaxOutputTokens: 300",
  "model: openai/gpt-5.4\noptions: { reasoningEffort: none }\nmaxOutputTokens: 16000",
  "model: openai/gpt-5.4\noptions: { reasoningEffort: xhigh }\nmaxOutputTokens: 300",
  "model: openai/gpt-4.1\nmaxOutputTokens: 16000",
])("an output limit beside which reasoning has room is not warned of: %s", (fields) => {
  expect(
    parsePromptFile(file(fields), ALL_KEYS)[0]?.warnings.filter((each) => each.includes("maxOutputTokens")),
  ).toEqual([]);
});

const EDIT = "model: openai/gpt-image-2.6-flare\nimages: [{ label: Photo }, { label: What changes, mask: true }]";
test("a role as a fallback is told to be one, and what a model makes is a plural", () => {
  expect(faultsOf(file("model: sandbox/text\nfallback: [text-default]"))).toEqual([
    "fallback: text-default is a role: name the models that are to answer",
  ]);
  expect(faultsOf(file("model: sandbox/text\nfallback: [sandbox/image]"))).toEqual([
    "fallback: sandbox/image makes images, sandbox/text makes text",
  ]);
});

test("a mask is one more image, of a model that takes one, beside an image", () => {
  expect(parsePromptFile(file(EDIT), ALL_KEYS)[0]?.definition.images).toEqual([
    { label: "Photo", description: "" },
    { label: "What changes", description: "", mask: true },
  ]);
  const faults = (fields: string) => faultsOf(file(fields)).map((fault) => fault.replace(/^images: /, ""));
  expect(faults(EDIT.replace("openai/gpt-image-2.6-flare", "sandbox/image"))).toEqual(["sandbox/image takes no mask"]);
  expect(faults(EDIT.replace("{ label: Photo }", "{ mask: true }"))).toEqual([
    "a step has one mask at most, this one has 2",
  ]);
  expect(faults(EDIT.replace("{ label: Photo }, ", ""))).toEqual([expect.stringContaining("the step needs one")]);
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
