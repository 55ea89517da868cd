/**
 * Watches a blob store: tells its failures apart from errors of the work that meets them, and knows while the store accepts
 * no writes, so that no provider is paid for a file that could not be stored.
 */
import { randomFillSync } from "node:crypto";
import { finished, Transform, type Readable } from "node:stream";
import { shareCalls } from "../../platform/resilience/share-calls.ts";
import type { FilesContext } from "../files-context.ts";
import { StorageFailure, type BlobStore, type OpenBlob } from "./blob-store.ts";
import type { Spool } from "./spool.ts";

export interface WatchedStorage {
  readonly blobs: BlobStore;
  readonly spool: Spool;
  /**
   * False if a write has failed and none has succeeded since. Each call then tries a write, at most every two seconds. The
   * first call also tries one, and so does a call after half a minute without writes, without waiting for the result.
   */
  isReady(): Promise<boolean>;
}

/** The size of a small picture: a disk with room for only a few bytes counts as full. */
const PROBE_BYTES = 262_144;
const PROBE_EVERY_MS = 2_000;
const QUIET_MS = 30_000;

export function watchStorage(
  inner: BlobStore,
  innerSpool: Spool,
  { newId, log, monotonicMs }: Pick<FilesContext, "newId" | "log"> & { readonly monotonicMs: () => number },
): WatchedStorage {
  let isBroken = false;
  let probedAtMs = -Infinity;
  let storedAtMs = -Infinity;

  const noteStored = (): void => {
    if (isBroken) log.info("files can be stored again");
    isBroken = false;
    storedAtMs = monotonicMs();
  };
  const noteFailure = (cause: unknown): void => {
    if (!isBroken) log.error({ err: cause }, "files cannot be stored: runs that produce files wait until they can be");
    isBroken = true;
  };
  const write = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      noteStored();
    } catch (cause) {
      if (cause instanceof TypeError) throw cause; // an invalid key is our bug
      noteFailure(cause);
      throw new StorageFailure("A file could not be stored.", { cause });
    }
  };
  const probe = async (): Promise<void> => {
    const key = newId();
    const bytes = randomFillSync(Buffer.allocUnsafe(PROBE_BYTES)); // on a compressing file system zeros take no space
    await write(() => inner.put(key, () => [bytes], PROBE_BYTES)).catch(() => {});
    await inner.delete(key).catch(() => {}); // otherwise the orphan sweep removes it
  };
  const tryWrite = shareCalls(async () => {
    if (monotonicMs() - probedAtMs >= PROBE_EVERY_MS) {
      probedAtMs = monotonicMs();
      await probe();
    }
    return !isBroken;
  });

  return {
    blobs: {
      put: (key, open, bytes) => write(() => inner.put(key, open, bytes)),
      putFile: (key, file) => write(() => inner.putFile(key, file)),
      get: async (key, range) => {
        const opened = await reading(() => inner.get(key, range));
        return opened === null ? null : { ...opened, body: watchedBody(opened) };
      },
      size: (key) => reading(() => inner.size(key)),
      delete: (key) => inner.delete(key),
      list: (prefix, onSkipped) => inner.list(prefix, onSkipped),
      readMark: () => inner.readMark(),
      writeMark: (text) => inner.writeMark(text),
      get markLocation() {
        return inner.markLocation;
      },
      discardPartial: (beforeMs, onSkipped) => inner.discardPartial(beforeMs, onSkipped),
    },
    spool: { ...innerSpool, write: (pieces) => spoolPieces(innerSpool, pieces, write) },
    isReady: () => {
      if (isBroken || storedAtMs === -Infinity) return tryWrite();
      if (monotonicMs() - storedAtMs >= QUIET_MS) void tryWrite(); // the next call will know
      return Promise.resolve(true);
    },
  };
}

async function reading<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof TypeError) throw cause;
    throw new StorageFailure("A file could not be read.", { cause });
  }
}

/**
 * A body that breaks off, or ends before its announced length, is a failure, never a shorter file. If the reader goes
 * away, the underlying stream is closed at once, even before the first byte was read and while the store is silent.
 */
function watchedBody({ body, size, part }: OpenBlob): Readable {
  const expected = part === null ? size : part.end - part.start + 1;
  let seen = 0;
  const watched = new Transform({
    transform: (piece: Uint8Array, _encoding, pass) => {
      seen += piece.byteLength;
      pass(null, piece);
    },
    flush: (end) =>
      end(seen === expected ? null : new StorageFailure(`A file of ${expected} bytes ended after ${seen}.`)),
  });
  finished(body, (cause) => {
    if (cause) watched.destroy(new StorageFailure("A file could not be read to its end.", { cause }));
  });
  watched.once("close", () => body.destroy());
  watched.on("error", () => {}); // nobody listens before the body is read; reading reports the error
  return body.pipe(watched);
}

/** Provider errors are passed on unchanged: only the disk's own failures are storage failures. */
async function spoolPieces(
  spool: Spool,
  pieces: AsyncIterable<Uint8Array>,
  write: (work: () => Promise<void>) => Promise<void>,
): ReturnType<Spool["write"]> {
  let sourceFault: { readonly error: unknown } | null = null;
  const source = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* pieces;
    } catch (error) {
      sourceFault = { error };
      throw error;
    }
  };
  let written: Awaited<ReturnType<Spool["write"]>> | null = null;
  await write(async () => {
    written = await spool.write(source()).catch((error: unknown) => {
      if (sourceFault === null) throw error;
      return null;
    });
  });
  if (sourceFault !== null) throw (sourceFault as { readonly error: unknown }).error;
  if (written === null) throw new Error("The spool wrote nothing and gave no reason.");
  return written;
}
