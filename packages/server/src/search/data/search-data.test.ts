import { readFile } from "node:fs/promises";
import { expect, test, vi } from "vitest";
import { loadBuiltInEmbedder, loadExpansions } from "./search-data.ts";

vi.mock("node:fs/promises", async (importOriginal) => {
  const original = await importOriginal<typeof import("node:fs/promises")>();
  return { ...original, readFile: vi.fn(original.readFile) };
});

test.each([
  ["vectors", loadBuiltInEmbedder],
  ["expansions", loadExpansions],
] as const)(
  "a file of %s that could not be read once is read by the next who asks, and then kept",
  async (_what, load) => {
    vi.mocked(readFile).mockRejectedValueOnce(new Error("EMFILE"));
    await expect(load()).rejects.toThrow("EMFILE");
    expect(await load()).toBe(await load());
  },
);
