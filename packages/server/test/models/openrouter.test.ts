/** OpenRouter as simulated by @copilotkit/aimock: its own list, which is not labeled as one, and a key for both. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LLMock } from "@copilotkit/aimock";
import { expect, onTestFinished, test } from "vitest";
import { createEnabledModels } from "../../src/models/catalogue/enabled-models.ts";
import { loadCatalogue } from "../../src/models/catalogue/catalogue.ts";
import { createLog } from "../../src/platform/log.ts";
import { callOf, createRig, entryOf } from "../providers/adapter-rig.ts";
import { json, startOwnServer } from "../providers/own-server.ts";
import { chatAnswer } from "../providers/provider-answers.ts";
import { startProviderDouble } from "../providers/provider-double.ts";
import { openTestDatabase } from "../support/test-database.ts";

const KEY = "sk-or-the-key-of-this-test";
const ANSWER = "Frost writes on glass.";

test("OPENAI_BASE_URL and OPENAI_API_KEY lead to OpenRouter's models, from their list to a text", async () => {
  const mock = new LLMock({ port: 0 });
  await mock.start();
  onTestFinished(() => mock.stop());
  mock.on({ model: "anthropic/claude-sonnet-4.5", userMessage: /tea/ }, { content: ANSWER });
  const front = await startProviderDouble({ mockUrl: mock.url }); // the mock does not say which key it received
  onTestFinished(() => front.close());
  const environment: Record<string, string> = { OPENAI_BASE_URL: `${front.url}/api/v1`, OPENAI_API_KEY: KEY };
  const secret = (name: string): string | null => environment[name] ?? null;

  const { db, close } = await openTestDatabase();
  onTestFinished(close);
  const catalogue = loadCatalogue({ overlayFile: null, hasSecret: (name) => secret(name) !== null, sandbox: true });
  const probe = { secret, localModels: false, ownPort: 1 };
  const enabled = await createEnabledModels({
    catalogue,
    db,
    log: createLog("silent"),
    probe,
    foundConcurrency: null,
    limitRuns: async () => {},
  });
  onTestFinished(() => enabled.close());
  await enabled.announce();
  expect(catalogue.isEnabled("compatible/anthropic/claude-sonnet-4.5")).toBe(true);

  const entry = catalogue.find("compatible/anthropic/claude-sonnet-4.5");
  if (entry === null) throw new Error("the model is not known");
  const { adapter } = createRig(environment);
  const result = await adapter.callModel(callOf(entry), new AbortController().signal);
  expect(result).toMatchObject({ kind: "text", text: ANSWER });
  expect(front.received.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ["/api/v1/models", `Bearer ${KEY}`],
    ["/api/v1/chat/completions", `Bearer ${KEY}`],
  ]);
});

const BROKE = { index: 0, message: { role: "assistant", content: "" }, finish_reason: "error", error: { code: 502 } };

test.each([
  ["before its first word", { error: { code: 502, message: "boom", metadata: { provider_name: "x" } } }],
  ["after it", { ...chatAnswer({ text: "" }), choices: [BROKE] }],
])("an upstream failure %s is reported with status 200, and counts as the 502 that it is", async (_when, answer) => {
  const { url } = await startOwnServer((_request, response) => json(response, answer));
  const { adapter } = createRig({ OPENAI_BASE_URL: `${url}/v1` });
  const result = await adapter.callModel(callOf(entryOf("openai/gpt-5.2")), new AbortController().signal);
  expect(result).toMatchObject({ kind: "failed", cause: "overloaded", httpStatus: 502, retry: "safe" });
});

test("the documented entry for a priced OpenRouter model has no faults, and is enabled by its key alone", async () => {
  const page = await readFile(join(import.meta.dirname, "../../../../docs/models.md"), "utf8");
  const [, example = ""] = /```json\n([^`]*openrouter\.ai[^`]*)```/.exec(page) ?? [];
  const directory = await mkdtemp(join(tmpdir(), "promptd-openrouter-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const overlayFile = join(directory, "models.json");
  await writeFile(overlayFile, example);
  const load = (name: string) => loadCatalogue({ overlayFile, hasSecret: (one) => one === name, sandbox: true });
  const model = "openrouter/claude-sonnet-4.5";
  expect(load("OPENROUTER_API_KEY").isEnabled(model)).toBe(true);
  expect(load("OPENAI_API_KEY").isEnabled(model)).toBe(false);
  expect(load("").find(model)).toMatchObject({
    providerModel: "anthropic/claude-sonnet-4.5",
    server: { baseURL: "https://openrouter.ai/api/v1", apiKeyEnv: "OPENROUTER_API_KEY" },
    price: { inputPer1k: "0.3", outputPer1k: "1.5" },
  });
});
