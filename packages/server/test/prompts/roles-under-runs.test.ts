/** Roles that change during runs: a key appears or disappears while runs wait or execute. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createAccount } from "../../src/accounts/index.ts";
import { loadCatalogue } from "../../src/models/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { parsePromptFile, publishPrompts } from "../../src/prompts/index.ts";
import { json, startOwnServer } from "../providers/own-server.ts";
import { chatAnswer, TEXT } from "../providers/provider-answers.ts";
import type { InstallationFixture } from "../support/installation-fixture.ts";
import { until } from "../support/promptd-process.ts";
import { useInstallation } from "../support/use-installation.ts";

const installation = useInstallation();
const FILE =
  "---\npromptd: 1\ntitle: Poem\nslug: poem\nmodel: text-default\ninputs: { topic: {} }\n---\nOn {{ topic }}.\n";
const REAL = "openai/gpt-6.1-terra";
const OTHER = "deepseek/deepseek-flash";
const SANDBOX = expect.stringContaining("[sandbox output, not an AI model]") as string;
const REQUEST = { inputs: { textInputs: { topic: "rain" } } };

/** A test server with OpenAI's API, also for another provider. `hold`: it answers chats once `release` was called. */
async function openProvider({ hold }: { readonly hold: boolean } = { hold: false }) {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const { url, received } = await startOwnServer(({ method }, response) => {
    if (method === "GET") return json(response, { object: "list", data: [] });
    if (!hold) return json(response, chatAnswer());
    void promise.then(() => json(response, chatAnswer()));
  });
  const keys = { OPENAI_API_KEY: "secret", OPENAI_BASE_URL: `${url}/v1` };
  const folder = await mkdtemp(join(tmpdir(), "promptd-roles-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const overlay = join(folder, "models.json");
  await writeFile(overlay, JSON.stringify({ formatVersion: 1, providers: { deepseek: { baseURL: `${url}/v1` } } }));
  const otherKeys = { DEEPSEEK_API_KEY: "secret", PROMPTD_MODELS_FILE: overlay };
  return { keys, otherKeys, release, chats: () => received.filter(({ method }) => method === "POST").length };
}

async function publish({ db }: InstallationFixture, hasKey: boolean) {
  const newId = createIdSource(systemClock);
  const catalogue = loadCatalogue({
    overlayFile: null,
    hasSecret: (name) => hasKey && name === "OPENAI_API_KEY",
    sandbox: true,
  });
  const authorId = await createAccount(db, newId, { email: `${newId()}@example.org`, plan: "none" });
  const [published] = await publishPrompts(db, parsePromptFile(FILE, catalogue), { authorId, catalogue, newId });
  if (published === undefined) throw new Error("the prompt was not published");
  return published;
}

async function modelsOf({ db }: InstallationFixture, promptId: string): Promise<string[]> {
  const sql = "select model from prompt_versions where prompt_id = $1 order by number";
  return (await db.query<{ model: string }>(sql, [promptId])).map(({ model }) => model);
}

/** Roles are checked every ten seconds; here, repeatedly. */
const versionsBecome = (fixture: InstallationFixture, promptId: string, models: readonly string[]) =>
  until(async () => {
    await fixture.db.query("update cron_ticks set next_at = promptd_now() where name = 'roles'");
    return (await modelsOf(fixture, promptId)).join() === models.join();
  });

async function open(fixture: InstallationFixture, environment: Readonly<Record<string, string>>) {
  const api = await fixture.startHere("api", environment);
  const client = (await fixture.createCaller()).clientAt(api.url);
  const { runs } = client;
  const finished = async (runId: string) => {
    for (;;) {
      const read = await runs.get(runId, { waitSeconds: 60 });
      if (read.runStatus === "succeeded" || read.runStatus === "failed") return read;
    }
  };
  const create = async (promptVersionId: string) =>
    (await runs.create({ promptVersionId, ...REQUEST }, { respondAsync: true })).runId;
  return { create, finished, runNow: () => client.run("poem", { inputs: { topic: "rain" } }) };
}

test("when a key appears while a run waits, the run keeps the model of its version, and the next run has the new model", async () => {
  const fixture = installation();
  const provider = await openProvider();
  const { promptId, promptVersionId } = await publish(fixture, false);
  const { create, finished, runNow } = await open(fixture, {});
  const waiting = await create(promptVersionId);
  await fixture.startHere("worker", provider.keys);
  expect(await finished(waiting)).toMatchObject({ runStatus: "succeeded", outputs: [{ type: "text", data: SANDBOX }] });
  await versionsBecome(fixture, promptId, ["sandbox/text", REAL]);
  expect(provider.chats()).toBe(0);
  expect((await runNow()).outputs).toMatchObject([{ type: "text", data: TEXT }]);
  expect(provider.chats()).toBe(1);
  expect(await fixture.findFaults()).toEqual([]);
});

test("when a key disappears while a run waits, the run fails with the reason and costs nothing, and the next run has another model", async () => {
  const fixture = installation();
  const provider = await openProvider();
  const { promptId, promptVersionId } = await publish(fixture, true);
  const { create, finished, runNow } = await open(fixture, provider.keys);
  const waiting = await create(promptVersionId);
  await fixture.startHere("worker", provider.otherKeys);
  expect(await finished(waiting)).toMatchObject({
    runStatus: "failed",
    outputs: [{ type: "error", data: `The model ${REAL} is not enabled on this server.` }],
  });
  await versionsBecome(fixture, promptId, [REAL, OTHER]);
  expect(provider.chats()).toBe(0);
  expect((await runNow()).outputs).toMatchObject([{ type: "text", data: TEXT }]);
  expect(await fixture.findFaults()).toEqual([]);
});

test("when a key disappears while a run executes, the run ends with the model that it started with", async () => {
  const fixture = installation();
  const provider = await openProvider({ hold: true });
  const { promptId, promptVersionId } = await publish(fixture, true);
  const { create, finished } = await open(fixture, provider.keys);
  await fixture.startHere("worker", provider.keys);
  const running = await create(promptVersionId);
  await until(async () => provider.chats() === 1);
  await fixture.startHere("worker", provider.otherKeys);
  await versionsBecome(fixture, promptId, [REAL, OTHER]);
  provider.release();
  expect(await finished(running)).toMatchObject({ runStatus: "succeeded", outputs: [{ type: "text", data: TEXT }] });
  expect(provider.chats()).toBe(1);
  expect(await fixture.findFaults()).toEqual([]);
});
