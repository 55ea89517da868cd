import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { GuardedFetch, Spool } from "../../files/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { ProviderPlace, ReadSecret } from "../providers/provider-endpoint.ts";
import type { SandboxTimer } from "../sandbox/sandbox-provider.ts";
import type { createTransport, Transport } from "../providers/transport.ts";

export interface AdapterOptions {
  readonly secret: ReadSecret;
  readonly clock: Clock;
  readonly log: Log;
  /** For files that a provider names: never with the provider's credentials. */
  readonly download: GuardedFetch;
  /** Where videos are written while they arrive. */
  readonly spool: Spool;
  /** The longest deadline of any call, so that idle timers of connections stay behind it. */
  readonly timeoutMsMax: number;
  /** In tests: another network. */
  readonly connect?: typeof createTransport;
}

/** What every call needs. */
export interface Adapter extends AdapterOptions {
  readonly timer: SandboxTimer;
  readonly languageModels: Map<string, LanguageModelV4>;
  transportOf(entry: Pick<CatalogueEntry, "provider" | "server">): { place: ProviderPlace; transport: Transport };
}
