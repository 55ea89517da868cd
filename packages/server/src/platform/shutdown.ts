import type { Log } from "./log.ts";

/**
 * Runs `drain` on the first SIGTERM or SIGINT and ends the process when it is done. A second signal ends the process at
 * once: whoever asks twice does not want to wait, and leases and transactions repair what is left.
 */
export function stopOnSignal(drain: () => Promise<void>, log: Log): void {
  let draining = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (draining) process.exit(1);
    draining = true;
    log.info({ signal }, "stopping: requests that wait are answered, runs finish or are given back");
    drain().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, "stopping failed");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}
