import { expect, test } from "vitest";
import { writePng } from "../../../test/files/png-bytes.ts";
import { estimateDecodedBytes } from "./decode.ts";
import { createDecodingBudget } from "./decoding-budget.ts";

const never = new AbortController().signal;
const LIGHT = writePng({ width: 8, height: 8, depth: 8, color: 2 }, Buffer.alloc(25 * 8));
/** About 240 MiB when unpacked. */
const HEAVY = writePng({ width: 8_192, height: 6_000, depth: 8, color: 6, isInterlaced: true }, Buffer.alloc(100));

/** Jobs that last until the test ends them; `begun` lists started jobs in order. */
function jobs() {
  const budget = createDecodingBudget("input");
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const begin = async (name: string, bytes: Uint8Array): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.set(name, resolve);
    const accountId = name.split(" ")[0] ?? "";
    await budget.run({ bytes, accountId, signal: never }, () => {
      begun.push(name);
      return promise;
    });
  };
  const end = async (...names: string[]): Promise<void> => {
    for (const name of names) ends.get(name)?.();
  };
  return { begun, begin, end };
}

test("one image per account is decoded at a time, and another account's at once", async () => {
  const { begun, begin, end } = jobs();
  const all = [begin("busy 1", LIGHT), begin("busy 2", LIGHT), begin("busy 3", LIGHT)];
  await expect.poll(() => begun.length).toBe(1);
  all.push(begin("quiet 1", LIGHT));
  await expect.poll(() => begun.length).toBe(2);
  expect(begun[1]).toBe("quiet 1");
  await end("busy 1", "busy 2", "busy 3", "quiet 1");
  await Promise.all(all);
});

test("two heavy images are never decoded at once, but a light one may be decoded alongside a heavy one", async () => {
  const { begun, begin, end } = jobs();
  const all = [begin("busy 1", HEAVY)];
  await expect.poll(() => begun).toEqual(["busy 1"]);
  all.push(begin("quiet 1", LIGHT));
  await expect.poll(() => begun).toEqual(["busy 1", "quiet 1"]);
  await end("quiet 1");
  all.push(begin("other 1", HEAVY));
  await estimateDecodedBytes(HEAVY, "input"); // as long as the job itself needs to ask for its memory
  await new Promise(setImmediate);
  expect(begun).toEqual(["busy 1", "quiet 1"]);
  await end("busy 1");
  await expect.poll(() => begun).toEqual(["busy 1", "quiet 1", "other 1"]);
  await end("other 1");
  await Promise.all(all);
});

test("at most three accounts' images are decoded at once: file reads need a thread too", async () => {
  const { begun, begin, end } = jobs();
  const names = ["a", "b", "c", "d"];
  const all = names.map((name) => begin(name, LIGHT));
  await expect.poll(() => begun.length).toBe(3);
  await end(...begun);
  await expect.poll(() => begun.length).toBe(4);
  await end(...names);
  await Promise.all(all);
});

test("what is not an image is refused without waiting", async () => {
  const { begin } = jobs();
  await expect(begin("a", Buffer.from("text"))).rejects.toMatchObject({ fault: "not-an-image" });
});
