import type { Log } from "./log.ts";

/** Under `npm start`, one Ctrl-C arrives twice: from the terminal, and again from npm, which forwards it. */
const SAME_SIGNAL_MS = 1_000;

/** SIGHUP: the terminal was closed, so what was started from it must not keep running. */
const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/**
 * Runs `drain` on the first SIGTERM, SIGINT, or SIGHUP, and exits when it is done. A second signal means "do not wait"
 * and ends the process at once; leases and transactions repair the rest.
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
    log.info({ signal }, "stopping: answering waiting requests; runs finish or are released");
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
