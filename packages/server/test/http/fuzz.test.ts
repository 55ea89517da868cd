/**
 * Sends hostile requests to a whole server. Every answer is the envelope with a specified status and code, none is a 500,
 * nothing crashes, and memory does not grow. PROMPTD_TEST_FUZZ sets the number of requests (3,000), PROMPTD_TEST_SEED the
 * seed, PROMPTD_TEST_FUZZ_OUT the file that a line about the run is written to.
 */
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { setImmediate as nextCycle } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { errorEnvelopeSchema } from "@promptd/contract/schemas";
import { ERRORS } from "@promptd/contract";
import { createRandom } from "../../../../bench/chaos/random.ts";
import { createRequest, type FuzzRequest, type OpenApi } from "./fuzz-requests.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

const REQUESTS = Number(process.env["PROMPTD_TEST_FUZZ"] ?? 3_000);
const OUT = process.env["PROMPTD_TEST_FUZZ_OUT"];
const SEED = Number(process.env["PROMPTD_TEST_SEED"] ?? 20_261_121);
const AT_ONCE = 16;
const SILENT_MS = 8_000;
/** Bytes; 2,100 requests left 1 MiB behind on 2026-11-21, so 8 KiB per request would show. */
const GROWTH_MAX = 16 * 2 ** 20;
/** The share of requests after which caches, pools, and compiled code have reached their size. */
const WARM_AFTER = 0.3;

const ECHO = "---\npromptd: 1\ntitle: Echo\nmodel: sandbox/text-free\ninputs: { ask: {} }\n---\n{{ ask }}\n";
const GOOD = new Set([200, 202, 204, 206, 304]);
const BAD = new Map(Object.entries(ERRORS).map(([code, { httpStatus }]) => [code, httpStatus as number]));

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    environment: { PROMPTD_SYNC_WAIT_MS: "200" },
    httpLimits: { requestMs: 2_000, headersMs: 2_000, checkEveryMs: 200 },
  });
});
afterAll(() => server.close());

test(`${REQUESTS} hostile requests get specified answers only (seed ${SEED})`, { timeout: 3_600_000 }, async () => {
  const prompt = await server.publish(ECHO);
  const caller = await server.createCaller();
  const run = await caller.client.runs.createAndWait({
    promptVersionId: prompt.promptVersionId,
    inputs: { textInputs: { ask: "x" } },
  });
  const api = (await (await fetch(`${server.url}/openapi.json`)).json()) as OpenApi;
  const real = {
    apiKey: caller.apiKey,
    promptVersionId: prompt.promptVersionId,
    ids: [prompt.promptId, prompt.promptVersionId, run.runId],
  };
  const random = createRandom(SEED);
  const requests = Array.from({ length: REQUESTS }, () => () => createRequest(api, real, random));
  const faults: string[] = [];
  const seen = new Map<string, number>();
  const startedMs = performance.now();
  const sendUntil = (left: number) =>
    Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (requests.length > left) {
          const request = requests.pop()?.();
          if (request === undefined) return;
          const verdict = judge(request, await send(request));
          seen.set(verdict.kind, (seen.get(verdict.kind) ?? 0) + 1);
          if (verdict.fault !== null && faults.length < 20) faults.push(verdict.fault);
        }
      }),
    );
  await sendUntil(Math.floor(REQUESTS * (1 - WARM_AFTER)));
  const before = await measureUsed();
  await sendUntil(0);
  const growth = (await measureUsed()) - before;
  if (OUT !== undefined) writeRecord(OUT, { faults, answers: Object.fromEntries(seen), growth, startedMs });
  expect(faults).toEqual([]);
  expect(seen.get("200") ?? 0).toBeGreaterThan(REQUESTS / 20); // not only refusals are tested
  expect([...BAD.values()].filter((status) => seen.has(String(status))).length).toBeGreaterThanOrEqual(4);
  expect(Object.prototype).not.toHaveProperty("polluted");
  expect(growth).toBeLessThan(GROWTH_MAX);
  expect((await caller.client.me.get()).userFlags).toBeGreaterThanOrEqual(0);
});

function writeRecord(
  file: string,
  { startedMs, ...found }: { faults: readonly string[]; answers: object; growth: number; startedMs: number },
): void {
  const durationS = Math.round((performance.now() - startedMs) / 1_000);
  const about = { node: process.version, at: new Date().toISOString(), durationS };
  writeFileSync(file, `${JSON.stringify({ requests: REQUESTS, seed: SEED, ...found, ...about })}\n`);
}

test("the memory measurement sees what is retained and not what is garbage", async () => {
  const size = 64 * 2 ** 20;
  const before = await measureUsed();
  let retained: (Buffer | string[])[] = [
    Buffer.alloc(size / 2),
    Array.from({ length: 2 ** 20 }, (_, i) => `retained ${i}`),
  ];
  expect((await measureUsed()) - before).toBeGreaterThan(size * 0.75);
  expect(retained).toHaveLength(2);
  retained = [];
  expect((await measureUsed()) - before).toBeLessThan(GROWTH_MAX / 4);
});

/** A context created after the flag was set has the collector, however the process was started. */
function findCollector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect !== "function") throw new Error("this V8 gives no collector");
  return () => void collect();
}

/** Bytes in use inside and outside the heap after collections; the second collects what the first had to finalize. */
async function measureUsed(): Promise<number> {
  const collect = findCollector();
  for (let round = 0; round < 2; round += 1) {
    collect();
    await nextCycle();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** All bytes of the answer; empty when the connection ended without one. */
function send(request: FuzzRequest): Promise<string> {
  const { hostname, port } = new URL(server.url);
  const { promise, resolve } = Promise.withResolvers<string>();
  const pieces: Buffer[] = [];
  const socket = connect(Number(port), hostname, () => socket.write(request.bytes));
  socket.setTimeout(SILENT_MS, () => socket.destroy());
  socket.on("data", (piece) => pieces.push(piece));
  socket.on("error", () => {}); // a server that has answered may close while we still send
  socket.on("close", () => resolve(Buffer.concat(pieces).toString("utf8")));
  return promise;
}

function isEventStream(answer: string): boolean {
  return /^content-type: text\/event-stream/im.test(answer.slice(0, answer.indexOf("\r\n\r\n")));
}

function judge(request: FuzzRequest, answer: string): { kind: string; fault: string | null } {
  const bad = (why: string) => ({ kind: "fault", fault: `${why}: ${request.label}: ${answer.slice(0, 300)}` });
  if (answer === "") return bad("no answer");
  const withoutContinue = answer.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(withoutContinue)?.[1]);
  const body = withoutContinue.slice(withoutContinue.indexOf("\r\n\r\n") + 4);
  const kind = String(status);
  if (status === 500) return bad("500");
  if (status === 200 && isEventStream(withoutContinue))
    return { kind, fault: body === "" || body.includes("event: done\n") ? null : bad("events without an end").fault };
  if (GOOD.has(status)) return { kind, fault: body === "" || isSuccess(body) ? null : bad("no envelope").fault };
  if (request.method === "HEAD" && body === "")
    return { kind, fault: [...BAD.values()].includes(status) ? null : bad("status").fault };
  const parsed = errorEnvelopeSchema.safeParse(parseJson(body));
  if (!parsed.success) return bad("no error envelope");
  return { kind, fault: BAD.get(parsed.data.status) === status ? null : bad("status and code disagree").fault };
}

function isSuccess(body: string): boolean {
  const parsed = parseJson(body);
  if (typeof parsed !== "object" || parsed === null) return false;
  return "openapi" in parsed || ("status" in parsed && parsed.status === "SUCCESS" && "data" in parsed);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
