/** Providers that hang, trickle, flood, redirect, or send nonsense: every failure is a bounded value, never a crash. */
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadCatalogue, type Catalogue, type CatalogueEntry } from "../../src/models/catalogue/catalogue.ts";
import type { Database } from "../../src/platform/database/database.ts";
import { createCaller } from "../support/model-caller-fixture.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { callOf, createRig, entryOf } from "./adapter-rig.ts";
import { json, startOwnServer } from "./own-server.ts";
import { chatAnswer, geminiAnswer, messagesAnswer } from "./provider-answers.ts";
import type { ModelRequest } from "../../src/models/calls/model-request.ts";

const chat: CatalogueEntry = entryOf("openai/gpt-5.2");
const image: CatalogueEntry = entryOf("openai/gpt-image-2");
/** The models that are enabled with a single key. */
const OPENAI: Catalogue = loadCatalogue({
  overlayFile: null,
  hasSecret: (name) => name === "OPENAI_API_KEY",
  sandbox: false,
});

async function send(url: string, entry: CatalogueEntry = chat) {
  const { adapter, signal } = createRig({ OPENAI_BASE_URL: `${url}/v1` });
  return adapter.callModel(callOf(entry), signal);
}

async function answered(reply: (response: ServerResponse) => void, entry?: CatalogueEntry) {
  const { url } = await startOwnServer((_request, response) => reply(response));
  return send(url, entry);
}

/** Below HTTP: what the socket does with the first bytes it gets. */
async function startSocketServer(onBytes: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", () => onBytes(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("an answer", () => {
  test.each([
    ["is a web page", (response: ServerResponse) => response.end("<html>welcome</html>")],
    ["is empty", (response: ServerResponse) => response.end()],
    ["is truncated JSON", (response: ServerResponse) => response.end('{"choices":[{"mess')],
    ["is JSON with another structure", (response: ServerResponse) => json(response, { hello: "world" })],
    ["has no choice", (response: ServerResponse) => json(response, { ...chatAnswer(), choices: [] })],
  ])("that %s with status 200 may be retried once", async (_name, reply) => {
    expect(await answered(reply)).toMatchObject({
      kind: "failed",
      cause: "protocol",
      retry: "once",
      breaker: "counted",
    });
  });

  test.each([
    ["OpenAI", chat, chatAnswer()],
    ["Anthropic", entryOf("anthropic/claude-haiku-4-5"), messagesAnswer()],
    ["Google", entryOf("google/gemini-3.6-flash"), geminiAnswer()],
  ])("from %s that is complete although a stream was requested may be retried once", async (_name, entry, whole) => {
    const { url } = await startOwnServer((_request, response) => json(response, whole));
    const { adapter, signal } = createRig({
      OPENAI_BASE_URL: `${url}/v1`,
      ANTHROPIC_BASE_URL: `${url}/v1`,
      GOOGLE_GENERATIVE_AI_BASE_URL: `${url}/v1`,
    });
    const result = await adapter.callModel(callOf(entry, { onText: () => {} }), signal);
    expect(result).toMatchObject({ kind: "failed", cause: "protocol", retry: "once", breaker: "counted" });
  });

  test("that announces or sends more than the limit ends the call, and only the limit is read", async () => {
    const claimed = (response: ServerResponse) =>
      response.writeHead(200, { "content-length": 10_000_000 }).end("x".repeat(10_000_000));
    expect(await answered(claimed)).toMatchObject({ cause: "too_large", retry: "never" });
    let written = 0;
    const flood = (response: ServerResponse): void => {
      const chunk = "x".repeat(1_048_576);
      const write = (): void => {
        while (!response.destroyed && response.write(chunk)) written += 1;
        written += 1;
        if (!response.destroyed && written < 100) response.once("drain", write);
      };
      write();
    };
    expect(await answered(flood)).toMatchObject({ cause: "too_large", retry: "never" });
    expect(written).toBeLessThan(50);
  });

  test.each(["http://169.254.169.254/", "http://[::bad", ""])(
    "that redirects is refused and not followed, wherever it leads: %j",
    async (location) => {
      const hungUp = Promise.withResolvers<void>();
      const reply = (response: ServerResponse) => {
        response.once("close", hungUp.resolve);
        response.writeHead(302, { location }).write("never more than this");
      };
      expect(await answered(reply)).toMatchObject({ kind: "failed", cause: "protocol" });
      await hungUp.promise;
    },
  );

  test("that is compressed without being requested is refused: it could inflate endlessly", async () => {
    const reply = (response: ServerResponse) => response.writeHead(200, { "content-encoding": "gzip" }).end("x");
    expect(await answered(reply)).toMatchObject({ kind: "failed", cause: "protocol" });
  });

  test("with letters instead of a number, and a huge error body, is a fixed failure", async () => {
    const result = await answered((response) =>
      json(response, { error: { message: "k".repeat(1_000_000), code: "z".repeat(999) } }, 400),
    );
    expect(result).toMatchObject({ kind: "failed", cause: "bad_request", code: null });
  });
});

describe("a connection", () => {
  test("that nobody accepts is safe to retry, even for images", async () => {
    const url = await startSocketServer(() => {});
    const free = new URL(url);
    free.port = "1";
    expect(await send(free.origin)).toMatchObject({ cause: "network", retry: "safe", breaker: "counted" });
    expect(await send(free.origin, image)).toMatchObject({ cause: "network", retry: "safe" });
  });

  test("to a name that does not exist is safe to retry", async () => {
    expect(await send("http://no-such-host.invalid")).toMatchObject({ cause: "network", retry: "safe" });
  });

  test.each([
    ["before the headers", (socket: Socket) => socket.destroy()],
    ["by a reset", (socket: Socket) => socket.resetAndDestroy()],
    ["inside the body", (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"cho')],
  ])("that breaks %s is retried once for text, and never for an image", async (_name, onBytes) => {
    expect(await send(await startSocketServer(onBytes))).toMatchObject({ cause: "network", retry: "once" });
    expect(await send(await startSocketServer(onBytes), image)).toMatchObject({ cause: "network", retry: "never" });
  });

  test("to something that does not speak HTTP is a protocol failure", async () => {
    const url = await startSocketServer((socket) => socket.write("220 mail.example ESMTP\r\n"));
    expect(await send(url)).toMatchObject({ kind: "failed", cause: "protocol" });
  });
});

describe("through the policy, on a real database", () => {
  let db: Database;
  useTestDatabase((opened) => (db = opened.db));

  function callerAt(url: string) {
    const { adapter } = createRig({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: `${url}/v1` });
    const { call } = createCaller({ db, adapter, catalogue: OPENAI, random: () => 0 });
    return (change: Partial<ModelRequest> = {}, signal?: AbortSignal) =>
      call({ model: "openai/gpt-5.2", prompt: "hello", deadlineMs: performance.now() + 30_000, ...change }, signal);
  }

  test("a provider that trickles one byte at a time is ended by the deadline, not by an idle timer", async () => {
    const { url } = await startOwnServer((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const timer = setInterval(() => response.write(" "), 10);
      response.once("close", () => clearInterval(timer));
    });
    const begun = performance.now();
    const outcome = await callerAt(url)({ deadlineMs: performance.now() + 300 });
    expect(outcome).toMatchObject({ kind: "failed", message: "The model did not answer in time. Try again later." });
    expect(performance.now() - begun).toBeLessThan(30_000); // it would trickle on forever
  });

  test("a provider that hangs forever is ended by the deadline, and its connection is closed", async () => {
    let closed: () => void = () => {};
    const hungUp = new Promise<void>((resolve) => (closed = resolve));
    const { url, received } = await startOwnServer((_request, response) => void response.once("close", closed));
    const call = callerAt(url);
    // On a busy machine a short deadline may pass before the connection: then there is nothing to close.
    for (let ms = 100; received.length === 0; ms *= 2) {
      expect(await call({ deadlineMs: performance.now() + ms })).toMatchObject({ kind: "failed" });
    }
    await hungUp;
  });

  test("a canceled call reaches the provider: its connection is closed", async () => {
    let arrived: () => void = () => {};
    let closed: () => void = () => {};
    const reached = new Promise<void>((resolve) => (arrived = resolve));
    const hungUp = new Promise<void>((resolve) => (closed = resolve));
    const { url } = await startOwnServer((_request, response) => {
      response.once("close", closed);
      arrived();
    });
    const cancel = new AbortController();
    const reason = new Error("canceled");
    const call = callerAt(url)({}, cancel.signal);
    await reached;
    cancel.abort(reason);
    await expect(call).rejects.toBe(reason);
    await hungUp;
  });

  test("a reset after sending costs two calls for text and one for an image", async () => {
    let sends = 0;
    const url = await startSocketServer((socket) => {
      sends += 1;
      socket.resetAndDestroy();
    });
    const call = callerAt(url);
    expect(await call()).toMatchObject({
      kind: "failed",
      message: "The model provider could not be reached. Try again later.",
    });
    expect(sends).toBe(2);
    expect(await call({ model: "openai/gpt-image-2" })).toMatchObject({ kind: "failed" });
    expect(sends).toBe(3);
  });

  test("a picture that is not base64 may be billed: it is requested once, and reported with a fixed message", async () => {
    const { url, received } = await startOwnServer((_request, response) =>
      json(response, { data: [{ b64_json: "!!!not base64" }] }),
    );
    expect(await callerAt(url)({ model: "openai/gpt-image-2" })).toMatchObject({
      kind: "failed",
      message: "The model provider sent a response that could not be read.",
    });
    expect(received).toHaveLength(1);
  });

  test("U+0000 and lone surrogates in a provider's text become storable", async () => {
    const text = "a\\u0000b\\ud800c\\ufeff";
    const body = JSON.stringify(chatAnswer({ text: "TEXT" })).replace("TEXT", text);
    const { url } = await startOwnServer((_request, response) =>
      response.setHeader("content-type", "application/json").end(body),
    );
    expect(await callerAt(url)()).toMatchObject({ kind: "text", text: "a\ufffdb\ufffdc\ufeff" });
  });

  test("no failure reveals the provider's message to the caller", async () => {
    const secret = "sk-live-0123456789 at https://internal.example/stack";
    for (const status of [400, 401, 404, 422, 500]) {
      const { url } = await startOwnServer((_request, response) =>
        json(response, { error: { message: secret, code: secret } }, status),
      );
      const outcome = await callerAt(url)();
      expect(outcome.kind).toBe("failed");
      expect(JSON.stringify(outcome)).not.toMatch(/sk-live|internal/);
    }
  });
});
