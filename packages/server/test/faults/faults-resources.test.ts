/**
 * The database without a free connection, and the disk without a free block: errors, no lost run, and automatic
 * recovery.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { PromptdError } from "@promptd/client";
import type { Client } from "@promptd/client";
import { openConnection, openDatabase } from "../../src/platform/database/database.ts";
import { startEmbeddedPostgres } from "../../src/platform/embedded/supervise.ts";
import { createLog } from "../../src/platform/log.ts";
import { migrate } from "../../src/platform/database/migrate.ts";
import { startTestServer } from "../support/test-server.ts";
import { findFaults, openInstallationFixture } from "../support/installation-fixture.ts";
import { killLeftovers, startPromptd, until } from "../support/promptd-process.ts";

const silent = createLog("silent", "stderr");
const ECHO = "---\npromptd: 1\ntitle: Echo\nmodel: sandbox/text\ninputs: { ask: {} }\n---\n{{ ask }}\n";
const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await killLeftovers();
  for (const act of undo.splice(0).toReversed()) await act();
});

async function makeDirectory(name: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), `promptd-${name}-`));
  undo.push(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

const statusOf = (error: unknown) => (error instanceof PromptdError ? error.httpStatus : String(error));

describe("a database whose connections others have taken", () => {
  const CONNECTIONS = 40;

  /** Takes every connection that is free or becomes free; only the server's superuser has some reserved. */
  async function takeAll(url: string, taken: ReturnType<typeof openConnection>[]): Promise<void> {
    for (;;) {
      const connection = openConnection(url, "foreign");
      try {
        await connection.connect();
      } catch {
        return;
      }
      taken.push(connection);
    }
  }

  test("is answered with 500 without waiting, and costs no run: all continue when there is room again", async () => {
    const dataDir = await makeDirectory("connections");
    const settings = { max_connections: String(CONNECTIONS), fsync: "off" };
    const own = await startEmbeddedPostgres({ dataDir, log: silent, settings });
    undo.push(() => own.stop());
    await migrate(own.url, silent);
    const superuser = openConnection(own.url.replace("promptd@", "postgres@"), "chief");
    await superuser.connect();
    undo.push(() => superuser.end());
    const environment = { DATABASE_URL: own.url, PROMPTD_LEASE_MS: "1500" };
    const server = await startTestServer({ role: "api", environment });
    undo.push(() => server.close());
    await server.startAnother("worker");
    const { promptVersionId } = await server.publish(ECHO);
    const caller = await server.createCaller();
    const bodyOf = (ask: string) => ({ promptVersionId, inputs: { textInputs: { ask } } });
    const started = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        caller.client.runs.create(bodyOf(`sandbox: delay=${i * 400}\n${i}`), { respondAsync: true }),
      ),
    );

    const taken: ReturnType<typeof openConnection>[] = [];
    undo.push(() => Promise.all(taken.map((one) => one.end().catch(() => {}))));
    let roundsWithoutRoom = 0;
    await until(async () => {
      await superuser.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'promptd:%'
         and application_name not like 'promptd:foreign:%' and pid <> pg_backend_pid() and usename = 'promptd'`,
      );
      const before = taken.length;
      await takeAll(own.url, taken);
      const { rows } = await superuser.query(
        `select 1 from pg_stat_activity where usename = 'promptd' and application_name not like 'promptd:foreign:%'`,
      );
      // A session disappears from the list a moment before its slot is free, so one round that finds no room proves
      // nothing.
      roundsWithoutRoom = rows.length === 0 && taken.length === before ? roundsWithoutRoom + 1 : 0;
      return roundsWithoutRoom === 20;
    });
    const refused = await Promise.all(Array.from({ length: 20 }, () => caller.client.me.get().catch(statusOf)));
    expect(refused).toEqual(Array(20).fill(500));
    expect((await fetch(`${server.url}/readyz`)).status).toBe(500);

    await Promise.all(taken.splice(0).map((one) => one.end()));
    await until(async () => (await fetch(`${server.url}/readyz`)).status === 200);
    const direct = await openDatabase({ url: own.url, role: "test", log: silent, poolMax: 1 });
    undo.push(() => direct.close());
    await until(async () => (await direct.query("select 1 from runs where finished_at is null")).length === 0);
    const ended = await direct.query<{ id: string; status: string }>("select id, status from runs order by id");
    expect(ended).toEqual(started.map(({ runId }) => ({ id: runId, status: "succeeded" })).toSorted(byId));
    expect((await caller.client.runs.createAndWait(bodyOf("afterwards"))).runStatus).toBe("succeeded");
    expect(await findFaults(direct)).toEqual([]);
  });

  const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1);
});

const run = promisify(execFile);
function mountDisk(directory: string, megabytes: number) {
  return run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "promptd-test", directory]);
}
const unmount = (directory: string) => run("umount", ["--lazy", directory]);

/** Mounting needs root, and a container may forbid it even then. */
const canMount = process.geteuid?.() === 0 && (await tryMount());
async function tryMount(): Promise<boolean> {
  const directory = await mkdtemp(join(tmpdir(), "promptd-mount-"));
  try {
    await mountDisk(directory, 1);
    await unmount(directory);
    return true;
  } catch {
    return false;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
describe.skipIf(!canMount)("a full disk under the embedded database and the files", () => {
  /** Writes until the disk is full. */
  async function fill(file: string): Promise<void> {
    const handle = await open(file, "w");
    try {
      for (const bytes of [1 << 20, 1 << 12]) {
        const piece = Buffer.alloc(bytes, 1);
        while (await handle.write(piece).then(({ bytesWritten }) => bytesWritten === bytes, isFull));
      }
    } finally {
      await handle.close();
    }
  }
  function isFull(error: NodeJS.ErrnoException): boolean {
    if (error.code === "ENOSPC") return false;
    throw error;
  }

  test("lets runs wait that it has no room for, refuses new ones with 500, and is forgotten when there is room", async () => {
    const disk = await makeDirectory("disk");
    await mountDisk(disk, 192);
    undo.push(() => unmount(disk));
    const dataDir = join(disk, "data");
    await mkdir(dataDir);
    const environment = {
      PROMPTD_DATA_DIR: dataDir,
      PROMPTD_RATE_LIMIT_PER_SECOND: "10000",
      PROMPTD_LOG_LEVEL: "error",
    };
    const server = await startPromptd({ environment });
    const url = `postgresql://promptd@/promptd?host=${encodeURIComponent(join(dataDir, "pg"))}&port=5432&sslmode=disable`;
    const fixture = await openInstallationFixture(url);
    let closing: Promise<void> | null = null;
    const closeFixture = () => (closing ??= fixture.close());
    undo.push(closeFixture);
    const caller = await fixture.createCaller();
    const client = caller.clientAt(server.url);
    const bodyOf = (prompt: "paid" | "picture", ask: string) => ({
      promptVersionId: fixture.prompts[prompt],
      inputs: { textInputs: { ask } },
    });
    const before = await client.runs.createAndWait(bodyOf("picture", "kept"));
    expect(before.runStatus).toBe("succeeded");

    await fill(join(disk, "filler"));
    const waiting = await client.runs.create(bodyOf("picture", "no room for its file"), { respondAsync: true });

    // Each leaves 90 kB in the database's write-ahead log, which has less than 32 MB reserved.
    const keys = Array.from({ length: 600 }, (_, i) => `key-${i}`);
    const results = await inTurn(keys, 8, (key) => create(client, bodyOf("paid", key + noise()), key));
    const acknowledged = results.filter(({ runId }) => runId !== null);
    const refused = new Set(results.flatMap(({ status }) => (status === 200 ? [] : [status])));
    // The server may be down or may still read: either way it refuses what it cannot write.
    expect([...refused]).toEqual([500]);

    await rm(join(disk, "filler"));
    await until(async () => (await fetch(`${server.url}/readyz`)).status === 200);
    await until(async () => (await fixture.openRuns().catch(() => 1)) === 0);
    const ids = (await fixture.db.query<{ id: string }>("select id from runs")).map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(acknowledged.map(({ runId }) => runId)));
    expect((await client.runs.get(waiting.runId)).runStatus).toBe("succeeded");
    expect((await client.runs.createAndWait(bodyOf("picture", "room again"))).runStatus).toBe("succeeded");
    expect(await fixture.findFaults()).toEqual([]);
    await closeFixture(); // otherwise promptd would leave the database running for it
    expect((await server.stop()).code).toBe(0);
  }, 240_000);

  /** Incompressible, so that it takes its full size on disk. */
  const noise = () => Buffer.from(crypto.getRandomValues(new Uint8Array(65_000))).toString("base64");

  async function create(client: Client, body: Parameters<Client["runs"]["create"]>[0], idempotencyKey: string) {
    try {
      const { runId } = await client.runs.create(body, { idempotencyKey, respondAsync: true });
      return { runId, status: 200 };
    } catch (error) {
      return { runId: null, status: statusOf(error) };
    }
  }

  async function inTurn<Item, Result>(items: readonly Item[], width: number, act: (item: Item) => Promise<Result>) {
    const results: Result[] = [];
    const rest = items.values();
    await Promise.all(
      Array.from({ length: width }, async () => {
        for (const item of rest) results.push(await act(item));
      }),
    );
    return results;
  }
});
