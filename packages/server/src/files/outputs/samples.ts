/**
 * Pictures that authors show as what their prompts make. Each is a file of its own, since the files of runs expire; it
 * goes when it is replaced, or with its prompt or account. Its address is made anew whenever it is shown.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../platform/clock.ts";
import type { Tx } from "../../platform/database/database.ts";
import { orAborted } from "../../platform/resilience/deadline.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import { expireNow, insertSample } from "../files-store.ts";
import { DecodeRefusal, encodeSample } from "../inputs/decode.ts";
import type { DecodingBudget } from "../inputs/decoding-budget.ts";
import type { PublishedMediaType, Refused } from "../stored-file.ts";
import { fileIdOf, signedPath, type KeyRing } from "./signed-urls.ts";

/** Its bytes are durable; it counts from the transaction that records it on. */
interface StoredSample {
  readonly kind: "stored";
  readonly fileId: string;
  readonly bytes: number;
  readonly mediaType: PublishedMediaType;
  readonly sha256: string;
}

export interface Samples {
  /**
   * Makes a copy of a generated picture, decoded, encoded again and small enough for pages.
   * @param url the address that the run gave it. Rejects when aborted, and with a StorageFailure.
   */
  take(
    picture: { readonly url: string; readonly accountId: string },
    signal: AbortSignal,
  ): Promise<StoredSample | Refused>;
  /** Inside the transaction that shows it. */
  record(tx: Tx, owner: { readonly accountId: string; readonly runId: string }, sample: StoredSample): Promise<void>;
  /** Where a page finds it today and tomorrow. */
  readonly urlOf: (fileId: string) => string;
  /** Its bytes go with the next sweeps. Inside the transaction that shows it no longer. */
  readonly release: (tx: Tx, fileId: string) => Promise<void>;
}

export interface SamplesPorts {
  readonly blobs: BlobStore;
  readonly newId: () => string;
  readonly clock: Clock;
  readonly decoding: DecodingBudget;
  readonly keys: KeyRing;
  readonly publicUrl: () => string;
}

const DAY_SECONDS = 86_400;
const GONE = "The picture of this run has expired. Run the prompt again, and take that run.";
const UNREADABLE = "The picture of this run cannot be read.";

export function createSamples(ports: SamplesPorts): Samples {
  const { blobs, newId, clock, decoding, keys, publicUrl } = ports;
  return {
    take: async ({ url, accountId }, signal) => {
      const madeId = fileIdOf(url);
      const made = madeId === null ? null : await orAborted(blobs.get(madeId, null), signal);
      if (made === null) return { kind: "refused", message: GONE };
      const bytes = Buffer.concat((await orAborted(made.body.toArray(), signal)) as Buffer[]);
      try {
        const encoded = await decoding.run({ bytes, accountId, signal }, () => encodeSample(bytes));
        const fileId = newId();
        await orAborted(
          blobs.put(fileId, () => [encoded.bytes], encoded.bytes.byteLength),
          signal,
        );
        const sha256 = createHash("sha256").update(encoded.bytes).digest("hex");
        return { kind: "stored", fileId, bytes: encoded.bytes.byteLength, mediaType: encoded.mediaType, sha256 };
      } catch (error) {
        if (!(error instanceof DecodeRefusal)) throw error;
        return { kind: "refused", message: UNREADABLE };
      }
    },
    record: insertSample,
    release: expireNow,
    urlOf: (fileId) => {
      // The same all day, so that browsers load it once; what is shown no longer can be read until tomorrow at most.
      const today = Math.floor(clock.nowMs() / 1_000 / DAY_SECONDS);
      const expiresAt = (today + 2) * DAY_SECONDS;
      return publicUrl() + signedPath({ fileId, mediaType: "image/webp", expiresAt }, keys.current);
    },
  };
}
