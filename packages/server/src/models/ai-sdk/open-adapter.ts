import type { Catalogue } from "../catalogue/catalogue.ts";
import type { AdapterOptions } from "./call-settings.ts";
import type { ModelAdapter } from "./model-adapter.ts";

/** A provider may take minutes to serve a video, at any speed; an image is never waited for longer than its call. */
const DOWNLOAD_TIMES = { headersMs: 30_000, totalMs: 300_000, windowBytesMin: 0 };

/** Opens the adapter for all providers. The SDK is loaded only here: operator commands call no models. */
export async function openAdapter({
  catalogue,
  ...options
}: Pick<AdapterOptions, "secret" | "clock" | "log" | "spool"> & {
  readonly catalogue: Catalogue;
}): Promise<ModelAdapter> {
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
