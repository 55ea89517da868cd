import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { loadCatalogue } from "../../src/models/catalogue/catalogue.ts";
import { createEnabledModels } from "../../src/models/catalogue/enabled-models.ts";
import { createLog } from "../../src/platform/log.ts";
import { writeModelLimits } from "../../src/runs/index.ts";
import { openEngine, type Engine } from "../runs/engine-fixture.ts";

const log = createLog("silent");

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.close());

/** A model server of this machine, as Ollama answers. */
async function serveModel(id: string): Promise<string> {
  const server = createServer((_request, response) => response.end(JSON.stringify({ object: "list", data: [{ id }] })));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("of a model found on this machine two runs are under way at once, over all workers together", async () => {
  const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true });
  const enabled = await createEnabledModels({
    catalogue,
    db: engine.db,
    log,
    probe: { secret: () => null, localModels: true, ownPort: 1, localHosts: [await serveModel("llama3.2")] },
    limitRuns: (limits) => writeModelLimits(engine.db, limits),
  });
  onTestFinished(() => enabled.close());
  await enabled.announce();
  expect(catalogue.isEnabled("local/llama3.2")).toBe(true);

  const accounts = await Promise.all([engine.createAccount(), engine.createAccount()]);
  for (const accountId of [...accounts, ...accounts, ...accounts])
    await engine.createRun(accountId, { model: "local/llama3.2" });
  const [first, second] = [await engine.registerWorker(), await engine.registerWorker()];
  const claimed = await Promise.all([engine.claim(first), engine.claim(second)]);
  expect(claimed.flat()).toHaveLength(2);

  const owner = claimed[0].length > 0 ? first : second;
  const [ended] = claimed.flat();
  if (ended === undefined) throw new Error("no run was claimed");
  await engine.finish(owner, [ended]);
  expect((await Promise.all([engine.claim(first), engine.claim(second)])).flat()).toHaveLength(1);
});
