/**
 * From create to response over HTTP, with a model server that responds at once. promptd has everything on: keys, rate
 * limit, ledger, durable rows, flushes. The peers have none of it, except that "genkit, storing" stores and charges with
 * two statements per run. Loads: one caller, 64 callers of 50 accounts, and for promptd also 64 callers of one account, in
 * rotated order. Measures rates, waits, and every process's time per request.
 *
 * `hotAccount` is the rate of one account relative to 50 accounts. The goal is at least 0.8.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../packages/server/test/support/free-port.ts";
import { openInstallationFixture } from "../../packages/server/test/support/installation-fixture.ts";
import type { ChaosDatabase } from "../chaos/database-server.ts";
import { defineCase, type Bench } from "../harness/bench-case.ts";
import { startServer, type ChildServer } from "../harness/child-server.ts";
import { findPostmaster } from "../harness/cpu.ts";
import type { Outgoing } from "../harness/http-line.ts";
import { interleave, type LoadRound, type Target, type Visit } from "../harness/load.ts";
import { MOCK_ANSWER, MOCK_MODEL } from "../harness/mock-answer.ts";
import { startMockModels } from "../harness/mock-provider.ts";
import { createDatabaseOn, onDatabase } from "../harness/on-database.ts";
import { peerFile, requirePeers, versionOf } from "../harness/peers.ts";
import { spreadOf, spreadOfEach } from "../harness/spread.ts";
import { publishStory, STORY_INPUTS, STORY_TEXT } from "../harness/story-prompt.ts";

const ACCOUNTS = 50;
const CALLERS = 64;
const CHAT = { model: MOCK_MODEL, messages: [{ role: "user", content: STORY_TEXT }] };

export const createRunCase = defineCase({
  sizes: { rounds: [5, 1], seconds: [4, 1] },
  comparesPeers: true,
  measure: ({ database, sizes, hasPeers }) => onDatabase(database, (server) => measure(server, sizes, hasPeers)),
});

interface Started {
  /** Everything that is measured. promptd's figures are with many accounts. */
  readonly targets: readonly Target[];
  readonly hot: Target;
  readonly postmaster: number;
  readonly stop: () => Promise<void>;
}

async function measure(server: ChaosDatabase, sizes: Bench<"rounds" | "seconds">["sizes"], hasPeers: boolean) {
  const models = await startMockModels();
  const own = await startPromptd(server, models);
  const peers = hasPeers ? await startPeers(models, await openStorage(server, own.postmaster)) : [];
  const targets = [...own.targets, ...peers.map(({ target }) => target)];
  const { seconds } = sizes;
  const visits: Visit<string>[] = [
    ...targets.flatMap((target) => [
      { name: `${target.name} one`, target, load: { callers: 1, seconds } },
      { name: `${target.name} many`, target, load: { callers: CALLERS, seconds } },
    ]),
    { name: "promptd hot", target: own.hot, load: { callers: CALLERS, seconds } },
  ];
  const rounds = await interleave(visits, sizes.rounds);
  await Promise.all(peers.map(({ stop }) => stop()));
  await own.stop();
  await models.stop();
  const of = (name: string): readonly LoadRound[] => rounds[name] ?? [];
  return {
    loads: Object.fromEntries(visits.map(({ name }) => [name, spreadOfEach(of(name))])),
    hotAccount: ratioOf(of("promptd hot"), of("promptd many"), "perSecond"),
    besidePeers: peers.map(({ target: { name }, version }) => ({
      name,
      version,
      rate: ratioOf(of("promptd many"), of(`${name} many`), "perSecond"),
      p50OfOne: ratioOf(of("promptd one"), of(`${name} one`), "p50Ms"),
      serverMs: ratioOf(of("promptd many"), of(`${name} many`), "serverMs"),
    })),
  };
}

/** The ratio within the same rounds, so that other load on the machine affects both. */
function ratioOf(ours: readonly LoadRound[], theirs: readonly LoadRound[], what: keyof LoadRound) {
  return spreadOf(ours.map((round, i) => round[what] / (theirs[i]?.[what] ?? NaN)));
}

async function startPromptd(database: ChaosDatabase, models: ChildServer): Promise<Started> {
  const directory = mkdtempSync(join(tmpdir(), "promptd-story-"));
  const fixture = await openInstallationFixture(database.url, { PROMPTD_LEASE_MS: "6000" });
  const { promptVersionId, environment } = await publishStory(fixture, { directory, url: models.url });
  const promptd = await fixture.start("all", environment);
  const keys: string[] = [];
  for (let i = 0; i < ACCOUNTS; i += 1) keys.push((await fixture.createCaller(1_000_000_000)).apiKey);
  const body = JSON.stringify({ promptVersionId, inputs: { textInputs: STORY_INPUTS } });
  const requests = keys.map((key): Outgoing => {
    return { method: "POST", path: "/v1/runs", headers: { authorization: `Bearer ${key}` }, body };
  });
  const postmaster = await findPostmaster(fixture.db);
  const processes = { server: promptd.pid, database: postmaster, models: models.pid };
  const many: Target = { name: "promptd", url: promptd.url, requests, words: MOCK_ANSWER, processes };
  const bare: Target = {
    name: "model server",
    url: models.url,
    requests: [{ method: "POST", path: "/v1/chat/completions", body: JSON.stringify(CHAT) }],
    words: MOCK_ANSWER,
    processes: { server: models.pid },
  };
  return {
    targets: [many, bare],
    hot: { ...many, requests: requests.slice(0, 1) },
    postmaster,
    stop: async () => {
      await promptd.stop();
      await fixture.close();
      rmSync(directory, { recursive: true });
    },
  };
}

interface Peer {
  readonly target: Target;
  readonly version: string;
  readonly stop: () => Promise<void>;
}

/** A database for a peer that stores its runs, on the server that promptd uses. */
interface Storage {
  readonly url: string;
  readonly postmaster: number;
}

async function openStorage(server: ChaosDatabase, postmaster: number): Promise<Storage> {
  return { url: await createDatabaseOn(server, "genkit"), postmaster };
}

async function startPeers(models: ChildServer, storage: Storage): Promise<Peer[]> {
  requirePeers();
  const environment = { MOCK_URL: models.url };
  const portkey = peerFile("node_modules/@portkey-ai/gateway/build/start-server.js");
  const port = await freePort();
  const [genkit, storing, mastra, gateway] = await Promise.all([
    startServer({ file: peerFile("genkit.js"), environment }),
    startServer({ file: peerFile("genkit.js"), environment: { ...environment, DATABASE_URL: storage.url } }),
    startServer({ file: peerFile("mastra.js"), environment }),
    startServer({ file: portkey, args: [`--port=${port}`, "--headless"] }),
  ]);
  const peer = (name: string, version: string, { url, pid, stop }: ChildServer, request: Outgoing): Peer => {
    const stores = pid === storing.pid ? { database: storage.postmaster } : {};
    const processes = { server: pid, models: models.pid, ...stores };
    return { target: { name, url, requests: [request], words: MOCK_ANSWER, processes }, version, stop };
  };
  const toPortkey = {
    authorization: "Bearer x",
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": `${models.url}/v1`,
  };
  const post = (path: string, body: object, headers = {}): Outgoing => {
    return { method: "POST", path, headers, body: JSON.stringify(body) };
  };
  const toGenkit = post("/story", { data: STORY_INPUTS });
  return [
    peer("genkit", versionOf("genkit"), genkit, toGenkit),
    peer("genkit, storing", versionOf("genkit"), storing, toGenkit),
    peer("mastra", versionOf("@mastra/core"), mastra, post("/api/agents/story/generate", { messages: STORY_TEXT })),
    peer("portkey", versionOf("@portkey-ai/gateway"), gateway, post("/v1/chat/completions", CHAT, toPortkey)),
  ];
}
