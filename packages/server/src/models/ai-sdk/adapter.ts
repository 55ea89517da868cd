/**
 * The adapter: makes one call, and turns every answer and every error of the SDK into a value of model-call.ts. Policy
 * (retries, deadlines, limits) is in call-model.ts; the SDK retries nothing here.
 */
import type { ModelAdapter } from "../model-call.ts";
import { resolvePlace } from "../providers/provider-endpoint.ts";
import { createSandboxTimer } from "../sandbox/sandbox-provider.ts";
import { createTransport, type Transport } from "../providers/transport.ts";
import type { Adapter, AdapterOptions } from "./adapter-context.ts";
import { embedTexts } from "./embed-texts.ts";
import { callImage, callText } from "./make-text-or-image.ts";
import { beginVideo, checkVideo, stopVideo } from "./make-video.ts";
import { settled } from "./settle.ts";

const IDLE_MARGIN_MS = 30_000;

export function createAiSdkAdapter(options: AdapterOptions): ModelAdapter {
  globalThis.AI_SDK_LOG_WARNINGS = false; // they are logged below, without the values they may name
  const transports = new Map<string, Transport>();
  const adapter: Adapter = {
    ...options,
    timer: createSandboxTimer(options.clock),
    languageModels: new Map(),
    transportOf: (entry) => {
      const place = resolvePlace(entry, options.secret);
      const key = `${entry.provider} ${place.baseUrl}`;
      const transport =
        transports.get(key) ??
        (options.connect ?? createTransport)({
          ...place,
          idleMs: options.timeoutMsMax + IDLE_MARGIN_MS,
          download: options.download,
        });
      transports.set(key, transport);
      return { place, transport };
    },
  };
  return {
    callModel: (call, signal) =>
      settled(adapter, { entry: call.entry, signal }, () =>
        (call.entry.modality === "text" ? callText : callImage)(adapter, call, signal),
      ),
    startVideo: (call, signal) =>
      settled(adapter, { entry: call.entry, signal }, () => beginVideo(adapter, call, signal)),
    pollVideo: (poll, signal) =>
      settled(adapter, { entry: poll.entry, signal }, () => checkVideo(adapter, poll, signal)),
    cancelVideo: async (video, signal) => {
      const canceled = await settled(adapter, { entry: video.entry, signal }, () => stopVideo(adapter, video, signal));
      return canceled.kind === "text" || canceled.kind === "image" || canceled.kind === "video"
        ? { kind: "impossible" }
        : canceled;
    },
    embedTexts: (model, texts, signal) => embedTexts(adapter, { ...model, texts }, signal),
    close: async () => {
      await Promise.all([...transports.values()].map((transport) => transport.close()));
      transports.clear();
      adapter.languageModels.clear();
    },
  };
}
