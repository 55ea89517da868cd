/** What becomes of bytes on a connection: requests that are not valid, bodies, pipelined requests, and stopping. */
import { once } from "node:events";
import { errorEnvelopeSchema } from "@promptd/contract/schemas";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectionsWithin } from "../../src/http/sockets/limit-connections.ts";
import { until } from "../support/promptd-process.ts";
import {
  CREATE,
  ID,
  createPausedGetMe,
  exchangeRaw,
  openEdge,
  openSocket,
  readAnswers,
  sendRaw,
  startEdge,
  type EdgeServer,
} from "./http-edge-server.ts";
import { AUTH, CREATE_RUN, GET_CREDITS, GET_ME, POST_RUN } from "./raw-requests.ts";

const GET_ME_AND_CLOSE = `${GET_ME}Connection: close\r\n\r\n`;

let edge: EdgeServer;
beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge.http.close());

describe("connections above the limit of the process", () => {
  test("are closed at once, while those within it are served; the log says when that begins and ends", async () => {
    const own = await openEdge({ limits: { connectionsMax: 2 } });
    const first = await openSocket(own.port);
    const second = await openSocket(own.port);
    const above = await Promise.all([openSocket(own.port), openSocket(own.port)]);
    await Promise.all(above.map((socket) => once(socket.resume(), "close")));
    second.destroy();
    await once(second, "close");
    await until(async () => (await exchangeRaw(own.port, GET_ME_AND_CLOSE).catch(() => "")) !== "");
    first.destroy();
    expect(own.log.map(({ message }) => message).filter((message) => message !== "request")).toEqual([
      expect.stringMatching(/^no more connections are accepted: .*ulimit -n/),
      "connections are accepted again",
    ]);
  });

  test("are half of all open files, or all but 256", () => {
    expect([100, 256, 1_024, 1_048_576, Infinity].map(connectionsWithin)).toEqual([50, 128, 768, 1_048_320, Infinity]);
  });
});

describe("a request that is not valid HTTP/1.1 gets one 400 envelope, and the connection is closed", () => {
  test.each([
    ["headers of 20 KB", `${GET_ME}X-Long: ${"a".repeat(20_000)}\r\n\r\n`],
    ["3,000 headers", `${GET_ME}${"A:b\r\n".repeat(3_000)}\r\n`],
    ["1,200 short headers, which Node would accept", `${GET_ME}${"A:b\r\n".repeat(1_200)}\r\n`],
    ["an address of 1 MB", `GET /v1/runs?${"a".repeat(1_000_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ["no Host", `GET /v1/me HTTP/1.1\r\n${AUTH}\r\n`],
    ["two Hosts", `${GET_ME}Host: y\r\n\r\n`],
    ["Expect: x", `${POST_RUN}Expect: x\r\nContent-Length: 2\r\n\r\n{}`],
    ["Expect: 100-continue, x", `${POST_RUN}Expect: 100-continue, x\r\nContent-Length: 2\r\n\r\n{}`],
    ["two Expects", `${POST_RUN}Expect: 100-continue\r\nExpect: x\r\nContent-Length: 2\r\n\r\n{}`],
    ["chunks in HTTP/1.0", `${POST_RUN.replace("1.1", "1.0")}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ["obsolete folding", `${GET_ME}X-A: b\r\n  c\r\n\r\n`],
    ["bare LF", `GET /v1/me HTTP/1.1\nHost: x\n\n`],
    [
      "Content-Length and Transfer-Encoding",
      `${POST_RUN}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${CREATE_RUN}`,
    ],
    ["two Content-Lengths", `${POST_RUN}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd${CREATE_RUN}`],
    ["Transfer-Encoding: gzip", `${POST_RUN}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ["Transfer-Encoding: gzip alone", `${POST_RUN}Transfer-Encoding: gzip\r\n\r\n`],
    ["Transfer-Encoding: identity", `${POST_RUN}Transfer-Encoding: identity\r\n\r\n`],
    ["an unknown Transfer-Encoding", `${POST_RUN}Transfer-Encoding: xchunked\r\n\r\nabc`],
    ["an absolute URL with a user name", `GET http://a@other/v1/me HTTP/1.1\r\nHost: x\r\n${AUTH}\r\n`],
    ["the method BREW", `BREW /v1/me HTTP/1.1\r\nHost: x\r\n\r\n`],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["HTTP/0.9", "GET /v1/me\r\n\r\n"],
    ["TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["a NUL in a header", `GET /v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: a\0b\r\n\r\n`],
    ["bytes above 127 in the address", `GET /v1/\xff HTTP/1.1\r\nHost: x\r\n${AUTH}\r\n`],
  ])("%s", async (_name, request) => {
    const before = edge.calls.length;
    const answer = await sendRaw(edge.port, request);
    expect(answer.status).toBe(400);
    expect(errorEnvelopeSchema.parse(answer.body).status).toBe("BAD_REQUEST_ERROR");
    expect(answer.headers.get("connection")).toBe("close");
    expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(edge.calls.length).toBe(before);
  });

  test("CONNECT is a 404 envelope", async () => {
    const answer = await sendRaw(edge.port, "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n");
    expect([answer.status, answer.body.status]).toEqual([404, "NOT_FOUND_ERROR"]);
  });

  test("HTTP/1.0 without Host and OPTIONS * are valid", async () => {
    expect((await sendRaw(edge.port, `GET /v1/me HTTP/1.0\r\n${AUTH}\r\n`)).status).toBe(200);
    const options = await sendRaw(edge.port, "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(options.status).toBe(204);
  });

  test("a broken chunk in the body of an admitted request", async () => {
    const answer = await sendRaw(edge.port, `${POST_RUN}Transfer-Encoding: chunked\r\n\r\nZZ\r\n`);
    expect(answer.status).toBe(400);
  });
});

describe("two Authorization headers", () => {
  test("reach admission as two values, although Node silently drops the second", async () => {
    const request = `${GET_ME}authorization: Bearer other\r\nConnection: close\r\n\r\n`;
    expect((await sendRaw(edge.port, request)).status).toBe(401);
    expect(edge.entries.at(-1)?.authorization).toEqual(["Bearer good", "Bearer other"]);
  });
});

describe("a body that is not read", () => {
  const anonymous = "POST /v1/runs HTTP/1.1\r\nHost: x\r\n";

  test("does not delay 401: the answer comes before the body and closes the connection", async () => {
    const socket = await openSocket(edge.port);
    socket.write(`${anonymous}Content-Length: 30000000\r\n\r\n{`);
    const [chunk] = (await once(socket, "data")) as [Buffer];
    const [answer] = readAnswers(chunk.toString("latin1"));
    expect([answer?.status, answer?.headers.get("connection")]).toEqual([401, "close"]);
    socket.destroy();
  });

  test("is discarded for a moment, so that a caller who is still sending gets the 401", async () => {
    const own = await openEdge({ limits: { lingerMs: 5_000 } });
    const size = 8 * 1024 * 1024;
    const answer = await sendRaw(own.port, `${anonymous}Content-Length: ${size}\r\n\r\n`, Buffer.alloc(size, 0x20));
    expect(answer.status).toBe(401);
  });

  test("is not awaited for longer than the linger time", async () => {
    const own = await openEdge({ limits: { lingerMs: 50 } });
    const answer = await sendRaw(own.port, `${anonymous}Content-Length: 100\r\n\r\n`);
    expect(answer.status).toBe(401);
  });

  test("with too large a declared length is refused before its first byte", async () => {
    const own = await openEdge({ limits: { lingerMs: 50 } });
    const answer = await sendRaw(own.port, `${POST_RUN}Content-Length: 33554433\r\n\r\n`);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toBe("The request body is larger than 32 MiB (33,554,432 bytes).");
    expect(answer.body.data).toEqual({ reason: "BODY_TOO_LARGE", maxBytes: 33_554_432 });
  });

  test("too large without a length, or in endless chunks, is refused at the limit", async () => {
    const own = await openEdge({ limits: { lingerMs: 50 }, bodyBytesMax: { createRun: 100_000 } });
    const chunk = `10000\r\n${"a".repeat(65_536)}\r\n`;
    const answer = await sendRaw(own.port, `${POST_RUN}Transfer-Encoding: chunked\r\n\r\n`, chunk, chunk);
    expect([answer.status, answer.body.data]).toEqual([400, { reason: "BODY_TOO_LARGE", maxBytes: 100_000 }]);
    expect(answer.headers.get("connection")).toBe("close");
  });
});

describe("Expect: 100-continue", () => {
  const head = `Expect: 100-continue\r\nContent-Length: ${CREATE.length}\r\nConnection: close\r\n\r\n`;

  test("gets 100 only after admission", async () => {
    const socket = await openSocket(edge.port);
    socket.write(`${POST_RUN}${head}`);
    const [chunk] = (await once(socket, "data")) as [Buffer];
    expect(chunk.toString()).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    socket.write(CREATE);
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  test("with a Content-Length above the limit gets the refusal at once instead of 100", async () => {
    const own = await openEdge({ bodyBytesMax: { createRun: 100_000, cancelRun: 1_000 } });
    const waiting = (length: number) => `Expect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`;
    for (const [request, maxBytes] of [
      [`${POST_RUN}${waiting(100_001)}`, 100_000],
      [`POST /v1/runs/${ID}/cancel HTTP/1.1\r\nHost: x\r\n${AUTH}${waiting(1_001)}`, 1_000],
    ] as const) {
      const answer = await sendRaw(own.port, request);
      expect([answer.status, answer.body.data]).toEqual([400, { reason: "BODY_TOO_LARGE", maxBytes }]);
      expect(answer.headers.get("connection")).toBe("close");
    }
  });

  test("without a key gets 401 at once instead of 100", async () => {
    const answer = await sendRaw(edge.port, `POST /v1/runs HTTP/1.1\r\nHost: x\r\n${head}`);
    expect(answer.status).toBe(401);
  });
});

/** Opens a connection to write to piece by piece. @returns it with the answers that it receives until it ends. */
async function openHeard(port: number) {
  const socket = await openSocket(port);
  const pieces: Buffer[] = [];
  socket.on("data", (piece) => pieces.push(piece));
  const answers = once(socket, "close").then(() => readAnswers(Buffer.concat(pieces).toString("latin1")));
  return { socket, answers };
}

describe("keep-alive and stopping", () => {
  test("a connection serves several requests, pipelined ones in order", async () => {
    const text = await exchangeRaw(edge.port, `${GET_ME}\r\n${GET_CREDITS}Connection: close\r\n\r\n`);
    const answers = readAnswers(text);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers[1]?.body.data).toEqual({ credits: 7 });
  });

  test("waiting requests on one connection are limited: requests within the limit are answered, then comes one 429, then the end", async () => {
    const { getMe, arrived, release } = createPausedGetMe();
    const handled: string[] = [];
    const counted = async () => {
      handled.push("me");
      return getMe();
    };
    const own = await openEdge({ limits: { connectionRequestsMax: 3 }, handlers: { getMe: counted } });
    const received = exchangeRaw(own.port, `${GET_ME}\r\n`.repeat(2_000), `${GET_ME}\r\n`.repeat(2_000));
    await arrived;
    expect(own.http.openRequests).toBe(3);
    // Another connection is served meanwhile.
    await sendRaw(own.port, `${GET_CREDITS}Connection: close\r\n\r\n`);
    release();
    const answers = readAnswers(await received);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers[3]?.body.message).toContain("on this connection");
    expect(handled).toHaveLength(3);
    expect(own.log.filter(({ message }) => message.startsWith("request"))).toHaveLength(5);
  });

  test("a caller who hangs up with more than the limit gets nothing more", async () => {
    const { getMe, arrived, release } = createPausedGetMe();
    const own = await openEdge({ limits: { connectionRequestsMax: 3 }, handlers: { getMe } });
    const socket = await openSocket(own.port);
    socket.write(`${GET_ME}\r\n`.repeat(10));
    await arrived;
    socket.destroy();
    await until(() => Promise.resolve(own.http.openRequests === 0));
    expect(own.log.filter(({ message }) => message === "request refused on the socket")).toEqual([]);
    release();
  });

  test("a request that arrives when earlier requests are answered counts alone", async () => {
    const own = await openEdge({ limits: { connectionRequestsMax: 1 } });
    const socket = await openSocket(own.port);
    for (let nth = 1; nth <= 3; nth += 1) {
      socket.write(`${GET_ME}\r\n`);
      const [piece] = (await once(socket, "data")) as [Buffer];
      expect(readAnswers(piece.toString("latin1"))[0]?.status).toBe(200);
    }
    socket.destroy();
  });

  test("a file is opened when its answer is next on the connection, not before", async () => {
    const { getMe, arrived, release } = createPausedGetMe();
    let opened = 0;
    const openFile = async () => {
      opened += 1;
      return { status: 200, headers: { "Content-Length": "0" }, body: null } as const;
    };
    const own = await openEdge({ handlers: { getMe }, openFile });
    const file = "GET /files/a?b HTTP/1.1\r\nHost: x\r\n";
    const received = exchangeRaw(own.port, `${GET_ME}\r\n${file}\r\n${file}Connection: close\r\n\r\n`);
    await arrived;
    await sendRaw(own.port, `${GET_CREDITS}Connection: close\r\n\r\n`); // they were read
    expect(opened).toBe(0);
    release();
    expect(readAnswers(await received).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(opened).toBe(2);
  });

  test("a request for another protocol is answered in this one and ends the connection, and what came after it is not read", async () => {
    const request = `${GET_ME}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n${GET_ME}\r\n`;
    const answer = await sendRaw(edge.port, request);
    expect([answer.status, answer.headers.get("connection")]).toEqual([200, "close"]);
  });

  test("nothing is started behind a request whose answer ends the connection", async () => {
    const { getMe, arrived, release } = createPausedGetMe();
    const own = await openEdge({ handlers: { getMe } });
    const received = exchangeRaw(own.port, `${GET_ME}\r\n${GET_ME}Host: y\r\n\r\n${CREATE_RUN}`);
    await arrived;
    release();
    expect(readAnswers(await received).map(({ status }) => status)).toEqual([200, 400]);
    expect(own.calls).toEqual([]);
  });

  test("CONNECT behind a request does not cost that request its answer: it is answered, then CONNECT is refused", async () => {
    const { getMe, arrived, release } = createPausedGetMe();
    const own = await openEdge({ handlers: { getMe } });
    const received = exchangeRaw(own.port, `${GET_ME}\r\nCONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n`);
    await arrived;
    release();
    expect(readAnswers(await received).map(({ status }) => status)).toEqual([200, 404]);
  });

  test("invalid data after requests does not cost them their answers: they are answered, then the data is refused", async () => {
    const { getMe, arrived, release } = createPausedGetMe();
    const own = await openEdge({ handlers: { getMe } });
    const { socket, answers } = await openHeard(own.port);
    socket.write(`${GET_ME}\r\n${GET_ME}\r\n`);
    await arrived;
    socket.write("GARBAGE\r\n\r\nand more of it");
    await sendRaw(own.port, `${GET_CREDITS}Connection: close\r\n\r\n`); // it was read
    release();
    expect((await answers).map(({ status }) => status)).toEqual([200, 200, 400]);
  });

  test.each([
    ["that is not HTTP", "GARBAGE\r\n\r\n"],
    ["with a malformed header", "GET /v1/me HTTP/1.1\r\nHost x\r\n\r\n"],
    ["with two lengths", `${POST_RUN}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`],
    ["with a broken chunk", `${POST_RUN}Transfer-Encoding: chunked\r\n\r\nZZ\r\n`],
    ["without Host", "GET /v1/me HTTP/1.1\r\n\r\n"],
    ["with headers of 20 KB", `${GET_ME}X-Long: ${"a".repeat(20_000)}\r\n\r\n`],
  ])("a request %s in the packet of a valid one does not cost that one its answer", async (_name, malformed) => {
    for (const good of [`${GET_ME}\r\n`, CREATE_RUN]) {
      const answers = readAnswers(await exchangeRaw(edge.port, good + malformed));
      expect(answers.map(({ status }) => status)).toEqual([200, 400]);
    }
    const { getMe, arrived, release } = createPausedGetMe();
    const own = await openEdge({ handlers: { getMe } });
    const received = exchangeRaw(own.port, `${GET_ME}\r\n${malformed}`);
    await arrived;
    await sendRaw(own.port, `${GET_CREDITS}Connection: close\r\n\r\n`); // it was read
    release();
    expect(readAnswers(await received).map(({ status }) => status)).toEqual([200, 400]);
  });

  test("close ends idle connections and waits for open requests, which are answered", async () => {
    const { getMe, arrived, release } = createPausedGetMe();
    const own = await openEdge({ limits: { silentMs: 20 }, handlers: { getMe } });
    const idle = await openSocket(own.port);
    const idleEnded = once(idle, "close");
    idle.resume();
    const open = exchangeRaw(own.port, `${GET_ME}\r\n`);
    await arrived;
    const closed = own.http.close();
    await idleEnded;
    release();
    const [answer] = readAnswers(await open);
    expect([answer?.status, answer?.headers.get("connection")]).toEqual([200, "close"]);
    await closed;
  });

  test("close answers every request of a connection on which several wait, and starts none behind the last answer", async () => {
    const { getMe, arrived, release } = createPausedGetMe();
    const own = await openEdge({ handlers: { getMe } });
    const { socket, answers } = await openHeard(own.port);
    const notice = Promise.withResolvers<void>();
    const getCredits = `${GET_CREDITS}\r\n`;
    socket.write(`${GET_ME}\r\n${GET_ME}\r\n`);
    await arrived;
    const closed = own.http.close({ notice: notice.promise });
    socket.write(getCredits); // is answered at once and closes the connection: nothing is behind it
    await until(() => Promise.resolve(own.calls.length === 1));
    socket.write(getCredits);
    await sendRaw(own.port, `${GET_ME.replace("/v1/me", "/v1/resources")}Connection: close\r\n\r\n`); // it was read
    notice.resolve();
    release();
    const read = await answers;
    expect(read.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(read.map(({ headers }) => headers.get("connection"))).toEqual(["keep-alive", "keep-alive", "close"]);
    expect(own.calls.map(({ name }) => name)).toEqual(["getCredits", "getResources"]);
    await closed;
  });

  test("a request that was on its way when the server started to close is served and never gets a 503", async () => {
    const own = await openEdge();
    const socket = await openSocket(own.port);
    socket.write(`${GET_ME}X-Part: `);
    // A second connection's answer proves that the server has read the first part as well.
    await sendRaw(own.port, `${GET_ME}Connection: close\r\n\r\n`);
    const closed = own.http.close();
    socket.write("two\r\n\r\n");
    const [chunk] = (await once(socket, "data")) as [Buffer];
    expect(readAnswers(chunk.toString("latin1"))[0]?.status).toBe(200);
    await closed;
  });

  test("a caller that never sends the rest of its request does not hold up closing", async () => {
    const own = await openEdge({ limits: { requestMs: 100, headersMs: 100, checkEveryMs: 10_000 } });
    const socket = await openSocket(own.port);
    socket.resume();
    socket.write(`${POST_RUN}Content-Length: 10\r\n\r\n{`);
    await sendRaw(own.port, `${GET_ME}Connection: close\r\n\r\n`);
    const ended = once(socket, "close");
    await own.http.close();
    await ended;
    expect(own.http.openRequests).toBe(0);
  });

  test("listening on a taken port fails with its code", async () => {
    await expect(startEdge({}, { port: edge.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  });
});
