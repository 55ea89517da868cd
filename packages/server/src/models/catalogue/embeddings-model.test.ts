import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer } from "../../../test/support/test-server.ts";
import { loadCatalogue, type Catalogue } from "./catalogue.ts";
import { embeddingsModel, faultOfEmbeddingsModel } from "./embeddings-model.ts";

const HOME = { home: { baseURL: "http://127.0.0.1:1/v1", apiKeyEnv: "HOME_KEY" } };
const MODEL = {
  index: 10_000,
  model: "home/words",
  provider: "home",
  providerModel: "words",
  api: "chat",
  modality: "text",
  status: "active",
  runOptions: {},
  price: {},
  limits: { maxOutputTokens: 4096, contextTokens: 32_768, timeoutMs: 600_000, concurrency: 4 },
};

let directory = "";
let catalogue: Catalogue;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "promptd-embeddings-"));
  const overlayFile = join(directory, "models.json");
  await writeFile(overlayFile, JSON.stringify({ formatVersion: 1, providers: HOME, models: [MODEL] }));
  catalogue = loadCatalogue({ overlayFile, hasSecret: () => true, sandbox: true });
});
afterAll(() => rm(directory, { recursive: true }));

const faultOf = (model: string, ...set: string[]) =>
  faultOfEmbeddingsModel(catalogue, model, (name) => (set.includes(name) ? "set" : null));

describe("a model for embeddings", () => {
  test.each([
    ["openai/text-embedding-3-small", "OPENAI_API_KEY"],
    ["openai/nomic-embed-text", "OPENAI_BASE_URL"],
    ["compatible/nomic-embed-text:latest", "OPENAI_BASE_URL"],
    ["google/gemini-embedding-001", "GOOGLE_GENERATIVE_AI_API_KEY"],
    ["home/org/words", "HOME_KEY"],
  ])("%s can be used if %s is set", (model, name) => {
    expect(faultOf(model, name)).toBeNull();
  });

  test.each([
    ["openai/text-embedding-3-small", "which needs OPENAI_API_KEY or OPENAI_BASE_URL."],
    ["compatible/nomic-embed-text", "which needs OPENAI_BASE_URL."],
    ["google/gemini-embedding-001", "which needs GOOGLE_GENERATIVE_AI_API_KEY."],
    ["home/words", "which needs HOME_KEY."],
  ])("%s cannot be used without %s", (model, needs) => {
    expect(faultOf(model)).toBe(`is ${model}, ${needs}`);
  });

  test.each(["text-embedding-3-small", "openai/", "anthropic/words", "/words", "nowhere/words"])(
    "cannot be %j, and the message says what is allowed",
    (model) => {
      expect(faultOf(model, "OPENAI_API_KEY")).toMatch(/^must be openai\/…, google\/…, compatible\/… .* got "/);
    },
  );

  test("on the server at OPENAI_BASE_URL is requested by its own name", () => {
    expect(embeddingsModel(catalogue, "compatible/org/words:1")).toEqual({
      provider: "compatible",
      providerModel: "org/words:1",
      server: null,
    });
  });

  test("that cannot be used fails startup", async () => {
    const environment = { PROMPTD_EMBEDDING_MODEL: "google/gemini-embedding-001" };
    await expect(startTestServer({ environment })).rejects.toThrow(
      "PROMPTD_EMBEDDING_MODEL is google/gemini-embedding-001, which needs GOOGLE_GENERATIVE_AI_API_KEY.",
    );
  });
});
