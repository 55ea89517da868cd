/** A victim's runs next to another account's, over HTTP to a complete promptd in its own process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openInstallationFixture } from "../../packages/server/test/support/installation-fixture.ts";
import { runCommand, type PromptdProcess } from "../../packages/server/test/support/promptd-process.ts";
import { makePng } from "./pngs.ts";
import type { Contrast } from "./times.ts";

/** Used by both parts, which share a database. */
export const SECRET = "known to nobody but this measurement";
/** As many as the rate limit admits. */
const RUNS_PER_SECOND = 5;
/** How many requests the model server answers at once, and how long each takes. */
const MODEL = { room: 8, ms: 300 };
/** Until the attacker has everything it can get. */
const HEAD_START_MS = 5_000;

export interface ServiceResult {
  readonly decoding: Contrast;
  readonly bodies: Contrast;
  readonly compatible: Contrast;
  /** The memory of the promptd process in the default environment. */
  readonly rssMaxMib: number;
}

export async function measureService(databaseUrl: string, rounds: number): Promise<ServiceResult> {
  const model = await startModelServer();
  const fixture = await openInstallationFixture(databaseUrl, {
    OPENAI_BASE_URL: model.url,
    PROMPTD_SECRET: SECRET,
    PROMPTD_RATE_LIMIT_PER_SECOND: String(RUNS_PER_SECOND),
  });
  const server = await fixture.start("all");
  const [victim, attacker] = [await fixture.createCaller(), await fixture.createCaller()];
  const compatible = await publishCompatible(fixture.environment);
  const create = (apiKey: string, body: string | Buffer) => post(`${server.url}/v1/runs`, apiKey, body);
  const contrast = async (mine: string, theirs: string | Buffer): Promise<Contrast> => {
    const time = () => timeEach(rounds, () => create(victim.apiKey, mine));
    await timeEach(5, () => create(victim.apiKey, mine)); // loads and compiles the code
    const alone = await time();
    const attack = startAttack(`${server.url}/v1/runs`, attacker.apiKey, theirs);
    await wait(HEAD_START_MS);
    const attacked = await time();
    await attack.stop();
    await untilQuiet(() => fixture.openRuns());
    return { alone, attacked };
  };
  const photo = (png: Buffer) => bodyOf(fixture.prompts.photo, { ask: "x" }, png);
  const bodies = await contrast(
    bodyOf(fixture.prompts.free, { ask: "x".repeat(100_000) }),
    Buffer.from(JSON.stringify({ promptVersionId: fixture.prompts.free, inputs: {}, unlisted: "z".repeat(31 << 20) })),
  );
  const ofModel = bodyOf(compatible, {});
  const models = await contrast(ofModel, ofModel);
  const decoding = await contrast(photo(makePng(1_000, 800, 3)), photo(makePng(8_192, 6_000, 4)));
  const rssMaxMib = peakRss(server);
  await server.stop();
  await fixture.close();
  model.close();
  return { decoding, bodies, compatible: models, rssMaxMib };
}

async function publishCompatible(environment: Readonly<Record<string, string>>): Promise<string> {
  const file = join(tmpdir(), `promptd-fairness-${process.pid}.prompt.md`);
  writeFileSync(file, "---\npromptd: 1\ntitle: Of the model server\nmodel: compatible/m\n---\nHello\n");
  await runCommand(["admin", "user", "create", "--email", "author@example.org"], environment);
  const argv = ["admin", "prompt", "publish", file, "--author", "author@example.org"];
  const { result, errors } = await runCommand(argv, environment);
  const [, id] = /"promptVersionId":"([0-9a-f-]{36})"/.exec(JSON.stringify(result)) ?? [];
  if (id === undefined) throw new Error(`The prompt was not published: ${errors}`);
  return id;
}

function bodyOf(promptVersionId: string, textInputs: Record<string, string>, png?: Buffer): string {
  const images = png === undefined ? {} : { imageInputs: [{ type: "base64", base64: png.toString("base64") }] };
  return JSON.stringify({ promptVersionId, inputs: { textInputs, ...images } });
}

async function post(url: string, apiKey: string, body: string | Buffer): Promise<number> {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body });
  await answer.arrayBuffer();
  return answer.status;
}

async function timeEach(rounds: number, work: () => Promise<number>): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startMs = performance.now();
    const status = await work();
    if (status !== 200) throw new Error(`The victim got a response with status ${status}.`);
    times.push(performance.now() - startMs);
    await wait(250); // below the rate limit
  }
  return times;
}

/** In a separate process: sending 31 MiB blocks an event loop for 50 ms or more, and this one times the victim. */
function startAttack(url: string, apiKey: string, body: string | Buffer) {
  const file = join(tmpdir(), `promptd-fairness-${process.pid}.body`);
  writeFileSync(file, body);
  const argv = [join(import.meta.dirname, "attacker.js"), url, apiKey, file, String(RUNS_PER_SECOND)];
  const attacker = spawn(process.execPath, argv, { stdio: ["ignore", "ignore", "inherit"] });
  const exit = once(attacker, "exit");
  return {
    stop: async () => {
      attacker.kill("SIGTERM");
      await exit;
      rmSync(file);
    },
  };
}

async function untilQuiet(openRuns: () => Promise<number>): Promise<void> {
  while ((await openRuns()) > 0) await wait(100);
}

function peakRss({ pid }: PromptdProcess): number {
  const [, kib = "0"] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Math.round(Number(kib) / 1_024);
}

async function startModelServer() {
  let free = MODEL.room;
  const queue: (() => void)[] = [];
  const answer = { index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" };
  const usage = { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 };
  const completion = { id: "x", object: "chat.completion", created: 1, model: "m", choices: [answer], usage };
  const server = createServer((request, response) => {
    request.resume();
    const send = (content: object): void => {
      response.setHeader("content-type", "application/json").end(JSON.stringify(content));
    };
    const answerLater = async (): Promise<void> => {
      free -= 1;
      await wait(MODEL.ms);
      free += 1;
      send(completion);
      queue.shift()?.();
    };
    const begin = (): void => void answerLater();
    if (request.method === "GET") send({ object: "list", data: [{ id: "m" }] });
    else if (free > 0) begin();
    else queue.push(begin);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
