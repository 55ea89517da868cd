/** The run options of a prompt whose model changed after it was published (specification, "Run options" and "config"). */
import type { Client } from "@promptd/client";
import type { PromptConfig } from "@promptd/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { imagePrompt, promptFile } from "../prompts/prompt-files.ts";
import { overlayFiles } from "./overlay-file.ts";
import { bodyOf, issuesOf, postRun, runOf } from "./requests.ts";

/** Two values of `quality` are gone, one is new, and `size` is no longer an option. */
const CHANGED = {
  model: "sandbox/image",
  runOptions: {
    quality: { default: "ultra", values: { high: { price: { perImage: "8" } }, ultra: { price: { perImage: "20" } } } },
  },
};
/** No default any more. */
const LEFT_OPEN = {
  model: "sandbox/text",
  runOptions: { reasoningEffort: { values: { high: { reasoning: "high" } } } },
};

const writeOverlay = overlayFiles();
let server: TestServer;
let before: Client;
let after: Client;

beforeAll(async () => {
  server = await startTestServer({ role: "api" });
  const { apiKey, client } = await server.createCaller({ credits: 1_000 });
  before = client;
  const file = writeOverlay({ models: [CHANGED, LEFT_OPEN] });
  const app = await server.startAnother("all", { PROMPTD_MODELS_FILE: file });
  after = server.clientOf(apiKey, app.listenUrl ?? "");
});
afterAll(() => server.close());

const painting = (title: string, quality: string) =>
  server.publish(imagePrompt({ title, fields: `options: { quality: ${quality}, size: "256x256" }` }));

/** As all three endpoints show them, which agree. */
async function shownOptions(client: Client, title: string): Promise<PromptConfig["runOptions"]> {
  const row = (await client.prompts.search(title)).rows.find((each) => each.title === title);
  if (row === undefined) throw new Error(`Search does not find ${title}.`);
  const { config } = await client.prompts.get(row.promptId);
  expect(row.configs).toEqual(config);
  expect((await client.promptVersions.get(row.promptVersionId)).config).toEqual(config);
  return config.runOptions;
}

async function charge(promptVersionId: string, runOptions?: Record<string, string>): Promise<number> {
  return runOf(await postRun(after, { ...bodyOf(promptVersionId), runOptions })).tokens;
}

describe("the config of a prompt whose author chose a value that is gone", () => {
  test("shows the model's options as they were, before the change", async () => {
    await painting("Gannet", "low");
    expect(await shownOptions(before, "Gannet")).toEqual({
      quality: { default: "low", options: ["low", "medium", "high"] },
      size: { default: "256x256", options: ["256x256", "512x512", "1024x1024"] },
    });
  });

  test("shows today's options and the default that a run is charged", async () => {
    const { promptVersionId } = await painting("Kittiwake", "low");
    expect(await shownOptions(after, "Kittiwake")).toEqual({
      quality: { default: "ultra", options: ["high", "ultra"] },
    });
    expect(await charge(promptVersionId)).toBe(20);
  });

  test("offers only values that a run accepts, and a value that is gone is 422", async () => {
    const { promptVersionId } = await painting("Guillemot", "low");
    const { quality } = await shownOptions(after, "Guillemot");
    const charges = [];
    for (const value of quality?.options ?? []) charges.push(await charge(promptVersionId, { quality: value }));
    expect(charges).toEqual([8, 20]);
    const refused = await postRun(after, {
      ...bodyOf(promptVersionId),
      runOptions: { quality: "low", size: "256x256" },
    });
    expect(issuesOf(refused).map(({ code }) => code)).toEqual(["unsupported_option_value", "unsupported_option"]);
  });
});

test("an author's value that the model still has stays the default and determines what a run is charged", async () => {
  const { promptVersionId } = await painting("Razorbill", "high");
  expect(await shownOptions(after, "Razorbill")).toEqual({ quality: { default: "high", options: ["high", "ultra"] } });
  expect(await charge(promptVersionId)).toBe(8);
});

test("each step falls back to the model's default for values that are gone, and keeps the others", async () => {
  const fields = "steps:\n  sketch: { options: { quality: high } }\n  painting: { options: { quality: medium } }";
  const body = "<!-- step: sketch -->\nA sketch.\n<!-- step: painting -->\nA painting.";
  const { promptVersionId } = await server.publish(imagePrompt({ title: "Fulmar", fields, body }));
  expect(await shownOptions(after, "Fulmar")).toMatchObject({ quality: { default: "ultra" } });
  expect(await charge(promptVersionId)).toBe(8 + 20);
});

test("if the model no longer has a default, the default is null, and a run is made without a value", async () => {
  const fields = "options: { reasoningEffort: low }";
  const { promptVersionId } = await server.publish(promptFile({ title: "Dunlin", fields }));
  expect(await shownOptions(after, "Dunlin")).toEqual({ reasoningEffort: { default: null, options: ["high"] } });
  const run = runOf(await postRun(after, bodyOf(promptVersionId)));
  expect(run.runStatus).toBe("succeeded");
  expect(run.outputs[0]?.data).toContain("reasoning: provider-default\n");
});
