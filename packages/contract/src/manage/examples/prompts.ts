import { ENDPOINT_EXAMPLES, type ExamplesOf } from "../../examples/endpoint-examples.ts";
import type { ShapesOf } from "../../endpoints.ts";
import type { promptsSchemas } from "../schemas/prompts.ts";

const { createRun, getPromptVersion } = ENDPOINT_EXAMPLES;
const { promptId, promptVersionId, config, publishedAt } = getPromptVersion.data;
const title = "A poem about tea";
const OLD_VERSION_ID = "019a0b12-8c40-7e21-b5d0-9f3a6c1e2d48";
const parameters = { promptId };
const use = { runs: 412, succeeded: 401, failed: 6, credits: 824 };

const source = `---
promptd: 1
title: A poem about tea
slug: a-poem-about-tea
model: sandbox/text
inputs: { topic: { maxLength: 200 } }
samples: [{ inputs: { topic: frost } }]
---
Write a four-line poem about {{ topic }}.
`;

const row = {
  promptId,
  title,
  state: "published",
  slug: "a-poem-about-tea",
  draft: { revision: 2, savedAt: "2026-11-22T16:20:00.000Z", savedBy: "Ada Lovelace", baseVersionId: promptVersionId },
  latest: {
    promptVersionId,
    version: 3,
    publishedAt,
    note: "Four lines instead of two.",
    model: "sandbox/text",
    modality: "text",
    estimatedCredits: 2,
    creditsRequired: 6,
  },
  versions: 3,
  labels: [{ label: "production", promptVersionId, version: 3 }],
  uses: 128,
  upVotes: 9,
  last30Days: use,
  moderation: null,
  isFeatured: false,
  endingModels: [
    {
      promptVersionId: OLD_VERSION_ID,
      version: 2,
      isLatest: false,
      model: "example/old-model",
      retiresAt: "2027-03-01",
      successor: "example/new-model",
    },
  ],
} as const;
const [output] = createRun.data.outputs;
if (output === undefined) throw new Error("The example of a run has no output.");
const sample = {
  runId: createRun.data.runId,
  takenAt: "2026-11-22T16:30:00.000Z",
  textInputs: { topic: "frost" },
  output,
};
const prompt = { ...row, source, authorSharePercent: null, sample };
const saved = { ...prompt, draft: { ...row.draft, revision: 3 } };
const version = {
  promptVersionId,
  version: 3,
  title,
  model: "sandbox/text",
  publishedAt,
  publishedBy: "Ada Lovelace",
  note: "Four lines instead of two.",
  isLatest: true,
  labels: ["production"],
  estimatedCredits: 2,
  last30Days: use,
  endingModels: [],
} as const;
const publication = {
  promptId,
  promptVersionId,
  version: 3,
  slug: "a-poem-about-tea",
  title,
  outcome: "changed",
  warnings: [],
} as const;
const test = {
  name: "sample 1",
  textInputs: { topic: "frost" },
  runOptions: {},
  images: 0,
  expects: [],
};

export const promptsExamples: ExamplesOf<ShapesOf<typeof promptsSchemas>> = {
  listPrompts: { parameters: { limit: 10, state: "published", q: "tea" }, data: { rows: [row], hasMore: false } },
  createDraft: {
    bodies: { empty: {}, written: { source } },
    data: { ...prompt, state: "draft", slug: null, latest: null, sample: null },
  },
  getPrompt: { parameters, data: prompt },
  saveDraft: { parameters, bodies: { next: { source, revision: 2 } }, data: saved },
  deleteDraft: { parameters, data: { promptId, isPromptDeleted: false } },
  publishDraft: {
    parameters,
    bodies: { next: { revision: 3, baseVersionId: promptVersionId, note: version.note } },
    data: publication,
  },
  rollBackPrompt: {
    parameters,
    bodies: { back: { promptVersionId: OLD_VERSION_ID, note: "Back to two lines." } },
    data: { ...publication, version: 4 },
  },
  unpublishPrompt: { parameters, data: { ...prompt, state: "unpublished" } },
  republishPrompt: { parameters, data: prompt },
  listVersions: { parameters: { promptId, limit: 10 }, data: { rows: [version], hasMore: true } },
  getVersion: { parameters: { promptId, promptVersionId }, data: { ...version, source, config } },
  diffPrompt: {
    parameters: { promptId, from: OLD_VERSION_ID, to: promptVersionId },
    data: {
      isSame: false,
      fields: [],
      inputs: [{ field: "inputs.topic.maxLength", before: 500, after: 200 }],
      options: [],
      texts: [
        {
          field: "steps.main.template",
          lines: [
            { kind: "removed", text: "Write a two-line poem about {{ topic }}." },
            { kind: "added", text: "Write a four-line poem about {{ topic }}." },
          ],
        },
      ],
      price: { before: { typical: 1, most: 4 }, after: { typical: 2, most: 6 } },
      conflicts: [
        {
          kind: "value_refused",
          name: "topic",
          message: "topic accepts at most 200 characters; the limit was 500.",
        },
      ],
    },
  },
  getPromptUsage: {
    parameters: { promptId, by: "day,version", from: "2026-11-01", to: "2026-11-22" },
    data: {
      from: "2026-11-01",
      to: "2026-11-22",
      rows: [{ day: "2026-11-21", promptVersionId, version: 3, runs: 31, succeeded: 30, failed: 1, credits: 60 }],
      isCut: false,
    },
  },
  setPromptSample: {
    parameters,
    bodies: { run: { runId: createRun.data.runId } },
    data: { sample },
  },
  deletePromptSample: { parameters, data: { sample: null } },
  setLabel: {
    parameters: { promptId, label: "production" },
    bodies: { move: { promptVersionId } },
    data: { labels: [...row.labels] },
  },
  deleteLabel: { parameters: { promptId, label: "production" }, data: { labels: [] } },
  createTestRun: {
    parameters: { promptId, Prefer: "wait=30" },
    bodies: {
      inputs: { revision: 3, inputs: { textInputs: { topic: "frost" } } },
      test: { revision: 3, test: "sample 1" },
      otherModel: { revision: 3, model: "sandbox/text", inputs: { textInputs: { topic: "frost" } } },
    },
    data: createRun.data,
  },
  getTestRun: {
    parameters: { promptId, runId: createRun.data.runId, test: "sample 1" },
    data: {
      run: createRun.data,
      price: { typical: 2, most: 6 },
      test: { name: "sample 1", passed: true, failures: [], unchecked: [] },
    },
  },
  checkPromptFile: {
    bodies: { file: { source } },
    data: {
      prompts: [
        {
          title,
          slug: "a-poem-about-tea",
          promptId: null,
          config,
          price: { typical: 2, most: 6 },
          warnings: [],
          notes: [],
          tests: [test],
        },
      ],
      faults: [
        {
          line: 9,
          column: 30,
          field: "body",
          code: "INPUT_UNDECLARED",
          message: '"tone" is used but not declared under inputs',
          excerpt: "{{ tone }}",
        },
      ],
      message:
        'line 9, column 30, body: "tone" is used but not declared under inputs Here: {{ tone }} [INPUT_UNDECLARED]',
      testRuns: "free",
    },
  },
  previewPromptFile: {
    bodies: { file: { source, textInputs: { topic: "frost" } } },
    data: {
      title,
      issues: [],
      ignored: [],
      steps: [
        {
          id: "main",
          model: "sandbox/text",
          options: {},
          maxOutputTokens: null,
          count: 1,
          settings: {},
          outputSchema: null,
          messages: [{ role: "user", text: "Write a four-line poem about frost.", images: [] }],
        },
      ],
      price: { typical: 2, most: 6 },
    },
  },
  publishPromptFile: { bodies: { file: { source, note: version.note } }, data: { published: [publication] } },
};
