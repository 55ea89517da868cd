import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSemaphore, type Permit } from "./semaphore.ts";

async function isWaiting(promise: Promise<unknown>): Promise<boolean> {
  const waiting = Symbol("waiting");
  await new Promise(setImmediate);
  return (await Promise.race([promise, Promise.resolve(waiting)])) === waiting;
}

describe("a semaphore", () => {
  test("runs at most the given number of pieces of work at once, in order of arrival", async () => {
    const semaphore = createSemaphore({ permits: 2 });
    const log: string[] = [];
    const ends = ["a", "b", "c", "d"].map((name) => {
      const end = Promise.withResolvers<void>();
      const done = semaphore.run(async () => {
        log.push(name);
        await end.promise;
      });
      return { end: end.resolve, done };
    });
    await new Promise(setImmediate);
    expect(log).toEqual(["a", "b"]);
    ends[1]?.end();
    await ends[1]?.done;
    await new Promise(setImmediate);
    expect(log).toEqual(["a", "b", "c"]);
    for (const { end } of ends) end();
    await Promise.all(ends.map(({ done }) => done));
    expect(log).toEqual(["a", "b", "c", "d"]);
    expect(semaphore.used).toBe(0);
  });

  test("releases the permit of work that fails", async () => {
    const semaphore = createSemaphore({ permits: 1 });
    await expect(semaphore.run(() => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    expect(await semaphore.run(async () => "next")).toBe("next");
  });

  test("removes an aborted waiter from the queue, and admits the waiters behind it", async () => {
    const semaphore = createSemaphore({ permits: 100 });
    await semaphore.acquire({ weight: 50 });
    const stop = new AbortController();
    const heavy = semaphore.acquire({ weight: 80, signal: stop.signal });
    const light = semaphore.acquire({ weight: 50 });
    expect(await isWaiting(light)).toBe(true);
    stop.abort(new Error("canceled"));
    await expect(heavy).rejects.toThrow("canceled");
    await light;
    expect(semaphore.used).toBe(100);
    await expect(semaphore.acquire({ signal: stop.signal })).rejects.toThrow("canceled");
  });

  test("refuses a waiter after the timeout without taking a permit, and admits the waiters behind it", async () => {
    const semaphore = createSemaphore({ permits: 10, timeoutMs: 1, timeoutError: () => new Error("too busy") });
    const first = await semaphore.acquire({ weight: 10 });
    await expect(semaphore.run(async () => "never")).rejects.toThrow("too busy");
    first.release();
    expect(await semaphore.run(async () => "next")).toBe("next");
    await semaphore.acquire({ weight: 5 });
    const [heavy, light] = [semaphore.acquire({ weight: 6 }), semaphore.acquire({ weight: 5 })];
    await expect(heavy).rejects.toThrow("too busy");
    await light;
    await expect(createSemaphore({ permits: 1, timeoutMs: 1 }).run(() => Promise.resolve(1))).resolves.toBe(1);
  });

  test("returns null on request if no permit was free in time, and rejects only aborted waiters", async () => {
    const semaphore = createSemaphore({ permits: 1, timeoutMs: 1 });
    const first = await semaphore.acquire();
    expect(await semaphore.acquireInTime()).toBeNull();
    const signal = AbortSignal.abort(new Error("canceled"));
    await expect(semaphore.acquireInTime({ signal })).rejects.toThrow("canceled");
    first.release();
    expect(await semaphore.acquireInTime()).not.toBeNull();
  });

  test("rejects the current waiters on request, and lets later ones wait as before", async () => {
    const semaphore = createSemaphore({ permits: 1 });
    const first = await semaphore.acquire();
    const waiting = [semaphore.acquire(), semaphore.acquire({ key: "other" })];
    semaphore.rejectWaiting(new Error("not today"));
    expect(await Promise.allSettled(waiting)).toMatchObject([
      { reason: { message: "not today" } },
      { reason: { message: "not today" } },
    ]);
    const later = semaphore.acquire();
    expect(await isWaiting(later)).toBe(true);
    first.release();
    await later;
  });

  test("admits at once or not at all on request, and never past the queue", async () => {
    const semaphore = createSemaphore({ permits: 2 });
    const first = semaphore.tryAcquire();
    expect(semaphore.tryAcquire({ weight: 2 })).toBeNull();
    const heavy = semaphore.acquire({ weight: 2 });
    expect(semaphore.tryAcquire()).toBeNull(); // one is free, but somebody is waiting for it
    first?.release();
    (await heavy).release();
    expect(semaphore.tryAcquire({ weight: 2 })).not.toBeNull();
  });

  test("can change its number of permits: fewer take nothing away, and more admit waiters", async () => {
    const semaphore = createSemaphore({ permits: 2 });
    const [first] = [await semaphore.acquire(), await semaphore.acquire()];
    semaphore.permits = 1;
    const next = semaphore.acquire();
    first.release();
    expect(await isWaiting(next)).toBe(true);
    semaphore.permits = 2;
    await next;
    expect([semaphore.used, semaphore.permits]).toEqual([2, 2]);
  });
});

describe("weights", () => {
  test("light work does not overtake waiting heavy work", async () => {
    const semaphore = createSemaphore({ permits: 100 });
    const first = await semaphore.acquire({ weight: 60 });
    const heavy = semaphore.acquire({ weight: 80 });
    const light = semaphore.acquire({ weight: 10 });
    expect(await isWaiting(heavy)).toBe(true);
    expect(await isWaiting(light)).toBe(true); // there would be room, but heavy work would never start
    first.release();
    (await heavy).release();
    (await light).release();
    expect(semaphore.used).toBe(0);
  });

  test("work heavier than everything is admitted alone", async () => {
    const semaphore = createSemaphore({ permits: 100 });
    const light = await semaphore.acquire();
    const giant = semaphore.acquire({ weight: 1_000 });
    expect(await isWaiting(giant)).toBe(true);
    light.release();
    const next = semaphore.acquire();
    expect(await isWaiting(next)).toBe(true);
    (await giant).release();
    await next;
  });

  test("a permit is released once, however often that is called, and cannot be resized afterwards", async () => {
    const semaphore = createSemaphore({ permits: 100 });
    const permit = await semaphore.acquire({ weight: 60 });
    await semaphore.acquire({ weight: 40 });
    permit.release();
    permit.release();
    permit.resize(10);
    expect(semaphore.used).toBe(40);
  });

  test("a permit is resized at once, and work that then fits is admitted", async () => {
    const semaphore = createSemaphore({ permits: 100 });
    const first = await semaphore.acquire({ weight: 90 });
    const next = semaphore.acquire({ weight: 50 });
    expect(await isWaiting(next)).toBe(true);
    first.resize(40);
    await next;
    first.resize(120); // what is already in use cannot wait
    expect(semaphore.used).toBe(170);
    first.release();
    expect(semaphore.used).toBe(50);
  });

  test("a permit grows only if there is room in total and for its key", async () => {
    const semaphore = createSemaphore({ permits: 100, keyShareMax: 60 });
    const permit = await semaphore.acquire({ weight: 0, key: "a" });
    await semaphore.acquire({ weight: 50, key: "b" });
    expect(permit.tryGrow(40)).toBeNull();
    expect(permit.tryGrow(30)).toBeNull(); // it already has as much
    expect(permit.tryGrow(61)).toBe("key");
    expect(permit.tryGrow(55)).toBe("permits");
    expect(semaphore.used).toBe(90);
  });
});

describe("keys", () => {
  test("are served in turn, so that a long queue of one key delays another key by only one piece of work", async () => {
    const semaphore = createSemaphore({ permits: 1 });
    const first = await semaphore.acquire({ key: "busy" });
    const log: string[] = [];
    const work = ["busy 1", "busy 2", "busy 3", "quiet 1", "quiet 2"].map((name) =>
      semaphore.run(async () => void log.push(name), { key: name.split(" ")[0] ?? "" }),
    );
    first.release();
    await Promise.all(work);
    expect(log).toEqual(["busy 1", "quiet 1", "busy 2", "quiet 2", "busy 3"]);
  });

  test("a key at its share waits without holding up the others", async () => {
    const semaphore = createSemaphore({ permits: 100, keyShareMax: 60 });
    const first = await semaphore.acquire({ weight: 50, key: "slow" });
    const second = semaphore.acquire({ weight: 20, key: "slow" });
    await semaphore.acquire({ weight: 30, key: "quick" });
    expect(await isWaiting(second)).toBe(true);
    first.release();
    await second;
  });

  test("heavy work of a key that has room is not overtaken by other keys", async () => {
    const semaphore = createSemaphore({ permits: 100, keyShareMax: 80 });
    const [first, second] = [
      await semaphore.acquire({ weight: 50, key: "a" }),
      await semaphore.acquire({ weight: 40, key: "b" }),
    ];
    const heavy = semaphore.acquire({ weight: 70, key: "c" });
    const light = semaphore.acquire({ weight: 10, key: "d" });
    expect(await isWaiting(light)).toBe(true);
    first.release();
    expect(await isWaiting(heavy)).toBe(true);
    second.release();
    await Promise.all([heavy, light]);
  });

  test("keys that do not release their permits leave some for the next keys", async () => {
    const semaphore = createSemaphore({ permits: 32, keyShareMax: 8, leavesFree: true });
    for (let i = 0; i < 40; i += 1) {
      for (const key of ["a", "b", "c", "d"]) void semaphore.acquire({ key });
    }
    expect(semaphore.used).toBe(26);
    const newcomers = ["e", "f", "g"].map((key) => semaphore.acquire({ key }));
    for (const newcomer of newcomers) expect(await isWaiting(newcomer)).toBe(false);
  });

  test("a lone key gets its whole share, and released permits go to the waiters", async () => {
    const semaphore = createSemaphore({ permits: 12, keyShareMax: 8, leavesFree: true });
    const held = await Promise.all(Array.from({ length: 6 }, () => semaphore.acquire({ key: "a" })));
    const more = semaphore.acquire({ key: "a" });
    const other = semaphore.acquire({ key: "b" });
    expect([await isWaiting(more), await isWaiting(other)]).toEqual([true, false]);
    held[0]?.release();
    held[1]?.release();
    await more;
  });

  test("a refusal says whether the key's share or all permits were in use", async () => {
    const timeoutError = (shortage: string) => new Error(shortage);
    const semaphore = createSemaphore({ permits: 100, keyShareMax: 60, timeoutMs: 1, timeoutError });
    await semaphore.acquire({ weight: 60, key: "a" });
    await expect(semaphore.acquire({ weight: 1, key: "a" })).rejects.toThrow("key");
    await expect(semaphore.acquire({ weight: 41, key: "b" })).rejects.toThrow("permits");
  });
});

test("permits are neither lost nor invented, whatever is acquired, resized, aborted, and released", async () => {
  type Step = readonly ["acquire" | "abort" | "release" | "resize" | "reject", number, number];
  const step: fc.Arbitrary<Step> = fc.tuple(
    fc.constantFrom("acquire", "acquire", "abort", "release", "resize", "reject"),
    fc.nat(9),
    fc.nat(12),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const semaphore = createSemaphore({ permits: 10, keyShareMax: 7 });
      const permits = new Map<Permit, number>();
      const waits: { readonly stop: AbortController; readonly settled: Promise<void> }[] = [];
      const apply = async ([kind, which, weight]: Step): Promise<void> => {
        const permit = [...permits.keys()][which];
        if (kind === "acquire") {
          const stop = new AbortController();
          const acquired = semaphore.acquire({ weight, key: `key ${which % 3}`, signal: stop.signal });
          const settled = acquired.then((own) => void permits.set(own, weight)).catch(() => {});
          waits.push({ stop, settled });
        } else if (kind === "abort") waits[which]?.stop.abort(new Error("canceled"));
        else if (kind === "reject") semaphore.rejectWaiting(new Error("refused"));
        else if (permit !== undefined && kind === "release") {
          permit.release();
          permits.delete(permit);
        } else if (permit !== undefined) {
          permit.resize(weight);
          permits.set(permit, weight);
        }
      };
      for (const one of steps) {
        await apply(one);
        await new Promise(setImmediate);
        expect(semaphore.used).toBe([...permits.values()].reduce((sum, weight) => sum + weight, 0));
      }
      // Remaining waiters are admitted once the others are done: none is forgotten.
      for (let round = 0; round <= steps.length; round += 1) {
        for (const permit of permits.keys()) permit.release();
        permits.clear();
        await new Promise(setImmediate);
      }
      await Promise.all(waits.map(({ settled }) => settled));
      expect(semaphore.used).toBe(0);
    }),
    { numRuns: 50 },
  );
});

describe("heavy work and light work", () => {
  function openSemaphore() {
    const clock = { ms: 0 };
    const semaphore = createSemaphore({ permits: 100, passMs: 2_000, nowMs: () => clock.ms });
    return { clock, semaphore };
  }

  test("light work overtakes heavy work that does not fit, also of its own key, for a while", async () => {
    const { clock, semaphore } = openSemaphore();
    await semaphore.acquire({ weight: 60 });
    const heavy = semaphore.acquire({ weight: 50, key: "a" });
    await semaphore.acquire({ weight: 5, key: "b" });
    await semaphore.acquire({ weight: 5, key: "a" });
    clock.ms = 2_000;
    expect(await isWaiting(semaphore.acquire({ weight: 5, key: "b" }))).toBe(true);
    expect(await isWaiting(semaphore.acquire({ weight: 5, key: "a" }))).toBe(true);
    expect(await isWaiting(heavy)).toBe(true);
  });

  test("heavy work starts within a bounded time, however much light work arrives", async () => {
    const { clock, semaphore } = openSemaphore();
    const running: { permit: Permit; endsMs: number }[] = [];
    const flood = (key: string) =>
      void semaphore.acquire({ weight: 1, key }).then((permit) => running.push({ permit, endsMs: clock.ms + 500 }));
    for (let light = 0; light < 100; light += 1) flood(`account ${light % 7}`);
    await new Promise(setImmediate);
    const admitted: number[] = [];
    void semaphore.acquire({ weight: 60, key: "heavy" }).then(() => admitted.push(clock.ms));
    for (; clock.ms < 10_000 && admitted.length === 0; clock.ms += 10) {
      for (let light = 0; light < 3; light += 1) flood(`account ${(clock.ms / 10 + light) % 7}`);
      for (const { permit } of running.filter(({ endsMs }) => endsMs <= clock.ms)) permit.release();
      running.splice(0, running.length, ...running.filter(({ endsMs }) => endsMs > clock.ms));
      await new Promise(setImmediate);
    }
    expect(admitted[0]).toBeGreaterThanOrEqual(2_000);
    expect(admitted[0]).toBeLessThanOrEqual(3_500);
  });

  test("an account at its share delays only its own heavy work", async () => {
    const clock = { ms: 0 };
    const semaphore = createSemaphore({ permits: 100, keyShareMax: 40, passMs: 2_000, nowMs: () => clock.ms });
    await semaphore.acquire({ weight: 30, key: "a" });
    const full = semaphore.acquire({ weight: 20, key: "a" });
    await semaphore.acquire({ weight: 5, key: "a" });
    clock.ms = 5_000;
    expect(await isWaiting(semaphore.acquire({ weight: 5, key: "a" }))).toBe(true);
    await semaphore.acquire({ weight: 40, key: "b" });
    expect(await isWaiting(full)).toBe(true);
  });
});
