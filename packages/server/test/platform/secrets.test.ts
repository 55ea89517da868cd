/** Secret or private data is never in a log line or a metric, and data that grants access is never in the database. */
import { createServer } from "node:http";
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { readMetrics } from "../support/read-metrics.ts";
import { killLeftovers, until } from "../support/promptd-process.ts";
import { openInstallationFixture } from "../support/installation-fixture.ts";
import { createTestDatabase } from "../support/test-database.ts";
import { createLog } from "../../src/platform/log.ts";
import { createAccount } from "../../src/accounts/index.ts";
import { mintApiKey } from "../../src/accounts/api-keys.ts";
import { loadCatalogue } from "../../src/models/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { openDatabase, type Database } from "../../src/platform/database/database.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { parsePromptFile, publishPrompts } from "../../src/prompts/index.ts";

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await killLeftovers();
  for (const act of undo.splice(0).toReversed()) await act();
});

const MODEL = "anthropic/claude-haiku-4-5";
/** Each is planted in one place and found wherever it leaks. */
const CANARIES = {
  providerKey: "sk-canary-of-the-provider-key",
  serverSecret: "canary-of-the-secret-that-signs-addresses",
  wrongKey: mintApiKey(),
  notAKey: "pd_canary-that-is-no-key",
  idempotencyKey: "canary-of-the-idempotency-key",
  cookie: "session=canary-of-a-cookie",
  query: "canary-of-a-search",
  input: "canary-of-an-input",
  refusedInput: "canary-of-an-input-that-is-refused",
  providerWords: "canary-of-what-the-provider-said",
} as const;

let requestCount = 0;
/** A provider that echoes what it was sent, adds its own text, and fails. */
async function startRudeProvider(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(500, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ error: { message: `${CANARIES.providerWords} ${request.headers.authorization}` } }),
      );
    });
  });
  server.on("request", () => (requestCount += 1));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  undo.push(async () => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/v1`;
}

/** A prompt whose model is the provider's. */
async function publishForProvider(db: Database): Promise<string> {
  const catalogue = loadCatalogue({
    overlayFile: null,
    hasSecret: (name) => name === "ANTHROPIC_API_KEY",
    sandbox: true,
  });
  const newId = createIdSource(systemClock);
  const authorId = await createAccount(db, newId, { email: "author@example.org", plan: "none" });
  const text =
    "---\npromptd: 1\ntitle: Rude\nmodel: MODEL\ninputs: { ask: {} }\nmaxOutputTokens: 100\n---\n{{ ask }}\n";
  const sources = parsePromptFile(text.replace("MODEL", MODEL), catalogue);
  const [published] = await publishPrompts(db, sources, { authorId, catalogue, newId });
  if (published === undefined) throw new Error("The prompt was not published.");
  return published.promptVersionId;
}

/** All rows of all tables, as text. */
async function dump(url: string): Promise<string> {
  const db = await openDatabase({ url, role: "test", log: createLog("silent", "stderr"), poolMax: 1 });
  try {
    const tables = await db.query<{ name: string }>(
      "select quote_ident(tablename) as name from pg_tables where schemaname = 'public' order by 1",
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const rows = await db.query<{ row: string }>(`select t::text as row from ${name} t`);
      texts.push(...rows.map(({ row }) => row));
    }
    return texts.join("\n");
  } finally {
    await db.close();
  }
}

describe("canaries in keys, inputs, outputs, queries and headers", () => {
  test("are in no log line at level debug and no metric, and those that grant access are in no database row", async () => {
    const database = await createTestDatabase();
    undo.push(() => database.drop());
    const fixture = await openInstallationFixture(database.url, {
      PROMPTD_LOG_LEVEL: "debug",
      PROMPTD_SECRET: CANARIES.serverSecret,
      ANTHROPIC_API_KEY: CANARIES.providerKey,
      ANTHROPIC_BASE_URL: await startRudeProvider(),
    });
    undo.push(() => fixture.close());
    const caller = await fixture.createCaller();
    const server = await fixture.start();
    const send = async (path: string, init: RequestInit & { key?: string } = {}) => {
      const { key = caller.apiKey, ...rest } = init;
      const headers = { authorization: `Bearer ${key}`, cookie: CANARIES.cookie, ...(rest.headers as object) };
      const response = await fetch(`${server.url}${path}`, { ...rest, headers });
      return { status: response.status, text: await response.text() };
    };
    const create = (ask: string, extra: object = {}) =>
      send("/v1/runs", {
        method: "POST",
        headers: { "idempotency-key": CANARIES.idempotencyKey, "content-type": "application/json" },
        body: JSON.stringify({ promptVersionId: fixture.prompts.paid, inputs: { textInputs: { ask } }, ...extra }),
      });

    const responses = [
      await create(CANARIES.input),
      await create(`${CANARIES.input} other`), // the key's conflict
      await send("/v1/me", { key: CANARIES.wrongKey }),
      await send("/v1/me", { key: CANARIES.notAKey }),
      await send(`/v1/prompts/publish?q=${CANARIES.query}`),
      await send("/v1/runs", { method: "POST", body: `{"${CANARIES.refusedInput}` }),
      await send("/v1/runs", { method: "POST", body: JSON.stringify({ promptVersionId: CANARIES.refusedInput }) }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([200, 422, 401, 401, 200, 400, 422]);
    const picture = await caller.clientAt(server.url).runs.createAndWait({
      promptVersionId: fixture.prompts.picture,
      inputs: { textInputs: { ask: CANARIES.input } },
    });
    const address = new URL(picture.outputs[0]?.data ?? "");
    expect((await fetch(address)).status).toBe(200);
    const broken = await caller.clientAt(server.url).runs.createAndWait({
      promptVersionId: fixture.prompts.paid,
      inputs: { textInputs: { ask: `sandbox: error=500\n${CANARIES.input}` } },
    });
    expect(broken.runStatus).toBe("failed");
    requestCount = 0;
    const rude = await caller.clientAt(server.url).runs.createAndWait({
      promptVersionId: await publishForProvider(fixture.db),
      inputs: { textInputs: { ask: CANARIES.input } },
    });
    expect([rude.runStatus, requestCount > 0]).toEqual(["failed", true]);
    expect(JSON.stringify(rude)).not.toContain(CANARIES.providerWords);
    const rows = await dump(database.url);
    await fixture.db.query("alter table accounts rename to away"); // a database failure
    expect((await create(CANARIES.input)).status).toBe(500);
    await fixture.db.query("alter table away rename to accounts");

    await until(() => server.log.some((line) => line.includes('"level":"error"')));
    const { text: metrics } = await readMetrics(server.url);
    expect((await server.stop()).code).toBe(0);
    const log = [...server.log, metrics].join("\n");
    expect(server.log.length).toBeGreaterThan(responses.length); // at least one line per request
    const signature = address.search.replace(/^\?/, "");
    const leaked = Object.entries({ ...CANARIES, apiKey: caller.apiKey, signature }).filter(([, text]) =>
      log.includes(text),
    );
    expect(leaked).toEqual([]);
    const { providerKey, serverSecret, wrongKey, cookie } = CANARIES;
    expect([caller.apiKey, providerKey, serverSecret, wrongKey, cookie].filter((text) => rows.includes(text))).toEqual(
      [],
    );
  });
});
