import { orAborted } from "../../platform/resilience/deadline.ts";

export interface ThroughputFloor {
  /** Measured over whole windows, so one late packet does not matter. */
  readonly windowMs: number;
  /** 0: no floor. */
  readonly windowBytesMin: number;
}

/** Reads a body that must deliver a number of bytes in each window until it ends. @throws `tooSlow()` if it does not. */
export async function readAboveFloor<Result>(
  body: AsyncIterable<Uint8Array>,
  read: (body: AsyncIterable<Uint8Array>) => Promise<Result>,
  { windowMs, windowBytesMin }: ThroughputFloor,
  tooSlow: () => Error,
): Promise<Result> {
  if (windowBytesMin === 0) return read(body);
  const stopper = new AbortController();
  let bytes = 0;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      yield chunk;
    }
  };
  const judge = (): void => {
    if (bytes < windowBytesMin) stopper.abort(tooSlow());
    bytes = 0;
  };
  // Runs after the sockets were read, so bytes that arrived while this process was busy count.
  const timer = setInterval(() => setImmediate(judge), windowMs);
  try {
    return await orAborted(read(counted()), stopper.signal);
  } finally {
    clearInterval(timer);
  }
}
