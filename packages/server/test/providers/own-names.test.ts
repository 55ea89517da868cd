/**
 * Runs every example on a real server against stand-ins at the providers' own host names, over TLS, in a network namespace
 * where these names lead to this machine. Requests are recorded in own-names/sent.json and compared with the providers'
 * documentation (documented/).
 */
import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createAccount } from "../../src/accounts/index.ts";
import { loadCatalogue } from "../../src/models/index.ts";
import { entryOf } from "../../src/models/catalogue/catalogue.ts";
import { readShipped } from "../../src/models/catalogue/shipped.ts";
import { ALL_PROVIDERS } from "../../src/models/providers/all-providers.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { parsePromptFile, publishPrompts } from "../../src/prompts/index.ts";
import { openInstallationFixture, type InstallationFixture } from "../support/installation-fixture.ts";
import { createTestDatabase, type TestDatabase } from "../support/test-database.ts";
import { documentationOf, findUndocumented } from "./documented/documented.ts";
import type { Sent } from "./own-names/stand-ins.ts";
import type { Walk } from "./own-names/walk.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const EXAMPLES = join(ROOT, "examples");
const LOCAL = "compatible-text.prompt.md";
const { servers } = readShipped();

/** What a server with OPENAI_BASE_URL finds at startup. */
const FOUND = entryOf(
  {
    index: 20_000,
    model: "compatible/llama3.2:latest",
    provider: "compatible",
    providerModel: "llama3.2:latest",
    api: "chat",
    modality: "text",
    status: "active",
    runOptions: {},
    price: {},
    limits: { maxOutputTokens: 2_048, contextTokens: 8_192, timeoutMs: 600_000, concurrency: 4 },
  },
  { server: { baseURL: "http://127.0.0.1:11434/v1" }, priceFactor: "1", origin: "detected", isPaced: false },
);

interface Made {
  readonly runStatus: string;
  readonly outputs: readonly string[];
  readonly sent: readonly Sent[];
}

/** Needs permission to create a namespace, and a database on a socket, which no namespace hides. */
function whyNot(): string | null {
  if (!/^[a-z]+:\/\/(?:[^/@]*@)?\//.test(inject("database").url)) return "the database is reached over a network";
  try {
    execFileSync("unshare", ["--net", "--mount", "ip", "link", "set", "lo", "up"], { stdio: "ignore" });
    return null;
  } catch {
    return "this user may not make a network namespace, or unshare and ip are not installed";
  }
}

const reason = whyNot();
if (reason !== null) process.stderr.write(`Left out, the runs at the providers' own names: ${reason}.\n`);
const keys = Object.fromEntries(
  [
    ...ALL_PROVIDERS.flatMap(({ settings }) => settings?.key ?? []),
    ...Object.values(servers).flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []),
  ].map((name) => [name, `key-of-${name}`]),
);
const hosts = [
  ...ALL_PROVIDERS.flatMap(({ address }) =>
    address === null ? [] : [address.baseUrl, ...(address.fixed?.origins ?? [])],
  ),
  ...Object.values(servers).map(({ baseURL }) => baseURL),
].map((url) => new URL(url).host);

let database: TestDatabase;
let fixture: InstallationFixture;
let directory: string;
let made: Readonly<Record<string, Made>> = {};

async function publishExamples(): Promise<Record<string, string>> {
  const overlayFile = join(import.meta.dirname, "own-models.json");
  const catalogue = loadCatalogue({ overlayFile, hasSecret: () => true, sandbox: true });
  catalogue.useEnabled([...catalogue.enabledHere(), FOUND.model], [FOUND]);
  const newId = createIdSource(systemClock);
  const authorId = await createAccount(fixture.db, newId, { email: "examples@example.org", plan: "none" });
  const published = (await readdir(EXAMPLES)).map(async (name): Promise<[string, string]> => {
    const text = await readFile(join(EXAMPLES, name), "utf8");
    const [version] = await publishPrompts(fixture.db, parsePromptFile(text, catalogue), {
      authorId,
      catalogue,
      newId,
    });
    if (version === undefined) throw new Error(`${name} was not published`);
    return [name, version.promptVersionId];
  });
  return Object.fromEntries(await Promise.all(published));
}

beforeAll(async () => {
  if (reason !== null) return;
  database = await createTestDatabase();
  fixture = await openInstallationFixture(database.url, { PROMPTD_LEASE_MS: "6000" });
  directory = await mkdtemp(join(tmpdir(), "promptd-own-names-"));
  const { [LOCAL]: local = "", ...examples } = await publishExamples();
  const { apiKey } = await fixture.createCaller();
  const walk: Walk = {
    directory,
    hosts: [...new Set(hosts)],
    environment: { ...fixture.environment, PROMPTD_MODELS_FILE: join(import.meta.dirname, "own-models.json") },
    apiKey,
    rounds: [
      { environment: keys, examples },
      { environment: { OPENAI_BASE_URL: "http://127.0.0.1:11434" }, examples: { [LOCAL]: local } },
    ],
  };
  const words = ["--net", "--mount", process.execPath, "--conditions=promptd-source"];
  const program = join(import.meta.dirname, "own-names/walk.ts");
  const { stdout } = await promisify(execFile)("unshare", [...words, program, JSON.stringify(walk)], {
    maxBuffer: 64 * 2 ** 20,
  });
  made = JSON.parse(stdout) as typeof made;
});
afterAll(async () => {
  if (reason !== null) return;
  await fixture.close();
  await database.drop();
  await rm(directory, { recursive: true, force: true });
});

test.skipIf(reason !== null)("every example gives a run at its provider's own name", async () => {
  const names = await readdir(EXAMPLES);
  expect(Object.keys(made).sort()).toEqual(names.sort());
  for (const [name, { runStatus, outputs }] of Object.entries(made)) {
    const kind = /-(text|image|video)\.prompt/.exec(name)?.[1] ?? "";
    expect({ name, runStatus, outputs }).toEqual({
      name,
      runStatus: "succeeded",
      outputs: [kind === "text" ? "A short answer." : kind],
    });
  }
});

test.skipIf(reason !== null)("what is sent is what was sent before", async () => {
  const shown = Object.fromEntries(
    Object.entries(made)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, { sent }]) => [name, sent]),
  );
  const text = JSON.stringify(shown, null, 1)
    .replaceAll(/"idempotency-key": "[0-9a-f-]{36}/g, '"idempotency-key": "<run>')
    .replaceAll(/"(x-fal-request-timeout|cancel-after)": "\d+/g, '"$1": "<seconds left>');
  await expect(`${text}\n`).toMatchFileSnapshot("./own-names/sent.json");
});

test.skipIf(reason !== null)(
  "an order has the key, the headers, and the members that its provider documents, and no other member",
  () => {
    const orders = Object.entries(made).flatMap(([name, { sent }]) =>
      sent.filter(({ method }) => method === "POST").map((order) => ({ name, ...order })),
    );
    expect(orders.map(({ name }) => name).sort()).toEqual(Object.keys(made).sort()); // one each
    for (const { name, to, headers, body } of orders) {
      const page = documentationOf(to);
      const [header, form] = page.key;
      expect(String(headers[header]), name).toMatch(form);
      expect(String(headers[header]), name).toMatch(/key-of-[A-Z_]+$|^undefined$/);
      expect(headers["content-type"], name).toBe("application/json");
      for (const [each, value] of Object.entries(page.headers ?? {})) expect(headers[each], name).toMatch(value);
      expect({ name, undocumented: findUndocumented(to, body) }).toEqual({ name, undocumented: [] });
    }
  },
);

test.skipIf(reason !== null)("no file is asked for with a key", () => {
  const fetched = Object.values(made).flatMap(({ sent }) => sent.filter(({ to }) => /media|delivery/.test(to)));
  expect(fetched.length).toBeGreaterThan(0);
  expect(fetched.filter(({ headers }) => JSON.stringify(headers).includes("key-of-"))).toEqual([]);
});
