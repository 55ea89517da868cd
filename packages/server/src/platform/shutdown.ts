import type { Log } from "./log.ts";

/** One Ctrl-C comes twice under `npm start`: from the terminal, and again from npm, which passes it on. */
const SAME_SIGNAL_MS = 1_000;

/** SIGHUP: the terminal was closed, and what was started from it is not to stay behind. */
const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/**
 * Runs `drain` on the first SIGTERM, SIGINT or SIGHUP and ends the process when it is done. A second signal ends the
 * process at once: a second signal means no more waiting, and leases and transactions repair what is left.
 * @param monotonicMs milliseconds that never go back; for tests.
 */
export function stopOnSignal(
  drain: (signal: NodeJS.Signals) => Promise<void>,
  log: Log,
  monotonicMs: () => number = () => performance.now(),
): void {
  let firstMs: number | null = null;
  const onSignal = (signal: NodeJS.Signals) => {
    if (firstMs !== null) {
      if (monotonicMs() - firstMs > SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    firstMs = monotonicMs();
    log.info({ signal }, "stopping: waiting requests are answered, runs finish or are released");
    drain(signal).then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, "stopping failed");
        process.exit(1);
      },
    );
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
}
