/**
 * The producers of one queue in their own process, which gets the number of jobs per round over IPC. A promptd run is done
 * when its end is stored; a peer's job is done a moment earlier, when its handler ends, which favors the peers.
 */
import { percentile } from "../search/measures.ts";

export interface QueueOrder {
  readonly jobs: number;
  readonly producers: number;
}

export interface QueueRound {
  readonly perSecond: number;
  /** The time from the call that sends a job until it is done. */
  readonly p50Ms: number;
  readonly p95Ms: number;
}

/**
 * Serves rounds until the parent disconnects.
 * @param send stores one job. A producer then sends its next job, whether or not this one is done.
 * @returns a function to call when a job is done.
 */
export function serveRounds(send: (job: string) => Promise<unknown>): (job: string) => void {
  const open = new Map<string, (job: string) => void>();
  process.on("message", (order: QueueOrder) => {
    void runRound(order, { open, send }).then((round) => process.send?.(round));
  });
  process.once("disconnect", () => process.exit());
  process.send?.("ready");
  return (job) => open.get(job)?.(job);
}

interface Queue {
  readonly open: Map<string, (job: string) => void>;
  readonly send: (job: string) => Promise<unknown>;
}

async function runRound({ jobs, producers }: QueueOrder, { open, send }: Queue): Promise<QueueRound> {
  const waits: number[] = [];
  const { promise: allDone, resolve } = Promise.withResolvers<void>();
  let sent = 0;
  const produce = async (): Promise<void> => {
    while (sent < jobs) {
      sent += 1;
      const job = crypto.randomUUID();
      const sentMs = performance.now();
      open.set(job, () => {
        open.delete(job);
        waits.push(performance.now() - sentMs);
        if (waits.length === jobs) resolve();
      });
      await send(job);
    }
  };
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: producers }, produce));
  await allDone;
  const seconds = (performance.now() - startedMs) / 1_000;
  return { perSecond: jobs / seconds, p50Ms: percentile(waits, 0.5), p95Ms: percentile(waits, 0.95) };
}
