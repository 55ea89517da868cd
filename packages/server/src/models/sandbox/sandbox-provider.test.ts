import { Buffer } from "node:buffer";
import { describe, expect, test } from "vitest";
import {
  createSandboxTimer,
  pollSandboxVideo,
  runSandboxImage,
  runSandboxText,
  startSandboxVideo,
  type SandboxTextRequest,
  type SandboxTimer,
} from "./sandbox-provider.ts";
import { SandboxFailure } from "./sandbox-failure.ts";

/** A timer that never waits: it advances its own clock and records the requested waits. */
function openSandbox() {
  const waits: number[] = [];
  let nowMs = 1_000_000;
  const timer: SandboxTimer = {
    nowMs: () => nowMs,
    wait: async (ms, signal) => {
      signal.throwIfAborted();
      waits.push(ms);
      nowMs += ms;
    },
  };
  const signal = new AbortController().signal;
  const request = (prompt: string, change: Partial<SandboxTextRequest> = {}) => ({
    model: "sandbox/any",
    instructions: "",
    prompt,
    authorsText: null,
    images: [],
    itemIndex: 0,
    callNumber: 1,
    reasoning: null,
    maxOutputTokens: 2_048,
    size: "64x64",
    durationSeconds: 2,
    ...change,
  });
  return {
    waits,
    timer,
    signal,
    request,
    pass: (ms: number) => (nowMs += ms),
    text: (prompt: string, change: Partial<SandboxTextRequest> = {}) =>
      runSandboxText(request(prompt, change), timer, signal),
    image: (prompt: string, change: Partial<SandboxTextRequest> = {}) =>
      runSandboxImage(request(prompt, change), timer, signal),
    video: (prompt: string, change: Partial<SandboxTextRequest> = {}) =>
      startSandboxVideo(request(prompt, change), timer, signal),
  };
}

async function failureOf(work: Promise<unknown>): Promise<SandboxFailure> {
  const error = await work.then(
    () => new Error("it succeeded"),
    (thrown: unknown) => thrown,
  );
  if (error instanceof SandboxFailure) return error;
  throw error;
}

describe("every modality", () => {
  const modalities = ["text", "image", "video"] as const;

  test.each(modalities)("%s: the same request gives the same answer", async (modality) => {
    const one = openSandbox();
    const two = openSandbox();
    expect(await one[modality]("a cat")).toEqual(await two[modality]("a cat"));
  });

  test.each(modalities)(
    "%s: `error` answers its status on every send, with Retry-After when asked",
    async (modality) => {
      const { [modality]: run } = openSandbox();
      for (const callNumber of [1, 2, 3]) {
        const failure = await failureOf(run("sandbox: error=502 retryafter=7", { callNumber }));
        expect(failure).toMatchObject({ kind: "status", httpStatus: 502, retryAfterSeconds: 7 });
        expect(failure.responseHeaders).toEqual({ "retry-after": "7" });
      }
      expect((await failureOf(run("sandbox: error=429"))).responseHeaders).toEqual({});
    },
  );

  test.each(modalities)("%s: `flaky=N` fails the sends 1 to N and no later one", async (modality) => {
    const { [modality]: run } = openSandbox();
    const prompt = "sandbox: flaky=2 retryafter=1";
    expect(await failureOf(run(prompt, { callNumber: 1 }))).toMatchObject({ httpStatus: 503, retryAfterSeconds: 1 });
    expect(await failureOf(run(prompt, { callNumber: 2 }))).toMatchObject({ httpStatus: 503 });
    await expect(run(prompt, { callNumber: 3 })).resolves.toBeDefined();
    expect(await failureOf(run("sandbox: flaky=1 error=408"))).toMatchObject({ httpStatus: 408 });
    await expect(run("sandbox: flaky=1 error=408", { callNumber: 2 })).resolves.toBeDefined();
  });

  test.each(modalities)("%s: `quota` is a 429 that names the used-up quota", async (modality) => {
    const failure = await failureOf(openSandbox()[modality]("sandbox: quota"));
    expect(failure).toMatchObject({ httpStatus: 429, code: "insufficient_quota" });
    expect(JSON.parse(failure.responseBody)).toMatchObject({ error: { code: "insufficient_quota" } });
  });

  test.each(modalities)("%s: `reset` is a broken connection and `garble` a 200 without JSON", async (modality) => {
    const { [modality]: run } = openSandbox();
    expect(await failureOf(run("sandbox: reset"))).toMatchObject({
      kind: "reset",
      httpStatus: null,
      code: "ECONNRESET",
    });
    const garbled = await failureOf(run("sandbox: garble"));
    expect(garbled).toMatchObject({ kind: "garbled", httpStatus: 200 });
    expect(() => JSON.parse(garbled.responseBody)).toThrow(SyntaxError);
  });

  test.each(modalities)("%s: `partial=K` fails the items from K on", async (modality) => {
    const { [modality]: run } = openSandbox();
    await expect(run("sandbox: partial=1", { itemIndex: 0 })).resolves.toBeDefined();
    expect(await failureOf(run("sandbox: partial=1", { itemIndex: 1 }))).toMatchObject({ httpStatus: 400 });
    expect(await failureOf(run("sandbox: partial=0"))).toMatchObject({ httpStatus: 400 });
  });

  test.each(modalities)("%s: a directive that is none fails before anything else happens", async (modality) => {
    const { [modality]: run, waits } = openSandbox();
    const failure = await failureOf(run("sandbox: delay=50\nsandbox: eror=500"));
    expect(failure).toMatchObject({ kind: "directive", httpStatus: 400 });
    expect(failure.message).toBe("Sandbox: unknown or invalid directive 'eror=500'.");
    expect(waits).toEqual([]);
  });

  test.each(modalities)("%s: `hang` answers nothing until the signal fires, then with its reason", async (modality) => {
    const { timer, request } = openSandbox();
    const stop = new AbortController();
    const runs = { text: runSandboxText, image: runSandboxImage, video: startSandboxVideo };
    const hanging = runs[modality](request("sandbox: hang"), timer, stop.signal);
    const reason = new DOMException("deadline", "TimeoutError");
    stop.abort(reason);
    await expect(hanging).rejects.toBe(reason);
  });

  test.each(modalities)("%s: directives in the instructions count as well", async (modality) => {
    const failure = await failureOf(openSandbox()[modality]("a cat", { instructions: "sandbox: error=500" }));
    expect(failure.httpStatus).toBe(500);
  });
});

describe("the order of effects", () => {
  test("delay comes first, then reset, then the error status, then garble, then refusal", async () => {
    const { text, waits } = openSandbox();
    const all = ["refuse", "garble", "error=500", "reset", "delay=40"];
    const kinds: unknown[] = [];
    for (let left = all.length; left > 1; left -= 1) {
      const { kind, httpStatus } = await failureOf(text(`sandbox: ${all.slice(0, left).join(" ")}`));
      kinds.push([kind, httpStatus]);
    }
    expect(kinds).toEqual([
      ["reset", null],
      ["reset", null],
      ["status", 500],
      ["garbled", 200],
    ]);
    expect(waits).toEqual([40]);
    expect(await text("sandbox: refuse empty")).toMatchObject({ finishReason: "content-filter" });
  });

  test("an abort during the delay throws its reason at once", async () => {
    const { request } = openSandbox();
    const stop = new AbortController();
    const timer = createSandboxTimer({ nowMs: () => 0 });
    const waiting = runSandboxText(request("sandbox: delay=600000"), timer, stop.signal);
    const reason = new Error("canceled");
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });
});

test("a delay of the real timer ends, and an abort after it changes nothing", async () => {
  const stop = new AbortController();
  await expect(createSandboxTimer({ nowMs: () => 0 }).wait(1, stop.signal)).resolves.toBeUndefined();
  stop.abort(new Error("too late"));
});

describe("text", () => {
  test("has the prompt without its directive lines, and usage for everything that was sent", async () => {
    const { text, waits } = openSandbox();
    const prompt = "A poem\nsandbox: delay=20\nabout tea";
    const answer = await text(prompt, { instructions: "Be brief." });
    expect(answer.text.endsWith("---\nBe brief.\nA poem\nabout tea")).toBe(true);
    expect(answer.finishReason).toBe("stop");
    expect(answer.usage).toEqual({
      inputTokens: Math.ceil(("Be brief.".length + prompt.length) / 4),
      outputTokens: Math.ceil(Buffer.byteLength(answer.text) / 4),
    });
    expect(waits).toEqual([20]);
  });

  test("cut at the output limit finishes with `length`", async () => {
    const answer = await openSandbox().text("A long poem about tea", { maxOutputTokens: 12 });
    expect(answer).toMatchObject({ finishReason: "length", usage: { outputTokens: 12 } });
  });

  test("`refuse` is a content filter without text, `empty` is a success without text", async () => {
    const { text } = openSandbox();
    expect(await text("sandbox: refuse")).toMatchObject({ text: "", finishReason: "content-filter" });
    expect(await text("sandbox: empty")).toMatchObject({ text: "", finishReason: "stop", usage: { outputTokens: 0 } });
  });

  test("`input=N` sets the reported usage, `nousage` omits it", async () => {
    const { text } = openSandbox();
    expect((await text("sandbox: input=123456")).usage).toMatchObject({ inputTokens: 123_456 });
    expect((await text("sandbox: tokens=50 input=9")).usage).toEqual({ inputTokens: 9, outputTokens: 50 });
    expect((await text("sandbox: nousage input=9")).usage).toBeNull();
  });
});

describe("image", () => {
  test("depends on prompt and images, not on directive lines", async () => {
    const { image } = openSandbox();
    const plain = await image("a cat");
    expect(await image("sandbox: delay=10\na cat")).toMatchObject({ images: plain.images });
    expect((await image("a dog")).images).not.toEqual(plain.images);
    const images = [{ bytes: Buffer.from("photo"), mediaType: "image/png" }];
    expect((await image("a cat", { images })).images).not.toEqual(plain.images);
  });

  test("`refuse` names the content policy, `empty` is a success without a picture", async () => {
    const { image } = openSandbox();
    expect(await failureOf(image("sandbox: refuse"))).toMatchObject({
      httpStatus: 400,
      code: "content_policy_violation",
    });
    expect((await image("sandbox: empty")).images).toEqual([]);
  });
});

describe("video", () => {
  test("is pending until 500 ms have passed, then an MP4 of the requested length", async () => {
    const { video, timer, pass } = openSandbox();
    const operation: unknown = JSON.parse(JSON.stringify(await video("a cat")));
    pass(499);
    expect(await pollSandboxVideo(operation, timer)).toEqual({ status: "pending" });
    pass(1);
    const done = await pollSandboxVideo(operation, timer);
    if (done.status === "pending") throw new Error("still pending");
    const bytes = Buffer.from(done.videos[0]?.bytes ?? []);
    expect(done.videos[0]?.mediaType).toBe("video/mp4");
    expect(bytes.subarray(4, 8).toString()).toBe("ftyp");
    expect(clipSeconds(bytes)).toBe(2);
  });

  test("`delay` postpones readiness, not the response to the start", async () => {
    const { video, timer, pass, waits } = openSandbox();
    const operation = await video("sandbox: delay=90000\na cat");
    expect(waits).toEqual([]);
    pass(89_999);
    expect(await pollSandboxVideo(operation, timer)).toEqual({ status: "pending" });
    pass(1);
    expect(await pollSandboxVideo(operation, timer)).toMatchObject({ status: "completed" });
  });

  test("all eight clips are bundled: four patterns in two lengths, each small", async () => {
    const { request, timer, signal, pass } = openSandbox();
    const seen = new Map<string, number>();
    for (let index = 0; index < 64; index += 1) {
      for (const durationSeconds of [2, 4]) {
        const operation = await startSandboxVideo({ ...request(`cat ${index}`), durationSeconds }, timer, signal);
        pass(500);
        const done = await pollSandboxVideo(operation, timer);
        if (done.status === "pending") throw new Error("still pending");
        const bytes = Buffer.from(done.videos[0]?.bytes ?? []);
        expect(clipSeconds(bytes)).toBe(durationSeconds);
        seen.set(String(operation.clip), bytes.length);
      }
    }
    expect(seen.size).toBe(8);
    expect(Math.max(...seen.values())).toBeLessThan(20_000);
  });

  test("`refuse` fails the start, `empty` completes without a video", async () => {
    const { video, timer, pass } = openSandbox();
    expect(await failureOf(video("sandbox: refuse"))).toMatchObject({
      httpStatus: 400,
      code: "content_policy_violation",
    });
    const operation = await video("sandbox: empty");
    pass(500);
    expect(await pollSandboxVideo(operation, timer)).toEqual({ status: "completed", videos: [] });
  });

  test.each([null, "x", {}, { v: 2, clip: "glow-2s", readyAt: 0 }, { v: 1, clip: "../../../etc/passwd", readyAt: 0 }])(
    "an operation that was never started is a 404: %j",
    async (operation) => {
      expect(await failureOf(pollSandboxVideo(operation, openSandbox().timer))).toMatchObject({ httpStatus: 404 });
    },
  );
});

/** The length according to the MP4's movie header (`mvhd`, version 0). */
function clipSeconds(mp4: Buffer): number {
  const at = mp4.indexOf("mvhd");
  expect(at).toBeGreaterThan(0);
  return mp4.readUInt32BE(at + 20) / mp4.readUInt32BE(at + 16);
}
