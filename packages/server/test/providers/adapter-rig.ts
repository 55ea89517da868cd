import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { createSpool } from "../../src/files/index.ts";
import { createAiSdkAdapter } from "../../src/models/ai-sdk/adapter.ts";
import type { AdapterOptions } from "../../src/models/ai-sdk/call-settings.ts";
import {
  loadCatalogue,
  resolveMapping,
  type Catalogue,
  type CatalogueEntry,
} from "../../src/models/catalogue/catalogue.ts";
import type { ModelAdapter, ModelCall } from "../../src/models/ai-sdk/model-adapter.ts";
import type { ModelImage } from "../../src/models/providers/jobs.ts";
import { providerOf } from "../../src/models/providers/all-providers.ts";
import { makesJobs } from "../../src/models/providers/provider.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createLog } from "../../src/platform/log.ts";
import { MP4, PNG } from "./provider-answers.ts";

export const IMAGE: ModelImage = { bytes: PNG, mediaType: "image/png" };
/** Adds a model for an interface that no shipped model uses any longer. */
const overlayFile = join(import.meta.dirname, "own-models.json");
export const catalogue: Catalogue = loadCatalogue({ overlayFile, hasSecret: () => true, sandbox: true });

export function entryOf(model: string): CatalogueEntry {
  const entry = catalogue.find(model);
  if (entry === null) throw new Error(`no model ${model}`);
  return entry;
}

/** Whether the model's answers are started and polled. */
export function isJob({ provider, modality }: CatalogueEntry): boolean {
  return makesJobs(providerOf(provider), modality);
}

export function callOf(
  entry: CatalogueEntry,
  change: Partial<ModelCall> = {},
  options: Record<string, string> = {},
): ModelCall {
  return {
    entry,
    mapping: resolveMapping(entry, options),
    instructions: "Answer briefly.",
    prompt: "Describe a tea label.",
    authorsText: null,
    images: [],
    maxOutputTokens: entry.limits.maxOutputTokens,
    itemIndex: 0,
    callNumber: 1,
    idempotencyKey: "00000000-0000-7000-8000-000000000001:0:0",
    timeLimitMs: entry.limits.timeoutMs,
    key: 0,
    onText: null,
    ...change,
  };
}

/** An adapter that counts warnings: the SDK rounds values that a model does not support and only warns. */
export function createRig(secrets: Record<string, string>, change: Partial<AdapterOptions> = {}) {
  const log = createLog("silent");
  const warned = vi.spyOn(log, "warn");
  const downloads: string[] = [];
  const directory = mkdtempSync(join(tmpdir(), "promptd-spool-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const adapter: ModelAdapter = createAiSdkAdapter({
    secret: (name) => secrets[name] ?? (/_(KEY|TOKEN)$/.test(name) ? "secret-key" : null),
    clock: systemClock,
    log,
    download: {
      fetch: async (address) => {
        downloads.push(address);
        return { kind: "fetched", content: PNG };
      },
      fetchInto: async (address, { read }) => {
        downloads.push(address);
        return { kind: "fetched", content: await read(piecesOf(address.endsWith(".png") ? PNG : MP4)) };
      },
    },
    spool: createSpool(directory),
    timeoutMsMax: 60_000,
    ...change,
  });
  onTestFinished(() => adapter.close());
  const { signal } = new AbortController();
  /** Polls once, and fetches the result if it is ready. */
  const pollJob = async (job: Parameters<ModelAdapter["pollJob"]>[0]) => {
    const answer = await adapter.pollJob(job, signal);
    return answer.kind === "ready" ? answer.load(signal) : answer;
  };
  return { adapter, warned, downloads, signal, pollJob };
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
