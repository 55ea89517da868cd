/** A batch whose workers are killed again and again. */
import { expect, test } from "vitest";
import { until } from "../support/promptd-process.ts";
import { useInstallation } from "../support/use-installation.ts";

const installation = useInstallation();
const ITEMS = 80;

test("kill -9 of the worker, again and again, neither creates an item's run twice nor loses one, and charges each once", async () => {
  const fixture = installation();
  const caller = await fixture.createCaller();
  const api = await fixture.startHere("api");
  const client = caller.clientAt(api.url);
  const items = Array.from({ length: ITEMS }, (_, i) => ({
    inputs: { textInputs: { ask: `sandbox: delay=${20 + (i % 5) * 20} tokens=900\nWrite ${i}.` } },
    key: String(i),
  }));
  const ended = async (batchId: string) => {
    const { succeeded, failed } = (await client.batches.get(batchId)).counts;
    return succeeded + failed;
  };
  let worker = await fixture.start("worker");
  const { batchId } = await client.batches.create({ promptVersionId: fixture.prompts.paid, items });
  for (const enough of [10, 40]) {
    await until(async () => (await ended(batchId)) >= enough);
    await worker.kill();
    worker = await fixture.start("worker");
  }
  const finished = await client.batches.wait(batchId, { pollMs: 50 });
  expect(finished).toMatchObject({ batchStatus: "finished", counts: { total: ITEMS, succeeded: ITEMS } });
  const [counted] = await fixture.db.query<{ runs: number; distinct: number; credits: number }>(
    `select count(*) as runs, (select count(distinct run_id) from batch_items) as distinct, sum(credits)::int as credits from runs`,
  );
  expect(counted).toMatchObject({ runs: ITEMS, distinct: ITEMS, credits: finished.credits });
  const credits = await client.me.credits();
  expect(credits).toEqual({ credits: 1_000_000 - finished.credits });
  const results = await Array.fromAsync(client.batches.results(batchId));
  expect(results.map(({ key }) => key)).toEqual(items.map(({ key }) => key));
  expect(await fixture.findFaults()).toEqual([]);
  await worker.stop();
});
