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
  await vi.advanceTimersByTimeAsync(60_000);
  const message = await failed;
  expect(message).toContain(outage.message);
  expect(message).toMatch(/\nStart again when the database is back\.$/);
  expect(message).not.toContain("..");
});
