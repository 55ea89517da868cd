/** What the metrics show of runs, model calls, and workers. */
import { describe, expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { eventually } from "../support/eventually.ts";
import { readMetrics, type Metrics } from "../support/read-metrics.ts";
import { useInstallation } from "../support/use-installation.ts";

const installation = useInstallation();

/** How much a sample has grown. */
function growth(before: Metrics, after: Metrics, name: string, labels: Readonly<Record<string, string>>): number {
  return after.value(name, labels) - before.value(name, labels);
}

describe("metrics", () => {
  test("of a worker and an API show a run, a failed model call, and a canceled run, each in its process", async () => {
    const port = await freePort();
    const fixture = installation();
    const api = await fixture.start("api");
    await fixture.start("worker", { PROMPTD_WORKER_METRICS_PORT: String(port) });
    const workerUrl = `http://127.0.0.1:${port}`;
    const caller = await fixture.createCaller();
    const { runs } = caller.clientAt(api.url);
    const ask = (text: string) => ({
      promptVersionId: fixture.prompts.paid,
      inputs: { textInputs: { ask: text } },
    });
    const before = { api: await readMetrics(api.url), worker: await readMetrics(workerUrl) };
    expect((await runs.createAndWait(ask("hello"))).runStatus).toBe("succeeded");
    expect((await runs.createAndWait(ask("sandbox: error=400"))).runStatus).toBe("failed");
    const { runId } = await runs.create(ask("sandbox: delay=60000"), { respondAsync: true });
    await eventually(async () => {
      expect((await readMetrics(api.url)).value("promptd_installation_runs", { state: "running" })).toBe(1);
      expect((await readMetrics(workerUrl)).value("promptd_worker_slots", { state: "used" })).toBe(1);
    });
    await runs.cancel(runId);

    const after = { api: await readMetrics(api.url), worker: await readMetrics(workerUrl) };
    const ofApi = (name: string, labels: Readonly<Record<string, string>>) =>
      growth(before.api, after.api, name, labels);
    const ofWorker = (name: string, labels: Readonly<Record<string, string>>) =>
      growth(before.worker, after.worker, name, labels);
    expect(ofApi("promptd_run_creates_total", { outcome: "created" })).toBe(3);
    expect(ofApi("promptd_runs_ended_total", { status: "failed", reason: "canceled" })).toBe(1);
    expect(ofWorker("promptd_runs_ended_total", { status: "succeeded", reason: "none" })).toBe(1);
    expect(ofWorker("promptd_run_duration_seconds_count", { status: "failed" })).toBe(1);
    const calls = { provider: "sandbox" };
    expect(ofWorker("promptd_provider_call_duration_seconds_count", { ...calls, outcome: "text" })).toBe(1);
    expect(ofWorker("promptd_provider_call_duration_seconds_count", { ...calls, outcome: "bad_request" })).toBe(1);
    for (const { text } of [after.api, after.worker])
      for (const word of [caller.accountId, runId, fixture.prompts.paid]) expect(text).not.toContain(word);
  });

  test("of a worker are all that it serves, and the API's refusals apply", async () => {
    const port = await freePort();
    await installation().start("worker", {
      PROMPTD_WORKER_METRICS_PORT: String(port),
      PROMPTD_METRICS_TOKEN: "a-token-of-the-operator",
    });
    const statusOf = async (path: string, headers = {}) =>
      (await fetch(`http://127.0.0.1:${port}${path}`, { headers })).status;
    expect(await statusOf("/metrics")).toBe(401);
    expect(await statusOf("/metrics", { authorization: "Bearer a-token-of-the-operator" })).toBe(200);
    for (const path of ["/", "/v1/me", "/readyz", "/files/x"]) expect(await statusOf(path)).toBe(404);
  });

  test("of a refused create count it under its reason", async () => {
    const fixture = installation();
    const api = await fixture.start("api");
    const poor = await fixture.createCaller(1);
    const before = await readMetrics(api.url);
    const body = { promptVersionId: fixture.prompts.clip, inputs: { textInputs: { ask: "hello" } } };
    await expect(poor.clientAt(api.url).runs.create(body)).rejects.toMatchObject({ code: "PAYMENT_REQUIRED_ERROR" });
    const after = await readMetrics(api.url);
    expect(growth(before, after, "promptd_run_creates_total", { outcome: "no_credits" })).toBe(1);
    const labels = { method: "POST", route: "/v1/runs", status: "402" };
    expect(growth(before, after, "promptd_http_request_duration_seconds_count", labels)).toBe(1);
  });
});
