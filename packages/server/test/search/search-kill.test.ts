import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLog } from "../../src/platform/log.ts";
import type { Database } from "../../src/platform/database/database.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createSearch, indexDocuments } from "../../src/search/index.ts";
import type { Search } from "../../src/search/index.ts";
import { documentOf, promptId } from "./search-fixture.ts";
import { useTestDatabase } from "../support/test-database.ts";

const DOCUMENTS = 600;
const DIMS = 8;
const PROCESS = new URL("search-embed-process.ts", import.meta.url);

/** A model over HTTP; `onTexts` is called for each request, and `vectorOf` computes the vector of each text. */
const heard: { onTexts: (texts: readonly string[]) => void } = { onTexts: () => {} };
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk: Buffer) => (body += chunk.toString()));
  request.on("end", () => {
    const texts = JSON.parse(body) as string[];
    heard.onTexts(texts);
    response.end(JSON.stringify(texts.map(vectorOf)));
  });
});
const vectorOf = (text: string) => Array.from({ length: DIMS }, (_, k) => Math.sin(text.length * (k + 1)) + 0.1 * k);

let db: Database;
let url: string;
let search: Search;
useTestDatabase((opened) => ({ db, url } = opened));
beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  search = createSearch({ db, log: createLog("silent"), clock: systemClock });
  const documents = Array.from({ length: DOCUMENTS }, (_, i) => documentOf(i + 1, `Sourdough bread number ${i}`));
  await db.tx((tx) => indexDocuments(tx, documents), { statementTimeoutMs: 0 });
});
afterAll(async () => {
  server.close();
  await search.close();
});

function start(model: string) {
  const { port } = server.address() as AddressInfo;
  const args = ["--conditions=promptd-source", PROCESS.pathname, url, `http://127.0.0.1:${port}/`, model];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  child.stderr.pipe(process.stderr);
  return child;
}

const countVectors = async () => {
  const [row] = await db.query<{ n: number }>(
    "select count(*)::int as n from search_embeddings where starts_with(embedder, 'remote-')",
  );
  return row?.n ?? 0;
};
const stateOf = async () => {
  const rows = await db.query<{ kind: string; state: string }>(
    "select split_part(embedder, '-', 1) as kind, state from search_embedders order by 1",
  );
  return rows.map(({ kind, state }) => `${kind} ${state}`);
};

/** Search works, one embedder is active, and every vector has its embedder's length. */
async function checkWhole(): Promise<void> {
  expect(await search.find("sourdough bread number 7", 1)).toEqual([promptId(8)]);
  const active = (await stateOf()).filter((state) => state.endsWith(" active"));
  expect(active).toHaveLength(1);
  const mixed = await db.query(
    "select from search_embeddings join search_embedders using (embedder) where length(vec) <> 4 * dims",
  );
  expect(mixed).toEqual([]);
}

test(
  "killed repeatedly during the backfill, it continues where it stopped, and search always works",
  { timeout: 300_000 },
  async () => {
    const asked: string[] = [];
    const seen: number[] = [];
    for (let kill = 0; kill < 3; kill += 1) {
      const child = start("test/kill");
      // A process sends its second request after storing the first vectors; it is killed before the reply.
      let questions = 0;
      await new Promise<void>((resolve) => {
        heard.onTexts = (texts) => {
          if (texts.length > 1) asked.push(...texts);
          if (texts.length > 1) questions += 1;
          if (questions === 2) resolve();
        };
      });
      child.kill("SIGKILL");
      await once(child, "exit");
      seen.push(await countVectors());
      await checkWhole();
      expect(await stateOf()).toEqual(["builtin active", "remote building"]);
    }
    expect(seen[0]).toBeGreaterThan(0);
    expect(seen[1]).toBeGreaterThan(seen[0] ?? 0);
    expect(seen[2]).toBeGreaterThan(seen[1] ?? 0);
    // Stored texts are never sent again; each killed process causes at most one batch to be sent again.
    const twice = asked.length - new Set(asked).size;
    expect(twice).toBeLessThanOrEqual(3 * 128);
  },
);

test(
  "killed while the model becomes active, exactly one embedder is active, and the next process completes the switch",
  { timeout: 300_000 },
  async () => {
    const blocker = await holdFlip();
    const child = start("test/kill");
    heard.onTexts = () => {};
    await blocker.isWaitedFor();
    child.kill("SIGKILL");
    await once(child, "exit");
    await blocker.release();
    expect(await countVectors()).toBe(DOCUMENTS);
    await checkWhole();
    expect(await stateOf()).toEqual(["builtin active", "remote building"]);

    const next = start("test/kill");
    for await (const _ of next.stdout) if ((await stateOf()).includes("remote active")) break;
    next.kill("SIGKILL");
    expect(await stateOf()).toEqual(["builtin retired", "remote active"]);
    await checkWhole();
  },
);

/** Locks the row of the active embedder, so that the switch stops between its two statements. */
async function holdFlip() {
  const held = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const done = db.tx(async (tx) => {
    await tx.query("set local idle_in_transaction_session_timeout = 0");
    await tx.query("select from search_embedders where state = 'active' for update");
    held.resolve();
    await release.promise;
  });
  await held.promise;
  return {
    isWaitedFor: async () => {
      for (;;) {
        const waiting = await db.query(
          "select from pg_stat_activity where wait_event_type = 'Lock' and query like 'update search_embedders%' and datname = current_database()",
        );
        if (waiting.length > 0) return;
      }
    },
    release: async () => {
      release.resolve();
      await done;
    },
  };
}
