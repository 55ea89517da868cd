/** What the tests of this slice publish: the documentation's example files, and helpers that make small prompts. */
import { loadCatalogue, type Catalogue } from "../../src/models/index.ts";
import type { LiveVersion, PromptSource } from "../../src/prompts/prompt-definition.ts";
import { PromptFileError, type FaultCode, type PromptFault } from "../../src/prompts/prompt-fault.ts";
import { parsePromptFile } from "../../src/prompts/checks/parse-prompt-file.ts";
import { buildConfig } from "../../src/prompts/publishing/prompt-config.ts";

export const catalogue: Catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true });

export const TEA_POEM = `---
promptd: 1
title: Tea poem
description: A short poem for a tea label.
model: sandbox/text
inputs:
  topic: { description: What the poem is about }
  Child's Age: { default: "7" }
  tone: { options: { calm: slow and quiet, bright: quick and merry }, default: calm }
instructions: Write for a child of {{ input["Child's Age"] }}. Never give advice.
---
Write a two-line poem about {{ topic }}, {{ tone }}.
`;

export const PENCIL_PORTRAIT = `---
promptd: 1
title: Pencil portrait
description: Turns a photo into a pencil drawing.
model: sandbox/image
images: [{ label: Photo, description: One well-lit face }]
inputs: { background: { default: white, allowEmpty: true } }
options: { quality: high }
---
Redraw the photo as a pencil portrait.{% if background != blank %} Background: {{ background }}.{% endif %}
`;

export const STORY_COVER = `---
promptd: 1
title: Story cover
description: Invents a story and paints its cover.
model: sandbox/image
inputs: { hero: {}, accessories/styling: { default: none } }
steps:
  draft: { model: sandbox/text, maxOutputTokens: 300 }
  cover: { options: { size: 1024x1024 } }
---
<!-- step: draft -->
Tell in five sentences a story about {{ hero }} ({{ input["accessories/styling"] }}).
<!-- step: cover -->
A book cover, no lettering, for this story: {{ steps.draft }}
`;

export function parseOne(file: string): PromptSource {
  const [source] = parsePromptFile(file, catalogue);
  if (source === undefined) throw new Error("The file holds no prompt.");
  return source;
}

/** A text prompt with this body; `fields` are more lines of front matter. */
export function textPrompt(body: string, fields = ""): string {
  return `---\npromptd: 1\ntitle: A test\nmodel: sandbox/text\n${fields}${fields === "" ? "" : "\n"}---\n${body}\n`;
}

export function faultsOf(file: string): readonly PromptFault[] {
  try {
    parsePromptFile(file, catalogue);
  } catch (error) {
    if (error instanceof PromptFileError) return error.faults;
    throw error;
  }
  return [];
}

export function codesOf(file: string): FaultCode[] {
  return faultsOf(file).map((fault) => fault.code);
}

/** The prompt as a run sees it, without a database. */
export function liveVersion(file: string): LiveVersion {
  const { title, model, modality, definition } = parseOne(file);
  return {
    promptId: "01a182d4-47a0-7b12-9c0d-6d2f4a8e1b33",
    promptVersionId: "01a19b45-b800-7a3e-8b1d-0c6f5e2a9b77",
    authorId: "01a182d4-47a0-7b12-9c0d-6d2f4a8e1b34",
    title,
    model,
    modality,
    config: buildConfig(definition, catalogue, model),
    definition,
  };
}
