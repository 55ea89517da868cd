import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/test-database.ts";
import { systemClock } from "../platform/clock.ts";
import { openDatabase, type Database } from "../platform/database.ts";
import { createLog } from "../platform/log.ts";
import { createModelCaller, type ModelCallerOptions } from "./call-model.ts";
import { createGuardedFetch } from "../files/index.ts";
import { createAiSdkAdapter } from "./ai-sdk.ts";
import { loadCatalogue, type Catalogue } from "./catalogue.ts";
import type { ModelOutcome, ModelRequest } from "./model-call.ts";

let server: TestDatabase;
let db: Database;
beforeAll(async () => {
  server = await createTestDatabase();
  db = await openDatabase({ url: server.url, role: "test", log: createLog("silent") });
});
afterAll(async () => {
  await db.close();
  await server.drop();
});

/** The sandbox under another provider's name: a caller may break the sandbox at will, so nothing guards it. */
function asRealProvider(
  catalogue: Catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true }),
): Pick<ModelCallerOptions, "catalogue" | "adapter"> {
  const find = (model: string) => {
    const entry = catalogue.find(model);
    return entry === null ? null : { ...entry, provider: "double" };
  };
  const sandbox = createAiSdkAdapter({
    secret: () => null,
    clock: systemClock,
    log: createLog("silent"),
    download: createGuardedFetch(),
    timeoutMsMax: 60_000,
  });
  const callModel: typeof sandbox.callModel = (call, signal) =>
    sandbox.callModel({ ...call, entry: { ...call.entry, provider: "sandbox" } }, signal);
  return { catalogue: { ...catalogue, find }, adapter: { ...sandbox, callModel } };
}

interface SendRow {
  send: number;
  attempt: number;
  outcome: string | null;
  http_status: number | null;
  operation: unknown;
  usage: { inputTokens: number } | null;
  cost_micro: number | null;
}

function setup(change: Partial<ModelCallerOptions> = {}) {
  const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true });
  const waits: number[] = [];
  const caller = createModelCaller({
    catalogue,
    db,
    clock: systemClock,
    log: createLog("silent"),
    secret: () => null,
    inflightBytesMax: 536_870_912,
    random: () => 0.5,
    wait: async (ms, signal) => {
      signal.throwIfAborted();
      waits.push(ms);
    },
    ...change,
  });
  onTestFinished(() => caller.close());
  const runId = randomUUID();
  const request = (prompt: string, rest: Partial<ModelRequest> = {}): ModelRequest => ({
    accountId: randomUUID(),
    runId,
    attempt: 1,
    step: 0,
    item: 0,
    model: "sandbox/text",
    options: {},
    instructions: "",
    prompt,
    images: [],
    maxOutputTokens: null,
    deadlineAtMs: Date.now() + 60_000,
    ...rest,
  });
  const signal = new AbortController().signal;
  return {
    caller,
    waits,
    request,
    call: (prompt: string, rest: Partial<ModelRequest> = {}): Promise<ModelOutcome> =>
      caller.call(request(prompt, rest), signal),
    sends: async (): Promise<SendRow[]> => {
      await caller.close();
      return db.query<SendRow>(
        `select send, attempt, outcome, http_status, operation, usage, cost_micro
         from provider_calls where run_id = $1 order by item, send`,
        [runId],
      );
    },
  };
}

const failedWith = (message: string) => expect.objectContaining({ kind: "failed", message });

describe("a call", () => {
  test("gives the text with its usage, and records one send with its cost", async () => {
    const { call, sends } = setup();
    const outcome = await call("Write a haiku.", { instructions: "Be brief.", options: { reasoningEffort: "high" } });
    expect(outcome).toMatchObject({ kind: "text", truncated: false, usage: { isEstimated: false, images: 0 } });
    expect(outcome.kind === "text" && outcome.text).toContain("reasoning: high");
    expect(outcome.kind === "text" && outcome.text).toContain("Be brief.\nWrite a haiku.");
    const [row, ...more] = await sends();
    expect(more).toEqual([]);
    expect(row).toMatchObject({ send: 1, outcome: "text", usage: { inputTokens: 6 } });
    expect(row?.cost_micro).toBeGreaterThan(0);
  });

  test("that answers 429 and then works is sent twice, after a wait of at least Retry-After", async () => {
    const { call, waits, sends } = setup();
    expect(await call("hi\nsandbox: flaky=1 error=429 retryafter=1")).toMatchObject({ kind: "text" });
    expect(waits).toEqual([1_000]);
    expect((await sends()).map((row) => [row.send, row.outcome, row.http_status])).toEqual([
      [1, "rate_limited", 429],
      [2, "text", null],
    ]);
  });

  test("that fails three times with a 500 is not sent a fourth time", async () => {
    const { call, sends } = setup();
    expect(await call("sandbox: error=500")).toEqual(failedWith("The model provider is overloaded. Try again later."));
    expect((await sends()).map((row) => row.http_status)).toEqual([500, 500, 500]);
  });

  test("never exceeds three sends per item, whatever attempts of the run follow", async () => {
    const { call, sends } = setup({ random: () => 0 });
    await call("sandbox: error=503");
    expect(await call("sandbox: error=503", { attempt: 2 })).toMatchObject({ kind: "failed" });
    expect(await call("sandbox: error=503", { attempt: 2, item: 1 })).toMatchObject({ kind: "failed" });
    expect((await sends()).map((row) => [row.send, row.attempt])).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
      [1, 2],
      [2, 2],
      [3, 2],
    ]);
  });

  test("counts sends of an earlier attempt that died without an outcome", async () => {
    const { call, request, sends } = setup();
    const { runId } = request("");
    await db.query(
      `insert into provider_calls (run_id, step, item, send, account_id, attempt, model, provider, provider_model)
       select $1, 0, 0, n, $1, 1, 'm', 'p', 'p' from generate_series(1, 2) n`,
      [runId],
    );
    expect(await call("hi\nsandbox: flaky=2", { attempt: 3 })).toMatchObject({ kind: "text" });
    expect((await sends()).map((row) => row.outcome)).toEqual([null, null, "text"]);
  });

  test("gives the run back when Retry-After is longer than a process should wait", async () => {
    const { call, waits } = setup();
    expect(await call("sandbox: error=429 retryafter=30")).toEqual({ kind: "later", delayMs: 30_000 });
    expect(waits).toEqual([]);
  });

  test("fails instead of waiting past the run's deadline", async () => {
    const { call } = setup();
    expect(await call("sandbox: error=429 retryafter=120")).toEqual(
      failedWith("The model provider is overloaded. Try again later."),
    );
  });

  test("that hangs ends at the run's deadline, and is not sent again", async () => {
    const { call, sends } = setup();
    const outcome = await call("sandbox: hang", { deadlineAtMs: Date.now() + 50 });
    expect(outcome).toEqual(failedWith("The model did not answer in time."));
    expect((await sends()).map((row) => row.outcome)).toEqual(["timeout"]);
  });

  test("is not sent when the deadline has passed", async () => {
    const { call } = setup();
    expect(await call("hi", { deadlineAtMs: Date.now() - 1 })).toEqual(failedWith("The model did not answer in time."));
  });

  test("that is cancelled rejects with the reason at once, and its provider call is aborted", async () => {
    const { caller, request } = setup();
    const cancel = new AbortController();
    const call = caller.call(request("sandbox: hang"), cancel.signal);
    const reason = new Error("cancelled by its owner");
    await vi.waitFor(async () => {
      const rows = await db.query("select 1 from provider_calls where run_id = $1", [request("").runId]);
      expect(rows).toHaveLength(1);
    });
    cancel.abort(reason);
    await expect(call).rejects.toBe(reason);
  });
});

describe("a failure that another send cannot heal is reported at once with its sentence:", () => {
  test.each([
    ["error=400", "The model provider did not accept this request."],
    ["error=404", "The model provider did not accept this request."],
    ["error=422", "The model provider did not accept this request."],
    ["error=413", "The prompt is too long for this model."],
    ["error=401", "The model provider is not available."],
    ["error=403", "The model provider is not available."],
    ["quota", "The model provider is not available."],
    ["refuse", "The model declined this request."],
    ["empty", "The model returned nothing."],
    ["partial=0", "The model provider did not accept this request."],
    ["size=9000", "The model's answer is too large."],
    ["dely=5", "Sandbox: unknown or invalid directive 'dely=5'."],
  ])("%s", async (directive, message) => {
    const { call, sends } = setup();
    expect(await call(`sandbox: ${directive}`)).toEqual(failedWith(message));
    expect(await sends()).toHaveLength(1);
  });
});

describe("a failure that may have been billed", () => {
  test.each(["reset", "garble"])("is sent once more for a text (%s)", async (directive) => {
    const { call, sends } = setup({ random: () => 0 });
    expect(await call(`sandbox: ${directive}`)).toMatchObject({ kind: "failed" });
    expect(await sends()).toHaveLength(2);
  });

  test("is never sent again for an image or a video", async () => {
    const image = setup();
    const message = "The model provider could not be reached.";
    expect(await image.call("sandbox: reset", { model: "sandbox/image" })).toEqual(failedWith(message));
    expect(await image.sends()).toHaveLength(1);
    const video = setup();
    expect(await video.call("sandbox: reset", { model: "sandbox/video" })).toEqual(failedWith(message));
    expect(await video.sends()).toHaveLength(1);
  });
});

describe("a text", () => {
  test("with U+0000 and lone surrogates arrives storable", async () => {
    const outcome = await setup().call("sandbox: dirty");
    expect(outcome).toMatchObject({ kind: "text" });
    const text = outcome.kind === "text" ? outcome.text : "";
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toContain("\u0000");
    expect(text).toContain("\ufffd \ufffd \ufeff");
  });

  test("over 2 MiB is cut and flagged", async () => {
    const outcome = await setup().call("sandbox: size=3000");
    expect(outcome).toMatchObject({ kind: "text", truncated: true });
    expect(outcome.kind === "text" && outcome.text.length).toBe(2_097_152);
  });

  test("cut by the output limit is a success, flagged", async () => {
    const outcome = await setup().call("one two three four five", { maxOutputTokens: 10 });
    expect(outcome).toMatchObject({ kind: "text", truncated: true, usage: { outputTokens: 10 } });
  });

  test("without a count of tokens is estimated and flagged", async () => {
    const outcome = await setup().call("sandbox: nousage\n12345678");
    expect(outcome).toMatchObject({ usage: { isEstimated: true, inputTokens: 7 } });
  });
});

describe("an image", () => {
  test("comes as PNG bytes in the chosen size, counted as one image", async () => {
    const outcome = await setup().call("a cat", { model: "sandbox/image", options: { size: "256x256" } });
    expect(outcome).toMatchObject({ kind: "image", mediaType: "image/png", usage: { images: 1 } });
    const bytes = outcome.kind === "image" ? Buffer.from(outcome.bytes) : Buffer.alloc(32);
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([256, 256]);
  });

  test("depends on its place in the step, and items fail alone", async () => {
    const { call } = setup();
    const image = (item: number) => call("a cat\nsandbox: partial=2", { model: "sandbox/image", item });
    const [first, second, third] = [await image(0), await image(1), await image(2)];
    expect(first).toMatchObject({ kind: "image" });
    expect(second).toMatchObject({ kind: "image" });
    expect(first).not.toEqual(second);
    expect(third).toMatchObject({ kind: "failed" });
  });
});

describe("a video", () => {
  const video = { model: "sandbox/video", options: { seconds: "4" } };

  test("is started, remembered and asked for until it is ready", async () => {
    const { call, waits, sends } = setup();
    const outcome = await call("a river\nsandbox: delay=0", video);
    expect(outcome).toMatchObject({ kind: "video", mediaType: "video/mp4", usage: { seconds: 4 } });
    expect(waits).toEqual([2_000]);
    const [row] = await sends();
    expect(row).toMatchObject({ send: 1, outcome: "video", operation: { v: 1 } });
  });

  test("is asked for after 2, 3, 5, 8 and then every 10 seconds", async () => {
    let questions = 0;
    const { call, waits } = setup({
      wait: async (ms) => {
        waits.push(ms);
        questions += 1;
        if (questions === 7) throw new Error("enough");
      },
    });
    await expect(call("a river\nsandbox: delay=600000", video)).rejects.toThrow("enough");
    expect(waits).toEqual([2_000, 3_000, 5_000, 8_000, 10_000, 10_000, 10_000]);
  });

  test("that another worker started is asked for, not started again", async () => {
    const first = setup({ wait: () => Promise.reject(new Error("the worker dies here")) });
    await expect(first.call("a river", video)).rejects.toThrow("dies");
    const { runId } = first.request("");
    const second = setup();
    await vi.waitFor(async () => {
      const outcome = await second.call("a river", { ...video, runId, attempt: 2 });
      expect(outcome).toMatchObject({ kind: "video" });
    });
    expect(await first.sends()).toHaveLength(1);
  });

  test("whose result was lost with its worker is fetched again, not paid again", async () => {
    const { call, sends } = setup();
    await call("a river\nsandbox: delay=0", video);
    expect(await call("a river\nsandbox: delay=0", { ...video, attempt: 2 })).toMatchObject({ kind: "video" });
    expect(await sends()).toHaveLength(1);
  });

  test("that the provider refuses is declined", async () => {
    expect(await setup().call("sandbox: refuse", video)).toEqual(failedWith("The model declined this request."));
  });
});

describe("a model", () => {
  test("that is not configured here fails without a send", async () => {
    const { call, sends } = setup();
    expect(await call("hi", { model: "openai/gpt-5.2" })).toEqual(
      failedWith("Model openai/gpt-5.2 is not configured on this server."),
    );
    expect(await sends()).toEqual([]);
  });

  test("whose key is refused is left in peace, while other models go on", async () => {
    const { call, sends } = setup(asRealProvider());
    await call("sandbox: error=401");
    expect(await call("hi", { step: 1 })).toMatchObject({ kind: "later" });
    expect(await call("hi", { step: 2, model: "sandbox/text-free" })).toMatchObject({ kind: "text" });
    expect(await sends()).toHaveLength(2);
  });

  test("that fails at half of ten calls is left in peace", async () => {
    const { call } = setup({ ...asRealProvider(), random: () => 0 });
    for (let step = 0; step < 5; step += 1) await call("hi", { step });
    await call("sandbox: error=500", { step: 5 });
    expect(await call("sandbox: error=500", { step: 6 })).toMatchObject({ kind: "later" });
  });

  test.each(["error=401", "error=500", "quota", "error=429"])(
    "of the sandbox that a caller makes fail with %s stays open to everybody else",
    async (directive) => {
      const { call } = setup({ random: () => 0 });
      for (let step = 0; step < 12; step += 1) await call(`sandbox: ${directive}`, { step });
      expect(await call("hi", { step: 12 })).toMatchObject({ kind: "text" });
    },
  );
});

describe("a declared fallback", () => {
  const withFallback = (): Catalogue => {
    const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true });
    const entry = catalogue.find("sandbox/text");
    if (entry === null) throw new Error("the sandbox is missing");
    const find = (model: string) =>
      model === entry.model ? { ...entry, fallback: "sandbox/text-free" } : catalogue.find(model);
    return { ...catalogue, find };
  };
  const models = async (runId: string) => {
    const rows = await db.query<{ model: string }>("select model from provider_calls where run_id = $1 order by send", [
      runId,
    ]);
    return rows.map((row) => row.model);
  };

  test("gets the last of three sends when the model fails twice", async () => {
    const { call, request } = setup({ catalogue: withFallback() });
    const outcome = await call("hi\nsandbox: flaky=2");
    expect(outcome.kind === "text" && outcome.text).toContain("model: sandbox/text-free");
    expect(await models(request("").runId)).toEqual(["sandbox/text", "sandbox/text", "sandbox/text-free"]);
  });

  test("is called at once when the model's key is refused or its breaker is open", async () => {
    const { call, request } = setup(asRealProvider(withFallback()));
    expect(await call("hi\nsandbox: flaky=1 error=401")).toMatchObject({ kind: "text" });
    expect(await call("hi", { step: 1 })).toMatchObject({ kind: "text" });
    const [first, second, third] = await models(request("").runId);
    expect([first, second, third].filter((model) => model === "sandbox/text-free")).toHaveLength(2);
  });

  test("is not asked what the first model declined or could not accept", async () => {
    const { call, request } = setup({ catalogue: withFallback() });
    expect(await call("sandbox: refuse")).toMatchObject({ kind: "failed" });
    expect(await call("sandbox: error=400", { step: 1 })).toMatchObject({ kind: "failed" });
    expect(await models(request("").runId)).toEqual(["sandbox/text", "sandbox/text"]);
  });
});

test("embeddings are asked of providers that make them only, and the message says which", async () => {
  const { caller } = setup();
  const { signal } = new AbortController();
  for (const model of ["sandbox/text", "text-embedding-3-small", "nobody/x"]) {
    await expect(caller.embedTexts(model, ["a"], signal)).rejects.toThrow(
      `${model} is no embeddings model: expected openai/`,
    );
  }
});
