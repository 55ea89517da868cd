/** What /metrics shows, and to whom. */
import { get } from "node:http";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { metricsEndpoint } from "../../src/http/metrics-endpoint.ts";
import { singleFamily } from "../../src/platform/metrics/metrics.ts";
import { textPrompt } from "../prompts/prompt-files.ts";
import { parseMetrics, readMetrics } from "../support/read-metrics.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { startEdge } from "./http-edge-server.ts";

let server: TestServer;
let caller: TestCaller;
beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller();
});
afterAll(() => server.close());

const COUNT = "promptd_http_request_duration_seconds_count";

describe("the metrics of an API process", () => {
  test("count a request once, under its method, route, and status, and never under its address", async () => {
    const { promptVersionId } = await server.publish(textPrompt());
    const labels = { method: "GET", route: "/v1/prompt-versions/:promptVersionId", status: "200" };
    const before = await readMetrics(server.url);
    await caller.client.request({ method: "GET", path: `/v1/prompt-versions/${promptVersionId}?x=in-the-query` });
    const after = await readMetrics(server.url);
    expect(after.value(COUNT, labels) - before.value(COUNT, labels)).toBe(1);
    for (const word of [promptVersionId, "in-the-query", caller.accountId, caller.keyId]) {
      expect(after.text).not.toContain(word);
    }
  });

  test("count a refused request under the status of its problem", async () => {
    const labels = { method: "GET", route: "/v1/me", status: "401" };
    const before = await readMetrics(server.url);
    await fetch(`${server.url}/v1/me`);
    const after = await readMetrics(server.url);
    expect(after.value(COUNT, labels) - before.value(COUNT, labels)).toBe(1);
  });

  test("have one series for all paths that do not exist, and one for all unusual methods", async () => {
    const series = (text: string) => text.split("\n").filter((line) => line.startsWith(COUNT)).length;
    const wander = async (path: string) => {
      await caller.client.request({ method: "GET", path });
      await caller.client.request({ method: "PROPFIND", path });
      await caller.client.request({ method: "MKCOL", path });
    };
    await wander("/v1/nowhere");
    const { text } = await readMetrics(server.url);
    for (let i = 0; i < 20; i += 1) await wander(`/v1/nowhere-${i}`);
    expect(series((await readMetrics(server.url)).text)).toBe(series(text));
  });

  test("show the process and the installation, and say in each description of which of them a figure is", async () => {
    const { text, names, value } = await readMetrics(server.url);
    expect(value("process_resident_memory_bytes")).toBeGreaterThan(1_000_000);
    expect(value("process_cpu_seconds_total")).toBeGreaterThan(0);
    expect(value("promptd_database_up")).toBe(1);
    expect(value("promptd_installation_workers")).toBe(1);
    for (const name of names) {
      const [help] = text.match(new RegExp(`^# HELP ${name} .*`, "m")) ?? [];
      const of = name.startsWith("promptd_installation_") ? "installation" : "this process";
      expect(help).toContain(of);
    }
  });

  test("name every kind of periodic work in the same form", async () => {
    const ticks = await server.app.db.query<{ name: string }>("select name from cron_ticks");
    expect(ticks.length).toBeGreaterThan(20);
    for (const { name } of ticks) expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
  });
});

/** The status that a reader gets, of an address of this machine. */
function statusOf(url: string, headers: Readonly<Record<string, string>> = {}): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => resolve(response.resume().statusCode)).on("error", reject);
  });
}

describe("a reader of the metrics", () => {
  async function open(token: string | null, { host, isPublic = false }: { host?: string; isPublic?: boolean } = {}) {
    const readInstallation = async () => [singleFamily({ name: "promptd_x", help: "Of the installation." }, 1)];
    const edge = await startEdge(
      { endpoints: [metricsEndpoint({ role: "api", token, isPublic, readInstallation })] },
      { host },
    );
    onTestFinished(() => edge.http.close());
    return edge;
  }

  test("on the server's machine needs nothing without a token", async () => {
    const edge = await open(null);
    expect((await readMetrics(edge.url)).value("promptd_x")).toBe(1);
    expect(await statusOf(`http://localhost:${edge.port}/metrics`)).toBe(200);
  });

  test.each([
    ["a proxy that names its caller", { "x-forwarded-for": "192.0.2.7" }],
    ["a proxy that uses the standard header", { forwarded: "for=192.0.2.7" }],
    ["a proxy with X-Real-IP", { "x-real-ip": "192.0.2.7" }],
    ["a proxy that passes on the host", { host: "api.example.org" }],
    ["a page of another origin", { origin: "https://example.org" }],
    ["a page whose host name leads to this machine", { host: "rebound.example.org:8787" }],
    ["a caller with an API key through a proxy", { authorization: "Bearer good", via: "1.1 proxy" }],
  ])("on the server's machine is refused through %s", async (_who, headers) => {
    expect(await statusOf(`${(await open(null)).url}/metrics`, headers)).toBe(401);
  });

  const [outside] = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family }) => !internal && family === "IPv4");
  test.skipIf(outside === undefined)("on another address is refused, with a 401 that names the setting", async () => {
    const edge = await open(null, { host: "0.0.0.0" });
    const response = await fetch(`http://${outside?.address}:${edge.port}/metrics`);
    expect(response.status).toBe(401);
    expect(await response.text()).toContain("PROMPTD_METRICS_TOKEN");
  });

  test("of a server with a public address is refused without a token, because a proxy may say nothing", async () => {
    const edge = await open(null, { isPublic: true });
    expect(await statusOf(`${edge.url}/metrics`)).toBe(401);
  });

  test("leaves a debug line in the log, because a program reads the metrics every few seconds", async () => {
    const edge = await open(null);
    await readMetrics(edge.url);
    expect(edge.log).toMatchObject([{ level: "debug", message: "request", fields: { route: "/metrics" } }]);
  });

  test("needs the token everywhere once it is set, and no other credential will do", async () => {
    const edge = await open("a-token-of-the-operator");
    const withToken = await fetch(`${edge.url}/metrics`, {
      headers: { authorization: "Bearer a-token-of-the-operator" },
    });
    expect(parseMetrics(await withToken.text()).value("promptd_x")).toBe(1);
    for (const authorization of ["Bearer a-token-of-the-operato", "Bearer good", "Basic a-token-of-the-operator", ""]) {
      expect(await statusOf(`${edge.url}/metrics`, { authorization })).toBe(401);
    }
    expect(await statusOf(`${edge.url}/metrics`)).toBe(401);
  });
});
