/** Callers who send or read slowly, close their side, or hang up. */
import { once } from "node:events";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { setImmediate as nextCycle } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { RequestContext } from "../../src/http/endpoint.ts";
import { ME, createPausedGetMe, exchangeRaw, openEdge, openSocket, readAnswers, sendRaw } from "./http-edge-server.ts";
import { CREATE_RUN, GET_CREDITS, GET_ME, POST_RUN } from "./raw-requests.ts";

describe("slow senders", () => {
  const limits = { headersMs: 100, requestMs: 200, checkEveryMs: 20, lingerMs: 50 };

  test.each([
    ["of headers", "GET /v1/me HTTP/1.1\r\nHost: x\r\nX-A"],
    ["of a body", `${POST_RUN}Content-Length: 10\r\n\r\n{`],
    ["of an ignored body", `${GET_ME}Content-Length: 10\r\n\r\n{`],
  ])("%s get a 400 envelope and are closed", async (_name, request) => {
    const own = await openEdge({ limits });
    const answer = await sendRaw(own.port, request);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toBe("The request did not arrive completely in time. Send it again.");
    await own.http.close();
    expect(own.http.openRequests).toBe(0);
  });

  test("do not include a caller who waits for an answer longer than the limits", async () => {
    const { getMe, arrived, release } = createPausedGetMe();
    const own = await openEdge({ limits: { ...limits, slowReaderMs: 100 }, handlers: { getMe } });
    const answer = sendRaw(own.port, `${GET_ME}Connection: close\r\n\r\n`);
    await arrived;
    // A slow sender that arrived later has been closed while this one is still open.
    await sendRaw(own.port, "GET /v1/me HTTP/1.1\r\nHost: x\r\nX-A");
    await sendRaw(own.port, `${POST_RUN}Content-Length: 10\r\n\r\n{`);
    release();
    expect((await answer).status).toBe(200);
  });
});

test("a connection that sends nothing is closed without an answer, which a browser would take for the answer to its next request", async () => {
  const own = await openEdge({ limits: { headersMs: 100, requestMs: 200, checkEveryMs: 20 } });
  const socket = await openSocket(own.port);
  let heard = "";
  socket.on("data", (chunk: Buffer) => (heard += chunk.toString("latin1")));
  await once(socket, "close");
  expect(heard).toBe("");
});

test("a connection that sends only empty lines after its answer is closed after the keep-alive and header timeouts", async () => {
  const own = await openEdge({ limits: { keepAliveMs: 100, headersMs: 100, checkEveryMs: 20 } });
  const socket = await openSocket(own.port);
  // A line sent to a closed connection gets a reset, which ends it as well.
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.on("error", () => {}).resume();
  socket.write(`${GET_ME}\r\n`);
  const alive = setInterval(() => socket.write("\r\n"), 10);
  await closed;
  clearInterval(alive);
  expect(own.log.map(({ fields }) => fields["status"])).toEqual([200]);
});

describe("slow readers", () => {
  const endless = () =>
    Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(65_536);
      })(),
    );

  test("are closed when no byte of the answer gets through within the limit", async () => {
    const source = endless();
    const own = await openEdge({
      limits: { slowReaderMs: 100 },
      openFile: async () => ({ status: 200, headers: { "content-type": "image/png" }, body: source }),
    });
    const socket = await openSocket(own.port);
    socket.pause();
    socket.write("GET /files/a.png HTTP/1.1\r\nHost: x\r\n\r\n");
    await new Promise((resolve) => source.once("close", resolve));
    expect(source.destroyed).toBe(true);
    socket.destroy();
  });

  test("of a large JSON answer are closed as well", async () => {
    const rows = Array.from({ length: 20 }, () => "x".repeat(1_000_000));
    const ended = Promise.withResolvers<void>();
    const own = await openEdge({
      limits: { slowReaderMs: 100 },
      checkResponses: false,
      handlers: {
        getMe: async (_input, context) => {
          context.onGone(() => ended.resolve());
          return { data: { ...ME, username: rows.join("") } };
        },
      },
    });
    const socket = await openSocket(own.port);
    socket.pause();
    socket.write(`${GET_ME}\r\n`);
    await ended.promise;
    socket.destroy();
    await own.http.close();
    expect(own.log.at(-1)?.fields).toMatchObject({ cut: true });
  });
});

describe("a slow reader's limit", () => {
  test("ends with the answer: a later request on the same connection may wait longer", async () => {
    const { getMe, release } = createPausedGetMe();
    const limits = { slowReaderMs: 60, headersMs: 200, requestMs: 200, checkEveryMs: 20, lingerMs: 20 };
    const own = await openEdge({ limits, handlers: { getMe } });
    const file = "GET /files/a.png HTTP/1.1\r\nHost: x\r\n\r\n";
    const both = exchangeRaw(own.port, `${file}${GET_ME}Connection: close\r\n\r\n`);
    // Takes the 200 ms until slow headers are refused: more than three times the reader's limit.
    await sendRaw(own.port, "GET /v1/me HTTP/1.1\r\nHost: x\r\nX-A");
    release();
    const text = await both;
    expect(text).toContain("bytes");
    expect(text).toContain('"userFlags":0');
  });
});

describe("callers who close their side after sending their request", () => {
  const halfClosed = async (port: number, request: string) => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
    socket.end(request);
    await once(socket, "end"); // the server has also closed its side
    socket.destroy();
    return readAnswers(text);
  };

  test("get their answers, also if they take some event loop cycles", async () => {
    const getMe = async () => {
      for (let cycle = 0; cycle < 20; cycle += 1) await nextCycle();
      return { data: ME };
    };
    const own = await openEdge({ handlers: { getMe } });
    const [first, second] = await halfClosed(own.port, `${GET_ME}\r\n${GET_CREDITS}\r\n`);
    expect([first?.status, second?.status]).toEqual([200, 200]);
    const [created] = await halfClosed(own.port, CREATE_RUN);
    expect(created?.status).toBe(200);
  });

  test("get a 400 if the request was incomplete", async () => {
    const own = await openEdge();
    const [answer] = await halfClosed(own.port, `${POST_RUN}Content-Length: 10\r\n\r\n{`);
    expect([answer?.status, answer?.body.status]).toEqual([400, "BAD_REQUEST_ERROR"]);
  });

  test("are assumed gone if the answer takes long", async () => {
    const gone = Promise.withResolvers<void>();
    const getMe = async (_input: unknown, context: RequestContext) => {
      context.onGone(gone.resolve);
      await gone.promise;
      return { data: ME };
    };
    const own = await openEdge({ limits: { halfClosedMs: 50 }, handlers: { getMe } });
    expect(await halfClosed(own.port, `${GET_ME}\r\n`)).toEqual([]);
    await gone.promise;
    expect(own.http.openRequests).toBe(0);
  });
});

describe("callers who hang up", () => {
  const waiting = () => {
    const gone: Promise<void>[] = [];
    let arrivals = 0;
    const all = Promise.withResolvers<void>();
    const getMe = (count: number) => async (_input: unknown, context: RequestContext) => {
      gone.push(new Promise((resolve) => context.onGone(resolve)));
      arrivals += 1;
      if (arrivals === count) all.resolve();
      await gone.at(-1);
      return { data: ME };
    };
    return { getMe, arrived: all.promise, gone };
  };

  test("are reported to the handler, and free the request", async () => {
    const { getMe, arrived, gone } = waiting();
    const own = await openEdge({ limits: { halfClosedMs: 20 }, handlers: { getMe: getMe(20) } });
    const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket(own.port)));
    for (const socket of sockets) socket.write(`${GET_ME}\r\n`);
    await arrived;
    expect(own.http.openRequests).toBe(20);
    for (const socket of sockets) socket.destroy();
    await Promise.all(gone);
    expect(own.http.openRequests).toBe(0);
    expect(own.log.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("free both a waiting request and the request behind it", async () => {
    const { getMe, arrived, gone } = waiting();
    const own = await openEdge({ limits: { halfClosedMs: 20 }, handlers: { getMe: getMe(2) } });
    const socket = await openSocket(own.port);
    socket.write(`${GET_ME}\r\n${GET_ME}\r\n`);
    await arrived;
    socket.destroy();
    await Promise.all(gone);
    expect(own.http.openRequests).toBe(0);
  });

  test("are not reported to the handler of an answered request", async () => {
    let isGone = false;
    const getMe = async (_input: unknown, context: RequestContext) => {
      context.onGone(() => (isGone = true));
      return { data: ME };
    };
    const own = await openEdge({ handlers: { getMe } });
    await sendRaw(own.port, `${GET_ME}Connection: close\r\n\r\n`);
    await own.http.close();
    expect(isGone).toBe(false);
  });
});
