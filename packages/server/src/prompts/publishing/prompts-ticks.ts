import type { Database } from "../../platform/database/database.ts";
import type { Log } from "../../platform/log.ts";
import type { Tick } from "../../platform/periodic-work.ts";
import { refreshEstimates } from "./estimates.ts";
import { rebindRoles, type RebindOptions } from "./rebind.ts";

export interface PromptsTicksOptions extends RebindOptions {
  readonly db: Database;
  readonly log: Log;
}

/** Periodic work for published prompts, done by one process of the installation. */
export function promptsTicks(options: PromptsTicksOptions): Tick[] {
  const { db, catalogue } = options;
  return [
    { name: "estimates", everySeconds: 300, run: async () => void (await refreshEstimates(db, catalogue)) },
    { name: "roles", everySeconds: 10, run: (stop) => bindRoles(options, stop) },
  ];
}

async function bindRoles(options: PromptsTicksOptions, stop?: AbortSignal): Promise<void> {
  const prompts = await rebindRoles(options.db, options, stop);
  if (prompts === 0) return;
  options.log.info({ prompts }, "roles now resolve to other models; prompts that use them have a new version");
}
