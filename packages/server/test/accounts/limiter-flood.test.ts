/** The limiter and a revocation during floods by four processes, judged by the database's own times. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { revokeApiKey } from "../../src/accounts/index.ts";
import { openEngine, type Engine } from "../runs/engine-fixture.ts";
import { admissionsOf, createKeys, noteAdmissions, worstWindow } from "./limiter-fixture.ts";
import type { FloodOrder, FloodReport } from "./limiter-process.ts";
import { until } from "../support/promptd-process.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
  await noteAdmissions(engine);
});
afterAll(() => engine.close());

/** Floods from several processes while `meanwhile` runs, and from each until it has been refused as ordered. */
async function floodFromProcesses(
  processes: number,
  order: Omit<FloodOrder, "databaseUrl">,
  meanwhile: () => Promise<void>,
): Promise<FloodReport[]> {
  const children = Array.from({ length: processes }, () => {
    const child = fork(join(import.meta.dirname, "limiter-process.ts"), { execArgv: ["--conditions=promptd-source"] });
    child.send({ ...order, databaseUrl: engine.url });
    return child;
  });
  try {
    await Promise.all(children.map((child) => once(child, "message")));
    for (const child of children) child.send("go");
    await meanwhile();
    const reports = children.map((child) => once(child, "message"));
    const ended = children.map((child) => once(child, "exit"));
    for (const child of children) child.send("stop");
    const all = (await Promise.all(reports)).map(([report]) => report as FloodReport);
    await Promise.all(ended);
    return all;
  } finally {
    for (const child of children) child.kill("SIGKILL");
  }
}

describe("in a flood of four processes", () => {
  test("at most five requests are admitted in any second, with eight floods each over twenty keys", async () => {
    const { accountId, apiKeys } = await createKeys(engine, 20);
    // Three windows are full: what is allowed is granted, and flooding costs nothing.
    const reports = await floodFromProcesses(4, { apiKeys, floods: 8, untilRefusedWith: 429 }, () =>
      until(async () => (await admissionsOf(engine, accountId)).length >= 15),
    );
    const times = await admissionsOf(engine, accountId);
    expect(times).toHaveLength(reports.reduce((sum, report) => sum + report.admitted, 0));
    expect(worstWindow(times)).toBe(5);
    expect(Math.min(...reports.map((report) => report.refused))).toBeGreaterThan(0);
  });

  test("a key is admitted by no statement that starts after its revocation committed", async () => {
    const { accountId, apiKeys, keyIds } = await createKeys(engine, 1);
    let revokedAt = "";
    const order = { apiKeys, floods: 4, untilRefusedWith: 401 } as const;
    await floodFromProcesses(4, order, async () => {
      await until(async () => (await admissionsOf(engine, accountId)).length >= 6);
      await revokeApiKey(engine.db, keyIds[0] ?? "");
      const rows = await engine.db.query<{ at: string }>("select statement_timestamp()::text as at");
      revokedAt = rows[0]?.at ?? "";
    });
    const late = "select 1 from admissions where scope_id = $1 and statement_at > $2";
    expect(await engine.db.query(late, [accountId, revokedAt])).toEqual([]);
  });
});
