/** Real workers with a small heap, and a run whose outputs are valid but larger than that heap. */
import { expect, test } from "vitest";
import type { Run } from "@promptd/contract";
import { bodyOf, type Way } from "./fault-points.ts";
import type { InstallationCaller } from "../support/installation-fixture.ts";
import { until, type PromptdProcess } from "../support/promptd-process.ts";
import { useInstallation } from "../support/use-installation.ts";

const installation = useInstallation();

/**
 * Ordinary runs fit; HUGE does not fit even into 96 MB. The lease is longer than any pause of a garbage collector that
 * frees nothing, also on a busy machine; the leases of dead workers expire by hand.
 */
const SMALL = { NODE_OPTIONS: "--max-old-space-size=64", PROMPTD_LEASE_MS: "30000" };
const ONE_RUN_EACH = { ...SMALL, PROMPTD_WORKER_CONCURRENCY: "1" };
/**
 * Ten texts of 2 MiB, the most that is stored of one: 40 MB, because the ellipsis makes each character take two bytes.
 */
const HUGE: Way = { prompt: "long", ask: "sandbox: size=2048\nmore than the heap holds…" };

/** Of three. A worker that hands a run back, because a busy machine delayed its claim, counts no attempt. */
const ATTEMPTS_LEFT = "max_attempts - attempt";

/** How a worker ended, possibly before it was ready: the first claim comes earlier. */
async function endOf(starting: Promise<PromptdProcess>): Promise<string> {
  const started = await starting.catch((error: unknown) => String(error));
  return typeof started === "string" ? started : String((await started.exit).signal);
}

test("a run that needs more memory than any worker has kills three of them and fails, free, while others' runs continue", async () => {
  const fixture = installation();
  const [greedy, neighbor] = await Promise.all([fixture.createCaller(), fixture.createCaller()]);
  const api = await fixture.start("api", SMALL);
  const create = (caller: InstallationCaller, way: Way) =>
    caller.clientAt(api.url).runs.create(bodyOf(fixture, way), { respondAsync: true, idempotencyKey: null });
  const countRuns = async (where: string) => (await fixture.db.query(`select 1 from runs where ${where}`)).length;
  const credits = () => greedy.clientAt(api.url).me.credits();
  const before = await credits();

  // Its other runs stay where their images are loaded, so that it holds all of them when it dies.
  const first = await fixture.start("worker", { ...SMALL, PROMPTD_FAULT: "images.after_fetch:hang" });
  const lost = await Promise.all(
    Array.from({ length: 5 }, () => create(neighbor, { prompt: "photo", ask: "a photo" })),
  );
  await until(async () => (await countRuns("attempt = 1")) === 5);
  const { runId } = await create(greedy, HUGE);
  const expireItsLease = () =>
    fixture.db.query(
      "update workers set heartbeat_at = heartbeat_at - interval '1 hour' where id = (select worker from runs where id = $1)",
      [runId],
    );
  expect(await credits()).not.toEqual(before);
  expect(await first.exit).toEqual({ code: null, signal: "SIGABRT" });
  await until(() => first.log.some((line) => line.includes("JavaScript heap out of memory")));
  expect(await countRuns("attempt = 1 and finished_at is null")).toBe(6);
  await expireItsLease();

  // From here on, a worker that dies holds nothing else.
  const starts = Array.from({ length: 3 }, () => fixture.start("worker", ONE_RUN_EACH));
  const ends = starts.map(async (starting) => {
    const end = await endOf(starting);
    await expireItsLease();
    return end;
  });
  const meanwhile = await Promise.all(
    Array.from({ length: 20 }, () =>
      neighbor.clientAt(api.url).runs.createAndWait(bodyOf(fixture, { prompt: "paid", ask: "hello" })),
    ),
  );
  expect(meanwhile.map((run) => run.runStatus)).toEqual(Array(20).fill("succeeded"));
  await until(async () => (await fixture.openRuns()) === 0);

  const failed: Run = await greedy.clientAt(api.url).runs.get(runId);
  expect(failed).toMatchObject({ runStatus: "failed", tokens: 0, outputs: [{ type: "error" }] });
  expect(await credits()).toEqual(before);
  const outcome = `select ${ATTEMPTS_LEFT} as left, fail_reason from runs where id = $1`;
  expect(await fixture.db.query(outcome, [runId])).toEqual([{ left: 0, fail_reason: "worker_lost" }]);
  for (const run of lost) expect((await neighbor.clientAt(api.url).runs.get(run.runId)).runStatus).toBe("succeeded");
  expect(await countRuns(`${ATTEMPTS_LEFT} = 1 and status = 'succeeded'`)).toBe(5);
  expect(await countRuns(`${ATTEMPTS_LEFT} = 2 and status = 'succeeded'`)).toBe(20);
  const survivors = (await Promise.allSettled(starts)).flatMap((one) =>
    one.status === "fulfilled" ? [one.value] : [],
  );
  await Promise.all(survivors.map((worker) => worker.stop()));
  expect((await Promise.all(ends)).filter((end) => end.includes("SIGABRT"))).toHaveLength(2);
  expect(await fixture.findFaults()).toEqual([]);

  // It lacked nothing except memory.
  const roomy = await fixture.start("worker", { PROMPTD_LEASE_MS: SMALL.PROMPTD_LEASE_MS });
  const again = await create(greedy, HUGE);
  await until(async () => (await fixture.openRuns()) === 0);
  expect(
    await countRuns(`id = '${again.runId}' and ${ATTEMPTS_LEFT} = 2 and status = 'succeeded' and credits > 0`),
  ).toBe(1);
  expect(await fixture.findFaults()).toEqual([]);
  expect((await roomy.stop()).code).toBe(0);
});
