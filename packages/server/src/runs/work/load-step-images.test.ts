import { expect, test } from "vitest";
import type { Files, LoadedImage, StoredImage } from "../../files/index.ts";
import { createSemaphore } from "../../platform/resilience/semaphore.ts";
import { loadCatalogue, type ModelCaller } from "../../models/index.ts";
import type { LiveVersion } from "../../prompts/index.ts";
import type { ItemContext } from "./execute-output.ts";
import { loadStepImages } from "./load-step-images.ts";

const MiB = 1_048_576;
const never = new AbortController().signal;
const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true });
const step = (model: string) => ({ model, images: [0] });
const versionOf = (...models: string[]) => ({ definition: { steps: models.map(step) } }) as unknown as LiveVersion;
const stored = (bytes: number): StoredImage => ({
  type: "file",
  fileId: "01a1f874-6c4e-7f02-8a44-9e2d6c1b7f50",
  bytes,
  mediaType: "image/png",
  sha256: "",
});
const ADDRESS: StoredImage = { type: "url", url: "https://images.example.org/cat.png" };

function contextOf(reserveImages: ModelCaller["reserveImages"], loadImages: Files["loadImages"]): ItemContext {
  return { catalogue, caller: { reserveImages }, files: { loadImages } } as unknown as ItemContext;
}

/** A worker's memory for images, and what is read when. */
function worker(budgetBytes: number, waitMs: number, loadedBytes = 1_000) {
  const budget = createSemaphore({ permits: budgetBytes, timeoutMs: waitMs });
  const reads: (readonly StoredImage[])[] = [];
  const context = contextOf(
    ({ bytes }, signal) => budget.acquireInTime({ weight: bytes, signal }),
    async (images) => {
      reads.push(images);
      const one: LoadedImage = { bytes: new Uint8Array(loadedBytes), mediaType: "image/jpeg" };
      return { kind: "loaded", images: images.map(() => one) };
    },
  );
  const load = (images: readonly StoredImage[], ...models: string[]) =>
    loadStepImages(
      { accountId: "a", version: versionOf(...(models.length === 0 ? ["sandbox/image"] : models)), images },
      context,
      never,
    );
  return { budget, reads, load };
}

test("while one run's images fill the memory, the next run reads none of its own", async () => {
  const { budget, reads, load } = worker(6 * MiB, 60_000, 4 * MiB);
  const first = await load([stored(5 * MiB)]);
  const second = load([stored(4 * MiB)]);
  expect(reads).toHaveLength(1);
  expect(budget.used).toBe(4 * MiB); // what the images really take
  if (first.kind !== "loaded") throw new Error(first.kind);
  first.release();
  expect((await second).kind).toBe("loaded");
  expect(reads).toHaveLength(2);
});

test("runs of one account that fill their share of the memory leave the memory of other accounts alone", async () => {
  const budget = createSemaphore({ permits: 80 * MiB, timeoutMs: 1, keyShareMax: 20 * MiB, leavesFree: true });
  const context = contextOf(
    ({ bytes, accountId }, signal) => budget.acquireInTime({ weight: bytes, key: accountId, signal }),
    () => new Promise<never>(() => {}),
  );
  const load = (accountId: string) =>
    loadStepImages({ accountId, version: versionOf("sandbox/image"), images: [ADDRESS, ADDRESS] }, context, never);
  for (let runs = 0; runs < 5; runs += 1) void load("busy");
  await expect.poll(() => budget.used).toBe(20 * MiB);
  void load("quiet");
  await expect.poll(() => budget.used).toBe(40 * MiB);
});

test("a run that gets no memory is postponed without having read anything", async () => {
  const { reads, load } = worker(6 * MiB, 1, 6 * MiB);
  await load([stored(5 * MiB)]);
  expect(await load([stored(5 * MiB)])).toEqual({ kind: "postponed", delayMs: 2_000 });
  expect(reads).toHaveLength(1);
});

test("an image of unknown size counts with the maximum size of an image, and a run with the maximum size of a run", async () => {
  const { budget, load } = worker(100 * MiB, 60_000);
  const expected: number[] = [];
  const spy = worker(100 * MiB, 60_000);
  const holding = (images: readonly StoredImage[], model: string) =>
    loadStepImages(
      { accountId: "a", version: versionOf(model), images },
      contextOf(
        ({ bytes }, signal) => {
          expected.push(bytes);
          return spy.budget.acquireInTime({ weight: bytes, signal });
        },
        async () => ({ kind: "loaded", images: [] }),
      ),
      never,
    );
  await holding([ADDRESS], "sandbox/image");
  await holding([ADDRESS, ADDRESS, ADDRESS], "sandbox/image");
  await holding([ADDRESS, stored(MiB)], "sandbox/image");
  expect(expected).toEqual([10 * MiB, 20 * MiB, 11 * MiB]);
  const loaded = await load([ADDRESS], "sandbox/image", "sandbox/text");
  if (loaded.kind !== "loaded") throw new Error(loaded.kind);
  expect(budget.used).toBe(2_000); // fitted once for each of two models
  loaded.release();
  expect(budget.used).toBe(0);
});

test("images that are rejected or cannot be read release their memory", async () => {
  const { budget } = worker(6 * MiB, 1);
  const reserve: ModelCaller["reserveImages"] = ({ bytes }, signal) => budget.acquireInTime({ weight: bytes, signal });
  const run = { accountId: "a", version: versionOf("sandbox/image"), images: [stored(MiB)] };
  const refusing = contextOf(reserve, async () => ({ kind: "refused", message: "damaged" }));
  expect(await loadStepImages(run, refusing, never)).toEqual({ kind: "refused", message: "damaged" });
  const failing = contextOf(reserve, () => Promise.reject(new Error("gone")));
  await expect(loadStepImages(run, failing, never)).rejects.toThrow("gone");
  expect(budget.used).toBe(0);
});
