import { describe, expect, test } from "vitest";
import {
  catalogue,
  parseOne,
  PENCIL_PORTRAIT,
  STORY_COVER,
  TEA_POEM,
  textPrompt,
} from "../../../test/prompts/prompt-fixtures.ts";
import { previewPrompt, type PreviewRequest } from "./preview-prompt.ts";
import { validatePrompts } from "./validate-prompts.ts";

const preview = (file: string, request: Partial<PreviewRequest> = {}) =>
  previewPrompt(parseOne(file), { textInputs: {}, runOptions: {}, ...request }, catalogue);

describe("a preview", () => {
  test("has the exact messages of a text prompt, with the caller's inputs and the author's defaults", () => {
    const { steps, issues } = preview(TEA_POEM, { textInputs: { topic: "rain" } });
    expect(issues).toEqual([]);
    expect(steps).toEqual([
      {
        id: "main",
        model: "sandbox/text",
        options: { reasoningEffort: "medium" },
        maxOutputTokens: null,
        count: 1,
        settings: {},
        outputSchema: null,
        messages: [
          { role: "system", text: "Write for a child of 7. Never give advice.", images: [] },
          { role: "user", text: "Write a two-line poem about rain, slow and quiet.", images: [] },
        ],
      },
    ]);
  });

  test("has a single text, with its images, for an image model", () => {
    const file = PENCIL_PORTRAIT.replace("options:", "instructions: Be gentle.\noptions:");
    expect(preview(file, { runOptions: { quality: "low" } }).steps[0]).toMatchObject({
      options: { quality: "low", size: "512x512" },
      messages: [
        {
          role: "user",
          text: "Be gentle.\n\nRedraw the photo as a pencil portrait. Background: white.",
          images: ["Photo"],
        },
      ],
    });
  });

  test("shows where the output of an earlier step goes, or the given text in its place", () => {
    const textInputs = { hero: "a fox" };
    const texts = (stepOutputs?: Record<string, string>) =>
      preview(STORY_COVER, { textInputs, ...(stepOutputs === undefined ? {} : { stepOutputs }) }).steps.map(
        (step) => step.messages.at(-1)?.text,
      );
    expect(texts()[1]).toBe('A book cover, no lettering, for this story: [output of step "draft"]');
    expect(texts({ draft: "Once." })[1]).toBe("A book cover, no lettering, for this story: Once.");
  });

  test("lists the issues for which a run with these inputs would be rejected", () => {
    const { steps, issues, price } = preview(TEA_POEM, { textInputs: { tone: "loud" } });
    expect(issues.map(({ code }) => code)).toEqual(["required", "invalid_value"]);
    expect([steps, price]).toEqual([[], null]);
  });
});

describe("a check", () => {
  test("returns each prompt's config, price, and warnings", () => {
    const { prompts, faults, message } = validatePrompts(textPrompt("Say {{Child's Age}} to ${name}."), catalogue);
    expect([faults, message]).toEqual([[], ""]);
    expect(prompts).toMatchObject([
      { title: "A test", slug: "a-test", promptId: null, price: { typical: 1, most: expect.any(Number) } },
    ]);
    expect(Object.keys(prompts[0]?.config.textInputs ?? {})).toEqual(["Child's Age"]);
    expect(prompts[0]?.warnings.join("\n")).toMatch(/\$\{name\}[\s\S]*was rewritten to/);
  });

  test("warns about a title that is still the template's", () => {
    const warningsOf = (title: string) =>
      validatePrompts(textPrompt("x").replace("title: A test", `title: ${title}`), catalogue).prompts[0]?.warnings;
    expect(warningsOf("Untitled photo prompt")?.join()).toContain('still "Untitled photo prompt"');
    expect(warningsOf("Photo as a stamp")?.join()).not.toContain("title");
  });

  test("returns every fault of a file, and the prompts without faults", () => {
    const json = JSON.stringify({
      promptd: 1,
      prompts: [
        { title: "Fine", model: "sandbox/text", template: "x" },
        { title: "Wrong", model: "sandbox/text", template: "{{ x" },
      ],
    });
    const { prompts, faults, message } = validatePrompts(json, catalogue);
    expect(prompts.map(({ title }) => title)).toEqual(["Fine"]);
    expect(faults).toMatchObject([{ field: "prompts[2].template", code: "TEMPLATE_SYNTAX" }]);
    expect(message).toContain("prompts[2].template");
  });
});
