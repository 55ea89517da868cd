import { setImmediate as nextTick } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { AccountLocked, DatabaseUnresponsive } from "../../platform/database/errors.ts";
import { AccountLockQueue } from "./account-lock-queue.ts";
import { eventually } from "../../../test/support/eventually.ts";

const locked = () =>
  Promise.reject(Object.assign(new Error("canceling statement due to lock timeout"), { code: "55P03" }));

/** Attempts that last until the test ends them, and the maximum number of them at once. */
function openAttempts() {
  const ends: (() => void)[] = [];
  const attempt = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.push(resolve);
    return promise;
  };
  return { attempt, ends };
}

async function begunOf(ends: readonly unknown[], count: number): Promise<void> {
  await eventually(() => expect(ends).toHaveLength(count));
}

test("while nobody else has the lock, four transactions of an account run side by side", async () => {
  const queue = new AccountLockQueue();
  const { attempt, ends } = openAttempts();
  const runs = Array.from({ length: 6 }, () => queue.run("one", attempt));
  await begunOf(ends, 4);
  ends[0]?.();
  await begunOf(ends, 5);
  ends.forEach((end) => end());
  await begunOf(ends, 6);
  ends.forEach((end) => end());
  expect(await Promise.all(runs)).toHaveLength(6);
});

test("while another process has the lock, one transaction of the account retries and the others wait", async () => {
  const queue = new AccountLockQueue();
  let isLocked = true;
  let [running, runningMax, attempts] = [0, 0, 0];
  const attempt = async () => {
    running += 1;
    attempts += 1;
    if (attempts > 5 && isLocked) runningMax = Math.max(runningMax, running); // four went side by side
    await nextTick();
    running -= 1;
    return isLocked ? locked() : undefined;
  };
  const runs = Array.from({ length: 8 }, () => queue.run("one", attempt));
  await eventually(() => expect(attempts).toBeGreaterThan(7));
  isLocked = false;
  await Promise.all(runs);
  expect(runningMax).toBe(1);
});

test("an account locked by a transaction that then failed is free again for everyone", async () => {
  const queue = new AccountLockQueue();
  let attempts = 0;
  const failing = queue.run("one", () => {
    attempts += 1;
    return attempts === 1 ? locked() : Promise.reject(new Error("refused"));
  });
  const { attempt, ends } = openAttempts();
  const user = queue.run("one", attempt); // the account stays known here
  await expect(failing).rejects.toThrow("refused");
  const runs = [queue.run("one", attempt), queue.run("one", attempt)];
  await begunOf(ends, 3);
  ends.forEach((end) => end());
  await Promise.all([user, ...runs]);
});

test("all waiters for an account can be failed at once, and later ones wait as before", async () => {
  const queue = new AccountLockQueue();
  const { attempt, ends } = openAttempts();
  const running = Array.from({ length: 4 }, () => queue.run("one", attempt));
  const waiting = queue.run("one", attempt);
  await begunOf(ends, 4);
  queue.rejectWaiting("one", new Error("silent"));
  await expect(waiting).rejects.toThrow(DatabaseUnresponsive);
  const later = queue.run("one", attempt);
  ends.forEach((end) => end());
  await begunOf(ends, 5);
  ends.forEach((end) => end());
  await Promise.all([...running, later]);
});

test("a shutdown ends the waits for a locked account within seconds", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const queue = new AccountLockQueue();
  const { attempt } = openAttempts();
  const never = Array.from({ length: 4 }, () => queue.run("one", attempt));
  for (const run of never) run.catch(() => {});
  const [before, settled] = [queue.run("one", attempt), vi.fn<() => void>()];
  before.catch(settled);
  queue.drain();
  const after = queue.run("one", attempt);
  after.catch(settled);
  await vi.advanceTimersByTimeAsync(1_900);
  expect(settled).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(200);
  await expect(before).rejects.toThrow(AccountLocked);
  await expect(after).rejects.toThrow(AccountLocked);
});

test("an outage says nothing about the lock: the account's transactions continue one by one", async () => {
  const queue = new AccountLockQueue();
  const outage = Promise.withResolvers<void>();
  let attempts = 0;
  const failing = queue.run("one", () => {
    attempts += 1;
    return attempts === 1 ? locked() : outage.promise;
  });
  await eventually(() => expect(attempts).toBe(2));
  const { attempt, ends } = openAttempts();
  const others = [queue.run("one", attempt), queue.run("one", attempt)];
  outage.reject(Object.assign(new Error("reset"), { code: "ECONNRESET" }));
  await expect(failing).rejects.toThrow("reset");
  await begunOf(ends, 1);
  const late = queue.run("one", attempt);
  await nextTick();
  expect(ends).toHaveLength(1);
  for (const count of [2, 3]) {
    ends.at(-1)?.();
    await begunOf(ends, count);
  }
  ends.at(-1)?.();
  await Promise.all([...others, late]);
});
