import type { Log } from "./log.ts";

/** One Ctrl-C comes twice under `npm start`: from the terminal, and again from npm, which passes it on. */
const SAME_SIGNAL_MS = 1_000;

/**
 * Runs `drain` on the first SIGTERM or SIGINT and ends the process when it is done. A second signal ends the process at
 * once: whoever asks twice does not want to wait, and leases and transactions repair what is left.
 */
export function stopOnSignal(drain: () => Promise<void>, log: Log): void {
  let firstMs: number | null = null;
  const onSignal = (signal: NodeJS.Signals) => {
    if (firstMs !== null) {
      if (performance.now() - firstMs > SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    firstMs = performance.now();
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
