/**
 * Inputs and outputs of a run may be megabytes. One rule applies to everything that reads runs: their sizes are columns
 * (inputs_bytes, outputs_bytes), a statement over many runs reads bodies only within a byte budget, and a body left out
 * of it is read here, or with the next page.
 *
 * Claims (sql/claim.sql) include inputs of up to 40 KiB each, waits include the smallest outputs up to 4 MiB in total,
 * and list pages include the first outputs up to 16 MiB in total.
 */
import { isUnresponsive, isStatementTimeout } from "../platform/database/errors.ts";
import type { RunOfAccount } from "./runs-store.ts";

export interface BodyReaderOptions<Body> {
  /** The most that one statement reads, unless a single run is larger. */
  readonly bytesMax: number;
  /** By run. Uses the pool: the pipelined connections, which every request needs, must never wait. */
  readonly readBodies: (runs: readonly RunOfAccount[]) => Promise<ReadonlyMap<string, Body>>;
}

interface BodyRequest {
  readonly run: RunOfAccount;
  readonly bytes: number;
  /** False: nobody waits for it any longer, so it need not be read. */
  readonly isWanted: () => boolean;
}

/** Null if it was no longer wanted. */
export type ReadBody<Body> = (request: BodyRequest) => Promise<Body | null>;

interface Waiting<Body> extends BodyRequest {
  readonly resolve: (body: Body | null) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads bodies in parts that take little time each, one part at a time and small bodies first. On a slow line each part
 * gets the full bandwidth, the pool's other connections stay free, and large bodies do not delay small ones.
 */
export function createBodyReader<Body>({ bytesMax, readBodies }: BodyReaderOptions<Body>): ReadBody<Body> {
  let waiting: Waiting<Body>[] = [];
  let isReading = false;

  async function readAll(): Promise<void> {
    isReading = true;
    await Promise.resolve(); // requests made together are read together
    for (let part = takePart(); part.length > 0; part = takePart()) await readPart(part);
    isReading = false;
  }

  function takePart(): Waiting<Body>[] {
    const [wanted, unwanted] = [waiting.filter((one) => one.isWanted()), waiting.filter((one) => !one.isWanted())];
    for (const { resolve } of unwanted) resolve(null);
    waiting = wanted.toSorted((a, b) => a.bytes - b.bytes);
    let count = 0;
    let bytes = 0;
    for (const one of waiting) {
      bytes += one.bytes;
      if (count > 0 && bytes > bytesMax) break;
      count += 1;
    }
    return waiting.splice(0, count);
  }

  async function readPart(part: readonly Waiting<Body>[]): Promise<void> {
    try {
      const bodies = await readBodies(part.map(({ run }) => run));
      for (const { run, resolve, reject } of part) {
        const body = bodies.get(run.runId);
        if (body === undefined) reject(new Error(`The row of run ${run.runId} no longer exists.`));
        else resolve(body);
      }
    } catch (error) {
      const isTooMuch = part.length > 1 && (isStatementTimeout(error) || isUnresponsive(error));
      // One of them may be what takes so long, so each is read alone, after smaller ones that have arrived since.
      if (isTooMuch) waiting.push(...part.map((one) => ({ ...one, bytes: Math.max(one.bytes, bytesMax + 1) })));
      else for (const { reject } of part) reject(error);
    }
  }

  return (request) => {
    const { promise, resolve, reject } = Promise.withResolvers<Body | null>();
    waiting.push({ ...request, resolve, reject });
    if (!isReading) void readAll();
    return promise;
  };
}
