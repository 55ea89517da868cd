import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { loadCatalogue, type Catalogue } from "../../src/models/catalogue/catalogue.ts";
import { createEnabledModels } from "../../src/models/catalogue/enabled-models.ts";
import { createLog } from "../../src/platform/log.ts";
import { adaptModelLimit, writeModelLimits } from "../../src/runs/index.ts";
import { openEngine, type Engine } from "../runs/engine-fixture.ts";

const log = createLog("silent");

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.close());

/** A model server on this machine that responds like Ollama. */
async function serveModel(id: string): Promise<string> {
  const server = createServer((_request, response) => response.end(JSON.stringify({ object: "list", data: [{ id }] })));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function announce(id: string): Promise<Catalogue> {
  const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true });
  const enabled = await createEnabledModels({
    catalogue,
    db: engine.db,
    log,
    probe: { secret: () => null, localModels: true, ownPort: 1, localHosts: [await serveModel(id)] },
    foundConcurrency: null,
    limitRuns: (limits) => writeModelLimits(engine.db, limits),
  });
  onTestFinished(() => enabled.close());
  await enabled.announce();
  return catalogue;
}

async function createRuns(model: string, count: number): Promise<void> {
  const accounts = await Promise.all([engine.createAccount(), engine.createAccount()]);
  for (let run = 0; run < count; run += 1) await engine.createRun(accounts[run % 2] ?? "", { model });
}

test("a model found on this machine starts with two concurrent runs, across all workers", async () => {
  expect((await announce("llama3.2")).isEnabled("local/llama3.2")).toBe(true);
  await createRuns("local/llama3.2", 6);
  const [first, second] = [await engine.registerWorker(), await engine.registerWorker()];
  const claimed = await Promise.all([engine.claim(first), engine.claim(second)]);
  expect(claimed.flat()).toHaveLength(2);

  const owner = claimed[0].length > 0 ? first : second;
  const [ended] = claimed.flat();
  if (ended === undefined) throw new Error("no run was claimed");
  await engine.finish(owner, [ended]);
  expect((await Promise.all([engine.claim(first), engine.claim(second)])).flat()).toHaveLength(1);
});

describe("a limit that follows its server's pace", () => {
  const model = "local/follows";
  const adapt = (from: number, to: number): Promise<number> => adaptModelLimit(engine.db, model, { from, to });

  test("grows only while it is reached", async () => {
    await announce("follows");
    expect(await adapt(2, 4)).toBe(2);
    await createRuns(model, 12);
    const worker = await engine.registerWorker();
    expect(await engine.claim(worker)).toHaveLength(2);
    expect(await adapt(2, 4)).toBe(4);
    expect(await engine.claim(worker)).toHaveLength(2);
  });

  test("is set by the worker that changed it first, and can shrink at any time", async () => {
    expect(await adapt(2, 4)).toBe(4);
    expect(await adapt(2, 2)).toBe(4);
    expect(await adapt(4, 2)).toBe(2);
    expect(await adapt(4, 8)).toBe(2);
  });

  test("survives the next probe and another start, within what the operator allows", async () => {
    const pace = (max: number) => new Map([[model, { max, isPaced: true }]]);
    await writeModelLimits(engine.db, new Map([[model, { max: 16, isPaced: false }]]));
    await writeModelLimits(engine.db, pace(64));
    await announce("follows");
    expect(await adapt(0, 0)).toBe(16);
    await writeModelLimits(engine.db, pace(8));
    expect(await adapt(0, 0)).toBeLessThanOrEqual(8);
    await writeModelLimits(engine.db, new Map([[model, { max: 5, isPaced: false }]]));
    expect(await adapt(0, 0)).toBe(5);
  });
});
