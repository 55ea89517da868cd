import type { Catalogue } from "../catalogue/catalogue.ts";
import type { AdapterOptions } from "./call-settings.ts";
import type { ModelAdapter } from "./model-adapter.ts";

export interface OpenAdapterOptions extends Pick<AdapterOptions, "secret" | "clock" | "log" | "spool"> {
  readonly catalogue: Catalogue;
}

/** A provider may take minutes to hand out a video, as slowly as it likes; an image is never waited for longer than its call. */
const DOWNLOAD_TIMES = { headersMs: 30_000, totalMs: 300_000, windowBytesMin: 0 };

/** The way to all providers. The SDK is loaded here and not before: an operator's command calls no model. */
export async function openAdapter({ catalogue, ...options }: OpenAdapterOptions): Promise<ModelAdapter> {
  const [{ createAiSdkAdapter }, { createGuardedFetch }] = await Promise.all([
    import("./adapter.ts"),
    import("../../files/index.ts"),
  ]);
  return createAiSdkAdapter({
    ...options,
    download: createGuardedFetch({ times: DOWNLOAD_TIMES }),
    timeoutMsMax: Math.max(...catalogue.entries.map((entry) => entry.limits.timeoutMs)),
  });
}
