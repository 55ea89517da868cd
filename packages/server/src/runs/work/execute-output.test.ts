import { expect, test } from "vitest";
import { StorageFailure } from "../../files/index.ts";
import { storeWithRetries } from "./execute-output.ts";

const IMAGE = { modality: "image", accountId: "a", bytes: new Uint8Array(1), mediaType: "image/png" } as const;
const VIDEO = { modality: "video", content: new Uint8Array(1), mediaType: "video/mp4" } as const;
const never = new AbortController().signal;
const DEADLINE_MS = 300_000;

/** A storage that fails for a while; time passes only by waiting. */
function brokenUntil(backAtMs: number) {
  let nowMs = 0;
  let tries = 0;
  const storage = {
    deadlineMs: DEADLINE_MS,
    files: {
      storeOutput: async () => {
        tries += 1;
        if (nowMs < backAtMs) throw new StorageFailure("full");
        return { kind: "refused", message: "stored, as far as this test goes" } as const;
      },
    },
    nowMs: () => nowMs,
    sleep: async (ms: number, signal?: AbortSignal) => {
      signal?.throwIfAborted();
      nowMs += Math.max(1, ms);
    },
  };
  return { storage, state: () => ({ nowMs, tries }) };
}

test("an image is retained until the storage accepts it", async () => {
  const { storage, state } = brokenUntil(120_000);
  const stored = await storeWithRetries(IMAGE, storage, never);
  expect(stored).toEqual({ kind: "refused", message: "stored, as far as this test goes" });
  expect(state().nowMs).toBeGreaterThanOrEqual(120_000);
  expect(state().tries).toBeLessThan(200); // it does not hammer a storage that is down
});

test("at the deadline an image is given up with a clear message, before the run is ended from outside", async () => {
  const { storage, state } = brokenUntil(Infinity);
  const stored = await storeWithRetries(IMAGE, storage, never);
  expect(stored).toEqual({
    kind: "refused",
    message: "The result could not be stored. You were not charged for it.",
  });
  expect(state().nowMs).toBeLessThanOrEqual(DEADLINE_MS);
});

test("a video is not retained: it stays at its provider, and the run is postponed", async () => {
  const { storage } = brokenUntil(Infinity);
  await expect(storeWithRetries(VIDEO, storage, never)).rejects.toThrow(StorageFailure);
});

test("an error that does not come from the storage is thrown at once", async () => {
  const { storage } = brokenUntil(Infinity);
  const broken = { ...storage, files: { storeOutput: () => Promise.reject(new Error("a bug")) } };
  await expect(storeWithRetries(IMAGE, broken, never)).rejects.toThrow("a bug");
});

test("a canceled run stops waiting", async () => {
  const cancel = new AbortController();
  const { storage } = brokenUntil(Infinity);
  const storeOutput = () => {
    cancel.abort(new Error("canceled"));
    return Promise.reject(new StorageFailure("full"));
  };
  const canceling = { ...storage, files: { storeOutput } };
  await expect(storeWithRetries(IMAGE, canceling, cancel.signal)).rejects.toThrow("canceled");
});
