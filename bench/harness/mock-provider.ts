/** The mock model server as a promptd provider: an overlay that names it, with a price, so that runs cost credits. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startServer, type ChildServer } from "./child-server.ts";
import { MOCK_MODEL } from "./mock-answer.ts";

/** Its name in the catalogue. */
export const MOCK_ENTRY = `mock/${MOCK_MODEL}`;

export function startMockModels({ delayMs = 0 } = {}): Promise<ChildServer> {
  const file = join(import.meta.dirname, "mock-models.ts");
  return startServer({ file, environment: { MOCK_DELAY_MS: String(delayMs) } });
}

export function writeOverlay(file: string, url: string): void {
  const limits = { maxOutputTokens: 100, contextTokens: 100_000, timeoutMs: 60_000, concurrency: 100_000 };
  const images = { max: 1, bytes: 10_485_760, maxSide: 2_048, tokens: 85 };
  const model = {
    index: 10_000,
    model: MOCK_ENTRY,
    provider: "mock",
    providerModel: MOCK_MODEL,
    api: "chat",
    modality: "text",
    price: { inputPer1k: "10", outputPer1k: "10" },
    inputs: { images },
    limits,
  };
  const overlay = { formatVersion: 1, providers: { mock: { baseURL: `${url}/v1` } }, models: [model] };
  writeFileSync(file, JSON.stringify(overlay));
}
