/** What happens in a deployment: processes are asked to stop while callers wait and runs execute. */
import { readFile } from "node:fs/promises";
import { afterEach, describe, expect, test } from "vitest";
import { ERRORS } from "@promptd/contract";
import { errorEnvelopeSchema } from "@promptd/contract/schemas";
import { startTestServer } from "../support/test-server.ts";
import { enableFaults } from "../../src/platform/fault-injection.ts";
import { exchangeRaw, readAnswers } from "../http/http-edge-server.ts";
import type { InstallationCaller } from "../support/installation-fixture.ts";
import { until, type PromptdProcess } from "../support/promptd-process.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { useInstallation } from "../support/use-installation.ts";

// No worker dies here: with the short lease of other tests, a busy machine would cost runs one attempt or all three.
const installation = useInstallation({ PROMPTD_LEASE_MS: "6000" });
afterEach(() => enableFaults(""));

interface Sent {
  readonly httpStatus: number;
  readonly body: { readonly status: string; readonly data: { readonly runId?: string } | null };
}

/** A POST whose response is read as it arrives; a reset connection rejects. */
async function post(url: string, caller: InstallationCaller, text: string, headers = {}): Promise<Sent> {
  const response = await fetch(`${url}/v1/runs`, {
    method: "POST",
    headers: { authorization: `Bearer ${caller.apiKey}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ promptVersionId: installation().prompts.paid, inputs: { textInputs: { ask: text } } }),
  });
  return { httpStatus: response.status, body: (await response.json()) as Sent["body"] };
}

/** The same with a separate socket, which reports when the kernel has all of it, whoever reads it there. */
async function postUnread(url: string, caller: InstallationCaller) {
  const body = JSON.stringify({
    promptVersionId: installation().prompts.paid,
    inputs: { textInputs: { ask: "late" } },
  });
  const head = `POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${caller.apiKey}\r\n`;
  const written = Promise.withResolvers<void>();
  const request = `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  const answer = exchangeRaw({ port: Number(new URL(url).port), onWritten: written.resolve }, request);
  await written.promise;
  return { answer: answer.then(readAnswers) };
}

/** Linux reports the state of a process: T is stopped by a signal. */
async function isFrozen(pid: number): Promise<boolean> {
  return /\) T /.test(await readFile(`/proc/${pid}/stat`, "utf8"));
}

async function count(from: string): Promise<number> {
  const [row] = await installation().db.query<{ n: number }>(`select count(*)::int as n from ${from}`);
  return row?.n ?? 0;
}

describe("SIGTERM to an API process", () => {
  test("first fails /readyz, and keeps serving until a load balancer has had time to notice", async () => {
    const fixture = installation();
    const caller = await fixture.createCaller();
    const [api, worker] = [
      await fixture.start("api", { PROMPTD_STOP_NOTICE_SECONDS: "3" }),
      await fixture.start("worker"),
    ];
    const waiting = post(api.url, caller, "sandbox: delay=60000\nslow");
    await until(async () => (await count("runs where worker is not null")) === 1);
    await until(async () => (await fetch(`${api.url}/readyz`)).status === 200);
    const exit = api.stop();
    await until(async () => (await fetch(`${api.url}/readyz`)).status === 500);
    const late = await post(api.url, caller, "sent to the address that is about to go");
    expect([late.httpStatus, late.body.status]).toEqual([200, "SUCCESS"]);
    expect((await waiting).httpStatus).toBe(504);
    expect(await exit).toEqual({ code: 0, signal: null });
    await worker.kill();
  });

  test("answers each of 200 waiting callers with 504 and the runId, resets no connection, and exits with 0", async () => {
    const fixture = installation();
    const caller = await fixture.createCaller();
    const api = await fixture.start("api");
    const sent = Array.from({ length: 200 }, () => post(api.url, caller, "sandbox: delay=4000\nslow"));
    await until(async () => (await count("runs")) === 200);
    // Started only now, so that no run ends before shutdown.
    const worker = await fixture.start("worker");
    await until(async () => (await count("runs where worker is not null")) > 0);
    const exit = await api.stop();
    const answers = await Promise.all(sent);
    expect(exit).toEqual({ code: 0, signal: null });
    for (const { httpStatus, body } of answers) {
      expect(httpStatus).toBe(504);
      expect(errorEnvelopeSchema.parse(body).status).toBe("GATEWAY_TIMEOUT_ERROR");
    }
    expect(new Set(answers.map((answer) => answer.body.data?.runId)).size).toBe(200);
    await until(async () => (await fixture.openRuns()) === 0);
    expect(await count("runs where status = 'succeeded' and attempt = 1")).toBe(200);
    expect(await fixture.findFaults()).toEqual([]);
    await worker.stop();
  });

  test("also answers requests that were sent while the process was frozen, and resets none of them", async () => {
    const fixture = installation();
    const caller = await fixture.createCaller();
    const api = await fixture.start("api");
    api.signal("SIGSTOP");
    await until(() => isFrozen(api.pid));
    const sent = await Promise.all(Array.from({ length: 40 }, () => postUnread(api.url, caller)));
    // Both are there when it continues: the signal, and forty connections, of which Node accepts one per event loop
    // iteration.
    api.signal("SIGTERM");
    api.signal("SIGCONT");
    const answers = await Promise.all(sent.map(({ answer }) => answer));
    expect(answers.map((each) => each.map(({ status }) => status))).toEqual(sent.map(() => [504]));
    const runIds = answers.map(([answer]) => (answer?.body as Sent["body"] | undefined)?.data?.runId);
    expect(new Set(runIds).size).toBe(40);
    expect(await count("runs")).toBe(40);
    expect(await api.exit).toEqual({ code: 0, signal: null });
  });

  test("answers waiting callers with 504 and the runId even while the database is down", async () => {
    const fixture = installation();
    const caller = await fixture.createCaller();
    const proxy = await startTcpProxy(fixture.environment["DATABASE_URL"] ?? "");
    const api = await fixture.start("api", { DATABASE_URL: proxy.url });
    const sent = Array.from({ length: 20 }, () => post(api.url, caller, "waits"));
    await until(async () => (await count("runs")) === 20);
    // By the time of this response, the notifications about the twenty commits have arrived as well.
    expect((await post(api.url, caller, "does not wait", { prefer: "respond-async" })).httpStatus).toBe(202);
    proxy.blackhole(true);
    const exit = api.stop();
    const answers = await Promise.all(sent);
    expect(new Set(answers.map((answer) => answer.httpStatus))).toEqual(new Set([504]));
    expect(new Set(answers.map((answer) => answer.body.data?.runId)).size).toBe(20);
    proxy.blackhole(false);
    await exit;
    await proxy.close();
  });

  test.for([
    { by: "their window's end", prefer: "wait=3", isStopped: false },
    { by: "a stop", prefer: "wait=60", isStopped: true },
  ])(
    "callers who joined a run by its key get its runId by $by even while the database is down",
    async ({ prefer, isStopped }) => {
      const fixture = installation();
      const caller = await fixture.createCaller();
      const proxy = await startTcpProxy(fixture.environment["DATABASE_URL"] ?? "");
      const api = await fixture.start("api", { DATABASE_URL: proxy.url });
      const send = (preference: string) =>
        post(api.url, caller, "once", { "idempotency-key": "joined", prefer: preference });
      expect((await send("respond-async")).httpStatus).toBe(202);
      const sent = Array.from({ length: 20 }, () => send(prefer));
      // Their statements are queued on the same two connections before the statements of these requests.
      for (let i = 0; i < 4; i += 1) expect((await send("respond-async")).httpStatus).toBe(202);
      proxy.blackhole(true);
      const exit = isStopped ? api.stop() : null;
      const answers = await Promise.all(sent);
      expect(new Set(answers.map((answer) => answer.httpStatus))).toEqual(new Set([504]));
      expect(await fixture.db.query("select id from runs")).toEqual([{ id: answers[0]?.body.data?.runId }]);
      expect(new Set(answers.map((answer) => answer.body.data?.runId)).size).toBe(1);
      proxy.blackhole(false);
      await (exit ?? api.stop());
      await proxy.close();
    },
  );

  test("is followed by a second one that ends the process at once, while runs execute", async () => {
    const fixture = installation();
    const caller = await fixture.createCaller();
    const server = await fixture.start("all", { PROMPTD_DRAIN_SECONDS: "600" });
    const sent = post(server.url, caller, "sandbox: delay=60000\nslow");
    await until(async () => (await count("runs where worker is not null")) === 1);
    server.signal("SIGTERM");
    expect((await sent).httpStatus).toBe(504); // draining has begun
    const secondMs = performance.now();
    // A signal within a second of the first one counts as the same Ctrl-C, so the sender insists.
    let hasEnded = false;
    void server.exit.then(() => (hasEnded = true));
    await until(() => {
      server.signal("SIGINT");
      return hasEnded;
    });
    expect(await server.exit).toEqual({ code: 1, signal: null });
    expect(performance.now() - secondMs).toBeLessThan(60_000); // not the 600 s of its grace
  });
});

describe("SIGTERM to a worker", () => {
  test("lets runs finish within the grace period and claims no new ones meanwhile", async () => {
    const fixture = installation();
    const caller = await fixture.createCaller();
    const api = await fixture.startHere("api");
    const worker = await fixture.start("worker", { PROMPTD_DRAIN_SECONDS: "30" });
    const first = post(api.url, caller, "sandbox: delay=1500\nslow");
    await until(async () => (await count("runs where worker is not null")) === 1);
    worker.signal("SIGTERM");
    await until(async () => (await count("workers where draining")) === 1);
    const second = await post(api.url, caller, "quick", { prefer: "respond-async" });
    expect(second.httpStatus).toBe(202);
    expect((await first).httpStatus).toBe(200);
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    expect(await count("runs where attempt = 0 and status = 'queued'")).toBe(1);
    expect(await count("workers")).toBe(0);
  });

  test("releases runs that outlive the grace period, at once and without counting the attempt", async () => {
    const fixture = installation();
    const caller = await fixture.createCaller();
    const api = await fixture.startHere("api");
    const leaving = await fixture.start("worker", { PROMPTD_DRAIN_SECONDS: "0" });
    const sent = Array.from({ length: 20 }, () => post(api.url, caller, "sandbox: delay=3000\nslow"));
    await until(async () => (await count("runs where worker is not null")) === 20);
    expect(await leaving.stop()).toEqual({ code: 0, signal: null });
    expect(await count("runs where worker is null and max_attempts = 4 and status = 'running'")).toBe(20);
    expect(await count("workers")).toBe(0);
    const next = await fixture.start("worker");
    expect((await Promise.all(sent)).map((answer) => answer.httpStatus)).toEqual(Array(20).fill(200));
    expect(await fixture.findFaults()).toEqual([]);
    await next.stop();
  });

  test("also releases runs from a claim that completes after the signal", async () => {
    const server = await startTestServer({ role: "api" });
    try {
      const published = await server.publish(
        "---\npromptd: 1\ntitle: Slow\nmodel: sandbox/text\n---\nsandbox: delay=30000\nslow\n",
      );
      const caller = await server.createCaller();
      const body = { promptVersionId: published.promptVersionId, inputs: {} };
      await caller.client.runs.create(body, { respondAsync: true });
      enableFaults("claim.after_commit:delay=700@1");
      const worker = await server.startAnother("worker");
      const look = async () => {
        const [row] = await server.app.db.query<{ worker: string | null; attempt: number; max_attempts: number }>(
          "select worker, attempt, max_attempts from runs",
        );
        return row;
      };
      await until(async () => (await look())?.attempt === 1); // claimed in the database, not yet known to the worker
      await worker.close();
      expect(await look()).toEqual({ worker: null, attempt: 1, max_attempts: 4 });
    } finally {
      await server.close();
    }
  });
});

describe("a rolling restart under load", () => {
  test("shows callers only responses that the specification allows, and loses no run", async () => {
    const fixture = installation();
    const callers = await Promise.all(Array.from({ length: 8 }, () => fixture.createCaller()));
    const port = { first: "", second: "" };
    const fleet: Record<"first" | "second" | "worker" | "other", PromptdProcess> = {
      first: await fixture.start("api"),
      second: await fixture.start("api"),
      worker: await fixture.start("worker", { PROMPTD_DRAIN_SECONDS: "5" }),
      other: await fixture.start("worker", { PROMPTD_DRAIN_SECONDS: "5" }),
    };
    Object.assign(port, { first: new URL(fleet.first.url).port, second: new URL(fleet.second.url).port });
    const seen = new Map<string, number>();
    const rolling = new AbortController();
    let refused = 0;
    const load = callers.map(async (caller, i) => {
      for (let n = 0; !rolling.signal.aborted; n += 1) {
        const url = (n + i) % 2 === 0 ? fleet.first.url : fleet.second.url;
        try {
          const { httpStatus, body } = await post(url, caller, `sandbox: delay=${(n % 5) * 120}\nrun ${i}.${n}`);
          const kind = `${httpStatus} ${body.status}`;
          seen.set(kind, (seen.get(kind) ?? 0) + 1);
        } catch {
          refused += 1; // a load balancer would have used the other one: nothing listens here for a moment
          await until(
            async () =>
              (await fetch(`${fleet.first.url}/healthz`).catch(() => null)) !== null || rolling.signal.aborted,
          );
        }
      }
    });
    for (const name of ["worker", "first", "other", "second"] as const) {
      const role = name === "first" || name === "second" ? "api" : "worker";
      const exit = await fleet[name].stop();
      expect(exit.code).toBe(0);
      fleet[name] = await fixture.start(role, {
        PROMPTD_DRAIN_SECONDS: "5",
        ...(role === "api" ? { PORT: port[name as "first"] } : {}),
      });
    }
    rolling.abort();
    await Promise.all(load);
    const known = new Set([
      "200 SUCCESS",
      ...Object.entries(ERRORS).map(([status, { httpStatus }]) => `${httpStatus} ${status}`),
    ]);
    expect([...seen.keys()].filter((kind) => !known.has(kind) || kind.startsWith("500"))).toEqual([]);
    expect(seen.get("200 SUCCESS")).toBeGreaterThan(20);
    expect(refused).toBeLessThan(seen.get("200 SUCCESS") ?? 0);
    await until(async () => (await fixture.openRuns()) === 0);
    expect(await count("runs where status = 'failed'")).toBe(0);
    expect(await fixture.findFaults()).toEqual([]);
    await Promise.all(Object.values(fleet).map((one) => one.stop()));
  });
});
