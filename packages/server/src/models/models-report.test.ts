import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadCatalogue } from "./catalogue.ts";
import { checkOverlay, listModels } from "./models-report.ts";

const options = { hasSecret: (name: string) => name === "OPENAI_API_KEY", sandbox: true };

function check(overlay: unknown) {
  const directory = mkdtempSync(join(tmpdir(), "promptd-overlay-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "models.json");
  writeFileSync(file, JSON.stringify(overlay));
  return checkOverlay(file, options);
}

test("the list shows every model with its price, and what would enable it", () => {
  const lines = listModels(loadCatalogue({ ...options, overlayFile: null }));
  expect(lines[0]).toMatchObject({ index: 1, model: "sandbox/text", enabled: true, requires: null });
  const byModel = new Map(lines.map((line) => [line.model, line]));
  expect(byModel.get("openai/gpt-5.2")).toMatchObject({
    enabled: true,
    price: "inputPer1k 0.175, cachedInputPer1k 0.0175, outputPer1k 1.4",
  });
  expect(byModel.get("anthropic/claude-haiku-4-5")).toMatchObject({ enabled: false, requires: "ANTHROPIC_API_KEY" });
});

test("an overlay's report says what it adds, changes and withdraws", () => {
  const own = {
    index: 10_000,
    model: "home/llama",
    provider: "home",
    providerModel: "llama",
    api: "chat",
    modality: "text",
    price: {},
    limits: { maxOutputTokens: 4_096, contextTokens: 32_768, timeoutMs: 600_000, concurrency: 4 },
  };
  const report = check({
    formatVersion: 1,
    providers: { home: { baseURL: "http://127.0.0.1:11434/v1" } },
    models: [
      own,
      { model: "openai/gpt-5.2", price: { inputPer1k: "0.2", outputPer1k: "2" } },
      { model: "openai/gpt-5.5", status: "retired", retiredAt: "2026-11-01", successor: "openai/gpt-5.2" },
      { model: "openai/gpt-5.4", status: "deprecated" },
    ],
  });
  expect(report).toEqual({
    faults: [],
    added: ["home/llama"],
    changed: ["openai/gpt-5.2", "openai/gpt-5.4", "openai/gpt-5.5"],
    retired: ["openai/gpt-5.5"],
    deprecated: ["openai/gpt-5.4"],
  });
});

test("a faulty overlay's report lists every fault", () => {
  const report = check({ formatVersion: 1, models: [{ model: "openai/gpt-5.2", limts: 1 }, { model: "new/one" }] });
  expect(report.faults.length).toBeGreaterThan(0);
  expect(report.added).toEqual([]);
});
