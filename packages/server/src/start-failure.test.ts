import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DatabaseUnresponsive, DatabaseUnusable } from "./platform/database/errors.ts";
import { throughOutage } from "./start-failure.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const REFUSED = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });

test.each([
  new DatabaseUnresponsive(REFUSED),
  new DatabaseUnusable("The database cannot be used: connect ECONNREFUSED.\nCheck that it is running.", {
    cause: REFUSED,
  }),
  REFUSED,
])("an outage that ends a startup is reported in whole sentences: %s", async (outage) => {
  const failed = throughOutage(() => Promise.reject(outage), {}).catch((error: Error) => error.message);
  await vi.advanceTimersByTimeAsync(70_000);
  const message = await failed;
  expect(message).toContain(outage.message);
  expect(message).toMatch(/\nStart again when the database is back\.$/);
  expect(message).not.toContain("..");
});

test("a connection that is lost late in a long step does not end the startup", async () => {
  let tries = 0;
  const step = async () => {
    tries += 1;
    if (tries > 1) return "done";
    await vi.advanceTimersByTimeAsync(20_000);
    throw REFUSED;
  };
  expect(await throughOutage(step, {})).toBe("done");
});
