import { afterAll, beforeAll, expect, test, vi } from "vitest";

let data: Pick<typeof import("../../src/search/meaning/built-in-embedder.ts"), "loadBuiltInEmbedder"> &
  Pick<typeof import("../../src/search/text/expansion.ts"), "loadExpansions">;
// Modules live as long as the worker, which runs many test files: this test needs one that has loaded nothing yet.
beforeAll(async () => {
  vi.doMock("node:fs/promises", async (importOriginal) => {
    const original = await importOriginal<typeof import("node:fs/promises")>();
    return { ...original, readFile: vi.fn(original.readFile) };
  });
  vi.resetModules();
  data = {
    ...(await import("../../src/search/meaning/built-in-embedder.ts")),
    ...(await import("../../src/search/text/expansion.ts")),
  };
});
afterAll(() => {
  vi.doUnmock("node:fs/promises");
  vi.resetModules();
});

test.each([
  ["vectors", () => data.loadBuiltInEmbedder()],
  ["expansions", () => data.loadExpansions()],
] as const)(
  "a %s file that could not be read once is read by the next caller, and then cached",
  async (_what, load) => {
    const { readFile } = await import("node:fs/promises");
    vi.mocked(readFile).mockRejectedValueOnce(new Error("EMFILE"));
    await expect(load()).rejects.toThrow("EMFILE");
    expect(await load()).toBe(await load());
  },
);
