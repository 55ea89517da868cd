import type { ImageInput } from "@promptd/contract";
import { join } from "node:path";
import type { OpenFile } from "../http/endpoint.ts";
import type { Tx } from "../platform/database/database.ts";
import { OUTAGE_POLICY } from "../platform/database/errors.ts";
import { retry } from "../platform/resilience/retry.ts";
import { createSemaphore } from "../platform/resilience/semaphore.ts";
import type { Tick } from "../platform/periodic-work.ts";
import { createAccountFiles, type AccountFiles } from "./account-files.ts";
import { chooseBlobStore, type BlobStoreOptions } from "./blobs/choose-blob-store.ts";
import { createSpool, type Spool } from "./blobs/spool.ts";
import { watchStorage } from "./blobs/watched-blobs.ts";
import { createGuardedFetch, type GuardedFetchOptions } from "./fetch/guarded-fetch.ts";
import type { FilesContext } from "./files-context.ts";
import { insertInputs, insertOutputs, type InputsOwner } from "./files-store.ts";
import { createDecodingBudget } from "./inputs/decoding-budget.ts";
import { loadImages, type LoadOptions, type LoadOutcome } from "./inputs/load-images.ts";
import { discardInputImages, storeInputImages } from "./inputs/store-input-images.ts";
import { registerFileKeys } from "./outputs/file-keys.ts";
import { createOpenFile } from "./outputs/open-file.ts";
import type { SecretReadings } from "../platform/config/server-secret.ts";
import { storeOutput, type GeneratedFile } from "./outputs/store-outputs.ts";
import { createSamples, type Samples } from "./outputs/samples.ts";
import { createSweeps } from "./outputs/sweep-files.ts";
import type { Refused, StoredFile, StoredImage } from "./stored-file.ts";

export interface FilesOptions
  extends BlobStoreOptions, Pick<FilesContext, "db" | "publicUrl" | "ttlSeconds" | "newId" | "log"> {
  /** The server secret; the same in all processes on one database. */
  readonly secret: SecretReadings;
  /** Candidates for the secret before a rotation. */
  readonly previousSecrets?: readonly Buffer[];
  /** For tests: another network. No setting reaches this. */
  readonly fetch?: GuardedFetchOptions;
}

export interface Files {
  /**
   * Stores Base64 images durably before the run exists; addresses stay addresses. Expects images in which
   * `checkImageInputs` found no issues. If one cannot be stored, the images stored so far are removed.
   */
  storeInputImages(images: readonly ImageInput[]): Promise<StoredImage[]>;
  /**
   * Only for a run that is known not to have been created. Works in the background. The sweep removes what this cannot,
   * and the bytes of a run whose outcome is unknown.
   */
  discardInputImages(images: readonly StoredImage[]): void;
  /** Call this in the transaction that creates the run. The bytes are removed an hour after the run's deadline. */
  recordInputs(tx: Tx, owner: InputsOwner, images: readonly StoredImage[]): Promise<void>;
  /** Fetches, decodes, and resizes the images of a run, in order. Rejects if aborted, and with a StorageFailure. */
  loadImages(images: readonly StoredImage[], options: LoadOptions, signal: AbortSignal): Promise<LoadOutcome>;
  /**
   * Decodes and re-encodes an image, or checks a video, and stores the result durably. Removes a spooled file.
   * Rejects if aborted, and with a StorageFailure: an image may then be passed again.
   */
  storeOutput(output: GeneratedFile, signal: AbortSignal): Promise<StoredFile | Refused>;
  /** Call this in the transaction that finishes the run. */
  recordOutputs(
    tx: Tx,
    owner: { readonly accountId: string; readonly runId: string; readonly attempt: number },
    files: readonly StoredFile[],
  ): Promise<void>;
  /** False while the disk or the bucket accepts no writes: no model is called for a file then. */
  isReady(): Promise<boolean>;
  /** True: files are in a bucket, which every process uses and none can fix. */
  readonly isShared: boolean;
  /** For content too large to stay in memory until `storeOutput`. */
  readonly spool: Spool;
  openFile: OpenFile;
  /** Samples that authors show of their prompts. */
  readonly samples: Samples;
  /** All files of one account. */
  readonly ofAccount: AccountFiles;
  readonly ticks: readonly Tick[];
}

/** Each at most 10 MiB, so 320 MiB in the worst case. */
const FETCHES_AT_ONCE = 32;
/**
 * A permit cannot be taken back from a slow host. So three quarters stay free for other accounts, and several accounts
 * together leave permits for the next: four accounts with slow hosts hold 26 to 28.
 */
const FETCHES = { permits: FETCHES_AT_ONCE, keyShareMax: FETCHES_AT_ONCE / 4, leavesFree: true };

/** @throws Error if the secret is not the one that this database knows. */
export async function createFiles(options: FilesOptions): Promise<Files> {
  const { db, clock, log, newId, ttlSeconds, publicUrl } = options;
  const secrets = { current: options.secret, previous: options.previousSecrets ?? [] };
  const [store, keys] = await Promise.all([
    chooseBlobStore(options),
    retry(() => registerFileKeys(db, secrets, ttlSeconds), OUTAGE_POLICY),
  ]);
  const storage = watchStorage(store, createSpool(join(options.dataDir, "files", "incoming")), {
    newId,
    log,
    monotonicMs: () => performance.now(),
  });
  const { blobs, spool } = storage;
  const context: FilesContext = {
    db,
    blobs,
    spool,
    clock,
    newId,
    log,
    keys,
    publicUrl,
    ttlSeconds,
    fetcher: createGuardedFetch(options.fetch),
    fetching: createSemaphore(FETCHES),
    decodingInputs: createDecodingBudget("input"),
    decodingOutputs: createDecodingBudget("output"),
  };
  return {
    storeInputImages: (images) => storeInputImages(images, context),
    discardInputImages: (images) => discardInputImages(images, context),
    recordInputs: async (tx, owner, images) => {
      const files = images.filter((image) => image.type === "file");
      if (files.length > 0) await insertInputs(tx, owner, files);
    },
    loadImages: (images, loadOptions, signal) => loadImages(images, loadOptions, signal, context),
    storeOutput: (output, signal) => storeOutput(output, signal, context),
    recordOutputs: async (tx, owner, files) => {
      if (files.length > 0) await insertOutputs(tx, owner, files);
    },
    isReady: () => storage.isReady(),
    isShared: (options.bucket ?? null) !== null,
    spool,
    samples: createSamples(context),
    ofAccount: createAccountFiles(db, blobs),
    openFile: createOpenFile(context),
    ticks: createSweeps(context),
  };
}
