/**
 * Images of a run that is not created: nothing is stored for a request that can be refused beforehand, and stored
 * images are removed when the transaction refuses, so that requests that cost nothing do not fill the disk.
 */
import { mkdir, mkdtemp, readdir, rename, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RawAnswer } from "@promptd/client";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Tx } from "../../src/platform/database/database.ts";
import { enableFaults } from "../../src/platform/fault-injection.ts";
import { createLog } from "../../src/platform/log.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { PNG_BASE64, promptFile } from "../prompts/prompt-files.ts";
import { until } from "../support/promptd-process.ts";
import { bodyOf, errorOf, postRun, runOf, startRun } from "../wire/requests.ts";

const KEY = { "idempotency-key": "order-17" };
/** Makes a different image by changing one byte that no decoder reads. */
const OTHER_BASE64 = Buffer.concat([Buffer.from(PNG_BASE64, "base64"), Buffer.from([0])]).toString("base64");

let dataDir = "";
let server: TestServer;
let promptVersionId = "";
/** What one run holds. */
let price = 0;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "promptd-refused-"));
  server = await startTestServer({ environment: { PROMPTD_DATA_DIR: dataDir }, log: createLog("silent") });
  const prompt = promptFile({ fields: "images: [{ label: Photo }]", body: "Describe the photo." });
  ({ promptVersionId } = await server.publish(prompt));
  const poor = await server.createCaller({ credits: 0 });
  price = (errorOf(await post(poor)).data as { required: number }).required;
});
beforeEach(async () => {
  for (const name of await blobs()) await rm(pathOf(name), { recursive: true });
});
afterEach(() => enableFaults(""));
afterAll(async () => {
  await server.close();
  await rm(dataDir, { recursive: true, force: true });
});

function post(caller: TestCaller, headers: Record<string, string> = {}, base64 = PNG_BASE64): Promise<RawAnswer> {
  const body = { promptVersionId, inputs: { imageInputs: [{ type: "base64", base64 }] } };
  return postRun(caller.client, body, headers);
}

async function blobs(): Promise<string[]> {
  const names = await readdir(join(dataDir, "files"), { recursive: true });
  return names.map((name) => name.split("/").at(-1) ?? "").filter((name) => name.length === 36);
}

const pathOf = (name: string) => join(dataDir, "files", name.slice(-4, -2), name.slice(-2), name);
const statusesOf = (answers: readonly RawAnswer[]) =>
  answers.map(({ httpStatus }) => httpStatus).toSorted((a, b) => a - b);

async function inputsOf(caller: TestCaller): Promise<string[]> {
  const rows = await server.app.db.query<{ id: string }>("select id from files where account_id = $1", [
    caller.accountId,
  ]);
  return rows.map(({ id }) => id);
}

/**
 * Waits until one image is left, which must be the image of the caller's run: discarding happens after the response.
 */
async function untilOthersAreDeleted(caller: TestCaller): Promise<void> {
  await until(async () => (await blobs()).length <= 1);
  expect(await blobs()).toEqual(await inputsOf(caller));
  expect(await blobs()).toHaveLength(1);
}

/**
 * Sends while a lock keeps the transactions of all requests waiting: each has stored its image by then, and none can
 * proceed.
 */
async function meetAt(lock: string, requests: readonly (() => Promise<RawAnswer>)[], meanwhile = async () => {}) {
  const hold = async (tx: Tx) => {
    await tx.query(lock);
    const answers = requests.map((send) => send());
    await until(async () => (await blobs()).length === requests.length);
    await meanwhile();
    return { answers };
  };
  const { answers } = await server.app.db.tx(hold, { statementTimeoutMs: 0 });
  return Promise.all(answers);
}
const AT_BALANCE = "lock table credit_accounts in share row exclusive mode";
const AT_KEYS = "lock table idempotency_keys in share row exclusive mode";

describe("a run that can be refused beforehand is refused before its image is stored", () => {
  beforeEach(() => enableFaults("create.blob_stored:throw"));

  test("402 without the credits", async () => {
    const poor = await server.createCaller({ credits: price - 1 });
    expect(errorOf(await post(poor)).data).toEqual({
      reason: "INSUFFICIENT_CREDITS",
      required: price,
      available: price - 1,
      estimated: price,
    });
    expect(await blobs()).toEqual([]);
  });

  test("402 for a frozen account", async () => {
    const frozen = await server.createCaller({ credits: 100 });
    await server.app.db.query("select credit_freeze($1, 'a test')", [frozen.accountId]);
    expect(errorOf(await post(frozen)).data).toEqual({ reason: "ACCOUNT_FROZEN" });
    expect(await blobs()).toEqual([]);
  });

  test("429 above the maximum of active runs", async () => {
    const full = await server.startAnother("api", { PROMPTD_ACTIVE_RUNS_MAX: "1" });
    const caller = await server.createCaller();
    const there = { ...caller, client: server.clientOf(caller.apiKey, full.listenUrl ?? "") };
    const slow = await server.publish(promptFile({ body: "sandbox: delay=600000\nAnything." }));
    const runId = await startRun(there.client, bodyOf(slow.promptVersionId));
    expect(errorOf(await post(there)).data).toEqual({ reason: "TOO_MANY_ACTIVE_RUNS", limit: 1 });
    expect(await blobs()).toEqual([]);
    await there.client.runs.cancel(runId);
  });
});

describe("a run that its transaction refuses leaves no image behind", () => {
  test("402 for requests that competed for the last credits; the created run keeps its image", async () => {
    const caller = await server.createCaller({ credits: price });
    const answers = await meetAt(
      AT_BALANCE,
      [1, 2, 3].map(() => () => post(caller)),
    );
    expect(statusesOf(answers)).toEqual([200, 402, 402]);
    expect(runOf(answers.find(({ httpStatus }) => httpStatus === 200) as RawAnswer).outputs[0]?.data).toContain(
      "images: 1\npng, 1 x 1, ",
    );
    await untilOthersAreDeleted(caller);
  });

  test("a repeat under the same Idempotency-Key at the same moment", async () => {
    const caller = await server.createCaller();
    const answers = await meetAt(
      AT_KEYS,
      [1, 2, 3].map(() => () => post(caller, KEY)),
    );
    expect(new Set(answers.map((answer) => runOf(answer).runId)).size).toBe(1);
    await untilOthersAreDeleted(caller);
  });

  test("another body under the same Idempotency-Key at the same moment", async () => {
    const caller = await server.createCaller();
    const answers = await meetAt(AT_KEYS, [() => post(caller, KEY), () => post(caller, KEY, OTHER_BASE64)]);
    expect(statusesOf(answers)).toEqual([200, 422]);
    await untilOthersAreDeleted(caller);
  });

  test("a full database", async () => {
    const caller = await server.createCaller();
    await server.app.db.query(`create function no_room() returns trigger language plpgsql
        as $$ begin raise 'no space left' using errcode = '53100'; end $$;
      create trigger no_room before insert on runs for each row execute function no_room()`);
    const answer = await post(caller);
    await server.app.db.query("drop trigger no_room on runs");
    expect(answer.httpStatus).toBe(500);
    await until(async () => (await blobs()).length === 0);
  });

  test("an image that cannot be removed does not change the response", async () => {
    const caller = await server.createCaller({ credits: price });
    let kept: string[] = [];
    const makeUndeletable = async () => {
      kept = await blobs();
      for (const name of kept) {
        await rename(pathOf(name), `${pathOf(name)}.aside`);
        await mkdir(pathOf(name));
      }
    };
    const spend = "update credit_accounts set posted = 0";
    const [answer] = await meetAt(`${AT_BALANCE}; ${spend}`, [() => post(caller)], makeUndeletable);
    expect(answer?.httpStatus).toBe(402);
    expect(kept).toHaveLength(1);
    for (const name of kept) await rmdir(pathOf(name));
  });
});

test("a run's image is stored for the run: it expires at the run's deadline", async () => {
  const caller = await server.createCaller();
  runOf(await post(caller));
  const rows = await server.app.db.query(
    `select f.expires_at - r.deadline_at between interval '0' and interval '1 second' as "isBoth"
     from files f join runs r on r.id = f.run_id where f.account_id = $1`,
    [caller.accountId],
  );
  expect(rows).toEqual([{ isBoth: true }]);
});
