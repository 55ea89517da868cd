import { PromptdRunError, type RunTask } from "@promptd/client";
import type { RunEvent } from "@promptd/contract";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { failure, run, setup, success, type Answer } from "./scripted-server.ts";

const ID = "01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a";
const VERSION = "01a1f874-0000-7d21-a4c8-5b7e11f20d3a";
const PROMPT = "01a1f874-1111-7d21-a4c8-5b7e11f20d3a";
const page = (status: number): Answer => ({
  status,
  raw: "<html>Gateway</html>",
  headers: { "content-type": "text/html" },
});
const busy = failure(429, "TOO_MANY_REQUESTS_ERROR", { headers: { "retry-after": "1" } });
const timedOut = failure(504, "GATEWAY_TIMEOUT_ERROR", {
  data: { runId: ID },
  headers: { "x-should-retry": "false", "x-request-id": "r-504" },
});
const accepted = success(run("queued"), { "x-request-id": "r-1" });
const event = (name: string, data: unknown, id?: string): string =>
  `event: ${name}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
const stream = (...events: string[]): Answer => ({
  status: 200,
  raw: events.join(""),
  headers: { "content-type": "text/event-stream" },
});
const status = (runStatus: string) => event("status", { runId: ID, runStatus });
const piece = (text: string, id: string) => event("text", { index: 0, call: 1, text }, id);
const ending =
  status("succeeded") + event("output", { index: 0, type: "text", data: "Hello." }) + event("done", run("succeeded"));
const lines = (seen: readonly { method: string; url: string }[]) => seen.map(({ method, url }) => `${method} ${url}`);

async function eventsOf(task: RunTask): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const one of task) events.push(one);
  return events;
}

describe("client.run", () => {
  test("sends inputs as strings and returns the run with its text, the ignored names, and its request id", async () => {
    const warnings: string[] = [];
    const finished = success(run("succeeded"), { "x-request-id": "r-7", "x-ignored": "topik, Child%27s%20Age" });
    const { client, seen } = await setup([finished], { onWarning: (message) => warnings.push(message) });
    const inputs = { topic: "tea", age: 7, polite: true, tags: ["a", "b"], items: ["a,b", "c"], none: undefined };
    expect(await client.run(VERSION, { inputs, options: { quality: "high" } })).toEqual({
      ...(run("succeeded") as object),
      promptVersionId: VERSION,
      text: "Hello.",
      images: [],
      videos: [],
      ignored: ["topik", "Child's Age"],
      requestId: "r-7",
    });
    expect(JSON.parse(seen[0]?.body ?? "")).toEqual({
      promptVersionId: VERSION,
      inputs: {
        textInputs: { topic: "tea", age: "7", polite: "true", tags: "a,b", items: "a,b\nc" },
        imageInputs: [],
      },
      runOptions: { quality: "high" },
    });
    expect(seen[0]?.headers["prefer"]).toBe("respond-async, wait=30");
    expect(warnings).toEqual([`The run ${ID} ignored "topik", "Child's Age": the prompt has no such input or option.`]);
  });

  test("refuses unknown members before anything is sent: a program without types would pay for the run", async () => {
    const { client, seen } = await setup([success(run("succeeded"))]);
    const given = { inputs: { topic: "tea" }, runOptions: { quality: "high" } };
    await expect(client.run(VERSION, given)).rejects.toThrow(
      'run() does not accept "runOptions". It accepts: inputs, images, options, signal, onProgress, idempotencyKey, retryForMs.',
    );
    await expect(client.runBatch(VERSION, [given])).rejects.toThrow(
      'An item of runBatch() does not accept "runOptions". It accepts: inputs, images, key.',
    );
    await expect(client.runBatch(VERSION, [{}], given as object)).rejects.toThrow(
      'runBatch() does not accept "inputs". It accepts: options, name, signal, onProgress, idempotencyKey, retryForMs.',
    );
    expect(seen).toEqual([]);
  });

  test.each([
    ["null", null],
    ["NaN", Number.NaN],
    ["Object", { k: 1 }],
    ["Uint8Array", new Uint8Array([97])],
    ["a list with null", ["a", null]],
  ])("refuses %s by the name of its input, before anything is sent", async (kind, value) => {
    const { client, seen } = await setup([success(run("succeeded"))]);
    const message = `Input "topic" must be a string, number, boolean, or list, got ${kind}.`;
    const inputs = { topic: value } as never;
    await expect(client.run(VERSION, { inputs })).rejects.toThrow(new TypeError(message));
    await expect(client.runBatch(VERSION, [{ inputs }])).rejects.toThrow(new TypeError(message));
    await expect(client.run(VERSION, { options: inputs })).rejects.toThrow('Option "topic" must be');
    expect(seen).toEqual([]);
  });

  test("creates one run with one Idempotency-Key, whatever fails, and follows it to its end", async () => {
    const waited = success(run("running"), { "preference-applied": "wait=30" });
    const storm = Array.from({ length: 20 }, () => busy);
    const { client, seen, pauses } = await setup([
      ...storm,
      "reset",
      page(504),
      failure(500, "SERVER_ERROR"),
      timedOut,
      "reset",
      ...storm,
      page(502),
      waited,
      success(run("succeeded")),
    ]);
    expect(await client.run(VERSION)).toMatchObject({ runId: ID, text: "Hello.", requestId: "r-504" });
    const creates = seen.filter(({ method }) => method === "POST");
    expect(creates).toHaveLength(24);
    expect(new Set(creates.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    expect(lines(seen.slice(24))).toEqual(Array(24).fill(`GET /v1/runs/${ID}`));
    expect(pauses.at(-1)).toBe(250);
  });

  test("retries a create without a response, with the same Idempotency-Key", async () => {
    const [timeout, now] = [AbortSignal.timeout.bind(AbortSignal), performance.now.bind(performance)];
    vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => timeout(ms / 100)); // a clock that runs faster
    vi.spyOn(performance, "now").mockImplementation(() => now() * 100);
    onTestFinished(() => void vi.restoreAllMocks());
    const { client, seen } = await setup(["never", success(run("succeeded"))]);
    expect((await client.run(VERSION)).text).toBe("Hello.");
    expect(seen[1]?.headers["idempotency-key"]).toBe(seen[0]?.headers["idempotency-key"]);
  });

  test("with the caller's key sends the same body each time, even for a prompt id: a restart finds the run", async () => {
    const conflict = failure(422, "VALIDATION_ERROR", {
      data: { issues: [{ path: ["header", "Idempotency-Key"], code: "conflict", message: "Used before." }] },
    });
    const found = success({ promptVersionId: VERSION });
    const { client, seen } = await setup([conflict, found, success(run("succeeded"))]);
    await client.run(PROMPT, { idempotencyKey: "order-7" });
    expect(lines(seen)).toEqual(["POST /v1/runs", `GET /v1/prompts/${PROMPT}`, "POST /v1/runs"]);
    expect(JSON.parse(seen[2]?.body ?? "")).toMatchObject({ promptVersionId: VERSION });
  });

  test("with a key that was used for another request is refused", async () => {
    const conflict = failure(422, "VALIDATION_ERROR", {
      data: { issues: [{ path: ["header", "Idempotency-Key"], code: "conflict", message: "Used before." }] },
    });
    const { client } = await setup([conflict, failure(404, "NOT_FOUND_ERROR")]);
    const refused = client.run(VERSION, { idempotencyKey: "order-7" });
    await expect(refused).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
  });

  test("gives up after retryForMs, with the last error", async () => {
    const { client, seen } = await setup([busy]);
    await expect(client.run(VERSION, { retryForMs: 5_000 })).rejects.toMatchObject({
      code: "TOO_MANY_REQUESTS_ERROR",
    });
    expect(seen).toHaveLength(5);
  });

  test("a failed run is an error with the run, its message, and the request id", async () => {
    const broken = { runId: ID, runStatus: "failed", tokens: 0, outputs: [{ type: "error", data: "Refused." }] };
    const { client } = await setup([success(broken, { "x-request-id": "r-3" })]);
    const error = await client.run(VERSION).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PromptdRunError);
    expect(error).toMatchObject({ message: "Refused.", runId: ID, run: broken, requestId: "r-3" });
  });

  test("a refused request is thrown unchanged, and not retried", async () => {
    const { client, seen } = await setup([failure(402, "PAYMENT_REQUIRED_ERROR")]);
    await expect(client.run(VERSION)).rejects.toMatchObject({ code: "PAYMENT_REQUIRED_ERROR" });
    expect(seen).toHaveLength(1);
  });

  test("an abort stops the waiting with its reason", async () => {
    const { client, nextRequest } = await setup([accepted, "never"]);
    const stop = new AbortController();
    const arrived = nextRequest().then(nextRequest);
    const waiting = client.run(VERSION, { signal: stop.signal });
    await arrived;
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
  });
});

describe("the prompt of a run", () => {
  test("may be a slug, or a slug with a label", async () => {
    const found = success({ slug: "cat-poem", promptVersionId: VERSION });
    const { client, seen } = await setup([found, success(run("succeeded")), found, success(run("succeeded"))]);
    expect((await client.run("cat-poem")).promptVersionId).toBe(VERSION);
    await client.run("cat-poem@production");
    expect(lines(seen)).toEqual([
      "GET /v1/prompt-slugs/cat-poem",
      "POST /v1/runs",
      "GET /v1/prompt-slugs/cat-poem?label=production",
      "POST /v1/runs",
    ]);
  });

  test("may be a prompt id: its latest version runs, with the same key", async () => {
    const missing = failure(404, "NOT_FOUND_ERROR");
    const { client, seen } = await setup([missing, success({ promptVersionId: VERSION }), success(run("succeeded"))]);
    expect((await client.run(PROMPT)).promptVersionId).toBe(VERSION);
    expect(lines(seen)).toEqual(["POST /v1/runs", `GET /v1/prompts/${PROMPT}`, "POST /v1/runs"]);
    expect(seen[0]?.headers["idempotency-key"]).toBe(seen[2]?.headers["idempotency-key"]);
  });

  test("that does not exist fails with the server's own 404", async () => {
    const { client } = await setup([failure(404, "NOT_FOUND_ERROR", { headers: { "x-request-id": "r-9" } })]);
    await expect(client.run(PROMPT)).rejects.toMatchObject({ code: "NOT_FOUND_ERROR", requestId: "r-9" });
  });
});

describe("the events of a run", () => {
  test("come from iteration, with text while the model writes it, and the result can still be awaited", async () => {
    const { client, seen } = await setup([
      accepted,
      stream(status("running"), piece("Hel", "3"), piece("lo.", "6"), ending),
    ]);
    const task = client.run(VERSION);
    const events = await eventsOf(task);
    expect(events.map((one) => one.event)).toEqual(["status", "status", "text", "text", "status", "output", "done"]);
    expect((await task).text).toBe("Hello.");
    expect(seen[0]?.headers["prefer"]).toBe("respond-async, stream");
    expect(await eventsOf(task)).toEqual(events);
  });

  test("also go to onProgress, and a listener that throws does not lose the run", async () => {
    const warnings: string[] = [];
    const onWarning = (message: string) => warnings.push(message);
    const { client } = await setup([accepted, stream(status("running"), ending)], { onWarning });
    const names: string[] = [];
    const onProgress = (one: RunEvent): void => {
      names.push(one.event);
      if (one.event === "output") throw new Error("of the listener");
    };
    expect((await client.run(VERSION, { onProgress })).text).toBe("Hello.");
    expect(names).toEqual(["status", "status", "status", "output", "done"]);
    expect(warnings).toEqual(["onProgress failed: Error: of the listener"]);
  });

  test("continue after the last text when the stream breaks, with a poll in between", async () => {
    const { client, seen } = await setup([
      accepted,
      stream(status("running"), piece("Hel", "3")),
      "reset",
      "reset",
      success(run("running"), { "preference-applied": "wait=30" }),
      stream(status("running"), piece("lo.", "6"), ending),
    ]);
    const events = await eventsOf(client.run(VERSION));
    expect(events.flatMap((one) => (one.event === "text" ? [one.data.text] : []))).toEqual(["Hel", "lo."]);
    expect(lines(seen).slice(1)).toEqual([
      ...Array(2).fill(`GET /v1/runs/${ID}/events`),
      ...Array(2).fill(`GET /v1/runs/${ID}`),
      `GET /v1/runs/${ID}/events`,
    ]);
    expect(seen.at(-1)?.headers["last-event-id"]).toBe("3");
  });

  test("are complete even if no stream works", async () => {
    const { client } = await setup([accepted, page(200), success(run("succeeded"))]);
    const events = await eventsOf(client.run(VERSION));
    expect(events.map((one) => one.event)).toEqual(["status", "status", "output", "done"]);
  });

  test("end with the run's error, once, for a caller that only iterates", async () => {
    const { client } = await setup([failure(402, "PAYMENT_REQUIRED_ERROR")]);
    await expect(eventsOf(client.run(VERSION))).rejects.toMatchObject({ code: "PAYMENT_REQUIRED_ERROR" });
  });
});

describe("the images of a run", () => {
  const bytes = Uint8Array.of(1, 2, 250);
  const base64 = { type: "base64", base64: "AQL6" };

  test("may be URLs, paths, bytes, Blobs, or the form that is sent", async () => {
    const directory = await mkdtemp(join(tmpdir(), "promptd-client-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const path = join(directory, "cat one.png");
    await writeFile(path, bytes);
    const { client, seen } = await setup([success(run("succeeded"))]);
    const url = "https://x.example/cat.png";
    await client.run(VERSION, {
      images: [
        url,
        new URL(url),
        path,
        pathToFileURL(path),
        pathToFileURL(path).href,
        bytes,
        bytes.buffer,
        new Blob([bytes]),
        "data:image/png;base64,AQL6",
        { type: "base64", base64: "AQL6" },
      ],
    });
    const address = { type: "url", url };
    expect((JSON.parse(seen[0]?.body ?? "") as { inputs: object }).inputs).toMatchObject({
      imageInputs: [address, address, ...Array.from({ length: 8 }, () => base64)],
    });
  });

  test("that cannot be read cause an error before anything is sent", async () => {
    const { client, seen } = await setup([success(run("succeeded"))]);
    await expect(client.run(VERSION, { images: ["/no/such/cat.png"] })).rejects.toMatchObject({ code: "ENOENT" });
    await expect(client.run(VERSION, { images: [{} as never] })).rejects.toThrow(TypeError);
    await expect(client.run(VERSION, { images: "cat.jpg" as never })).rejects.toThrow(
      'images must be an array, such as ["cat.jpg"].',
    );
    expect(seen).toEqual([]);
  });
});
