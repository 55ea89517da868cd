/** `npm start` in two terminals of one checkout: both build, and both serve a complete build. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { buildFolder } from "../../../../scripts/build-folder.ts";

async function placeOf(): Promise<{ root: string; place: string }> {
  const root = await mkdtemp(join(tmpdir(), "promptd-build-"));
  onTestFinished(() => rm(root, { recursive: true }));
  return { root, place: join(root, "dist") };
}

const writer = (text: string, before: () => Promise<void> = async () => {}) => ({
  build: async (folder: string) => {
    await writeFile(join(folder, "first"), text);
    await before();
    await writeFile(join(folder, "last"), text);
    return true;
  },
});
const read = async (place: string) => [
  await readFile(join(place, "first"), "utf8"),
  await readFile(join(place, "last"), "utf8"),
];

test("two concurrent builds both end, and one complete build is there", async () => {
  const { root, place } = await placeOf();
  await buildFolder({ place, ...writer("old"), isCurrent: () => false });
  // The second starts and ends while the first is half done. A reader sees complete builds before and after.
  const seen: string[][] = [];
  const meanwhile = async () => {
    seen.push(await read(place));
    await buildFolder({ place, ...writer("second"), isCurrent: () => false });
    seen.push(await read(place));
  };
  expect(await buildFolder({ place, ...writer("first", meanwhile), isCurrent: () => false })).toBe(true);
  seen.push(await read(place));
  expect(seen).toEqual([
    ["old", "old"],
    ["second", "second"],
    ["first", "first"],
  ]);
  expect(await readdir(root)).toEqual(["dist"]);
});

test("a build that another process made meanwhile stays, and a failed build changes nothing", async () => {
  const { root, place } = await placeOf();
  await buildFolder({ place, ...writer("old"), isCurrent: () => false });
  expect(await buildFolder({ place, ...writer("new"), isCurrent: () => true })).toBe(true);
  expect(await buildFolder({ place, build: async () => false, isCurrent: () => false })).toBe(false);
  expect(await read(place)).toEqual(["old", "old"]);
  expect(await readdir(root)).toEqual(["dist"]);
});
