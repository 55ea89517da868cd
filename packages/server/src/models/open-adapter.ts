import type { Spool } from "../files/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Catalogue } from "./catalogue/catalogue.ts";
import type { ModelAdapter } from "./model-call.ts";
import type { ReadSecret } from "./providers/provider-endpoint.ts";

export interface OpenAdapterOptions {
  readonly catalogue: Catalogue;
  readonly secret: ReadSecret;
  readonly clock: Clock;
  readonly log: Log;
  readonly spool: Spool;
}

/** A provider may take minutes to hand out a video; an image is never waited for longer than its call. */
const DOWNLOAD_TIMES = { headersMs: 30_000, totalMs: 300_000 };

/** The way to all providers. The packages are loaded here and not before: an operator's command calls no model. */
export async function openAdapter({ catalogue, ...options }: OpenAdapterOptions): Promise<ModelAdapter> {
  const [{ createAiSdkAdapter }, { createGuardedFetch }] = await Promise.all([
    import("./ai-sdk/index.ts"),
    import("../files/index.ts"),
  ]);
  return createAiSdkAdapter({
    ...options,
    download: createGuardedFetch({ times: DOWNLOAD_TIMES }),
    timeoutMsMax: Math.max(...catalogue.entries.map((entry) => entry.limits.timeoutMs)),
  });
}
