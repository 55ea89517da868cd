/**
 * Inputs and outputs of a run may be megabytes. One rule for everything that reads runs: their sizes are columns
 * (inputs_bytes, outputs_bytes), a statement over many runs reads bodies only within a budget of bytes, and a body that
 * did not come with it is read here, or with the next page.
 *
 * Claims (sql/claim.sql) bring inputs of up to 40 KiB each, waits the smallest outputs up to 4 MiB together, and pages of
 * the list the first outputs up to 16 MiB together.
 */
import { isUnresponsive, isStatementTimeout } from "../platform/database/errors.ts";
import type { RunOfAccount } from "./runs-store.ts";

export interface BodyReaderOptions<Body> {
  /** One statement brings at most so much, unless one run alone is larger. */
  readonly bytesMax: number;
  /** By run. Through the pool: the pipelined connections, which every request needs, must never wait. */
  readonly readBodies: (runs: readonly RunOfAccount[]) => Promise<ReadonlyMap<string, Body>>;
}

interface BodyRequest {
  readonly run: RunOfAccount;
  readonly bytes: number;
  /** False: nobody waits for it any more, so it need not be read. */
  readonly isWanted: () => boolean;
}

/** Null when it was not wanted any more. */
export type ReadBody<Body> = (request: BodyRequest) => Promise<Body | null>;

interface Waiting<Body> extends BodyRequest {
  readonly resolve: (body: Body | null) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads bodies in parts that take little time each, one part at a time and small bodies first: over a slow line each part
 * has all of it, the other connections of the pool are left to others, and large bodies do not hold up small ones.
 */
export function createBodyReader<Body>({ bytesMax, readBodies }: BodyReaderOptions<Body>): ReadBody<Body> {
  let waiting: Waiting<Body>[] = [];
  let isReading = false;

  async function readAll(): Promise<void> {
    isReading = true;
    await Promise.resolve(); // what is asked for together is read together
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
      // One of them may be what takes so long, so each is read alone, after smaller ones that came since.
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
