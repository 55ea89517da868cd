import { expect, test } from "vitest";
import { createBodyReader } from "./large-rows.ts";

const timeout = () => Object.assign(new Error("canceling statement due to statement timeout"), { code: "57014" });

/** A reader whose statements the test answers; `read` lists what each one requested. */
function openReader(fails: (ids: readonly string[]) => boolean) {
  const read: string[][] = [];
  const body = createBodyReader<string>({
    bytesMax: 10,
    readBodies: async (runs) => {
      const ids = runs.map(({ runId }) => runId);
      read.push(ids);
      await Promise.resolve();
      if (fails(ids)) throw timeout();
      return new Map(ids.map((id) => [id, `body of ${id}`]));
    },
  });
  const ask = (runId: string, bytes: number, isWanted = () => true) =>
    body({ run: { accountId: "account", runId }, bytes, isWanted });
  return { ask, read };
}

test("small bodies are read together and before large ones, each of which is read alone", async () => {
  const { ask, read } = openReader(() => false);
  await Promise.all([ask("huge", 100), ask("a", 4), ask("b", 5), ask("large", 11)]);
  expect(read).toEqual([["a", "b"], ["large"], ["huge"]]);
});

test("bodies that were too much together are read separately, after a small body that arrived since, while still wanted", async () => {
  const { ask, read } = openReader((ids) => ids.length > 1);
  let isWanted = true;
  const first = Promise.all([ask("a", 1), ask("b", 2), ask("gone", 3, () => isWanted)]);
  await Promise.resolve();
  const late = ask("late", 5);
  isWanted = false;
  expect(await first).toEqual(["body of a", "body of b", null]);
  expect(await late).toBe("body of late");
  expect(read.flat().filter((id) => id === "gone").length).toBeLessThanOrEqual(1);
  expect(read.at(-1)?.length).toBe(1);
});

test("a body that cannot be read alone fails, and the next one is read", async () => {
  const { ask } = openReader((ids) => ids.includes("bad"));
  const [bad, good] = await Promise.allSettled([ask("bad", 50), ask("good", 60)]);
  expect(bad.status).toBe("rejected");
  expect(good).toEqual({ status: "fulfilled", value: "body of good" });
});
