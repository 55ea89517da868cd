import { expect, test } from "vitest";
import { loadOnce } from "./load-once.ts";

test("everyone who needs it gets what one load returned", async () => {
  let loads = 0;
  const load = loadOnce(async () => (loads += 1));
  expect(loads).toBe(0);
  expect(await Promise.all([load(), load()])).toEqual([1, 1]);
  expect(await load()).toBe(1);
});

test("a load that failed is repeated when it is next needed", async () => {
  let loads = 0;
  const load = loadOnce(async () => {
    loads += 1;
    if (loads === 1) throw new Error("The file is being replaced.");
    return loads;
  });
  await expect(load()).rejects.toThrow("being replaced");
  expect(await load()).toBe(2);
});

test("its owner sees what is loaded or being loaded, and does not load it", async () => {
  const load = loadOnce(async () => "agent");
  expect(await load.current()).toBeNull();
  void load();
  expect(await load.current()).toBe("agent");
});
