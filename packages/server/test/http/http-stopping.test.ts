/** How the HTTP server stops: what is answered, what is closed and when, whatever the process was doing meanwhile. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { setImmediate as nextCycle, setTimeout as wait } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createPausedGetMe, ID, ME, openSocket, readAnswers, sendRaw, startEdge } from "./http-edge-server.ts";
import { until } from "../support/promptd-process.ts";

const GET_ME = "GET /v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n";

/** Opens connections that send their request at once; each resolves with what it received until it was closed. */
function sendAtOnce(port: number, count: number): Promise<string>[] {
  return Array.from({ length: count }, async () => {
    const socket = connect(port, "127.0.0.1");
    socket.write(GET_ME);
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
    await once(socket, "close"); // rejects if the connection was reset
    return text;
  });
}

/** Blocks this process, as pausing the machine would. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const statuses = (texts: readonly string[]) => texts.map((text) => readAnswers(text).map(({ status }) => status));

/** A connection that the server has accepted and that has sent nothing. */
async function openIdle(port: number): Promise<Socket> {
  const socket = await openSocket(port);
  await sendRaw(port, GET_ME.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")); // arrived later, so the other connection was accepted before
  return socket.resume();
}

describe("a server that is asked to stop", () => {
  test("continues to serve during the notice, and closes each connection with its answer", async () => {
    const own = await startEdge();
    const notice = Promise.withResolvers<void>();
    let haveWaitsEnded = false;
    const closed = own.http.close({ notice: notice.promise, endWaits: () => (haveWaitsEnded = true) });
    const answer = await sendRaw(own.port, GET_ME);
    expect([answer.status, answer.headers.get("connection")]).toEqual([200, "close"]);
    expect(haveWaitsEnded).toBe(false);
    notice.resolve();
    await closed;
    expect(haveWaitsEnded).toBe(true);
  });

  test("answers fifty connections that arrived in one event loop cycle, after a notice during which it was paused", async () => {
    const own = await startEdge();
    const noticeMs = 20;
    const closed = own.http.close({ notice: wait(noticeMs) });
    const sent = sendAtOnce(own.port, 50);
    await Promise.resolve(); // the kernel has the connections, and the server has accepted none
    process.nextTick(standStill, 2 * noticeMs);
    expect(statuses(await Promise.all(sent))).toEqual(sent.map(() => [200]));
    await closed;
  });

  test("no longer listens when it ends the waits, so that the callers it answers go elsewhere", async () => {
    const own = await startEdge();
    const refused = Promise.withResolvers<unknown>();
    await own.http.close({
      endWaits: () => void connect(own.port, "127.0.0.1").on("connect", refused.reject).on("error", refused.resolve),
    });
    expect(await refused.promise).toMatchObject({ code: "ECONNREFUSED" });
  });

  test("ends waits before it closes their connections", async () => {
    const { getMe, arrived, release } = createPausedGetMe();
    const own = await startEdge({ handlers: { getMe } });
    const [sent] = sendAtOnce(own.port, 1);
    await arrived;
    await own.http.close({ endWaits: release });
    expect(statuses([(await sent) ?? ""])).toEqual([[200]]);
  });

  test("waits a while for the request on a connection that has sent nothing yet, and answers it", async () => {
    const own = await startEdge();
    const silent = await openIdle(own.port);
    const haveWaitsEnded = Promise.withResolvers<void>();
    const closed = own.http.close({ endWaits: haveWaitsEnded.resolve });
    await haveWaitsEnded.promise;
    for (let cycle = 0; cycle < 1_000; cycle += 1) await nextCycle(); // longer than anything without a timer takes
    silent.write(GET_ME);
    const [chunk] = (await once(silent, "data")) as [Buffer];
    expect(statuses([chunk.toString("latin1")])).toEqual([[200]]);
    await closed;
  });

  test("closes a connection that continues to send nothing, and a connection that never sends a complete request", async () => {
    for (const part of ["", "GET /v1/me HTTP/1.1\r\n", GET_ME.replace("\r\n\r\n", "\r\nContent-Length: 2\r\n\r\n{")]) {
      const limits =
        part === "" ? { silentMs: 20, requestMs: 60_000 } : { silentMs: 0, requestMs: 100, headersMs: 100 };
      const own = await startEdge({ limits: { ...limits, checkEveryMs: 60_000 } });
      const socket = await openIdle(own.port);
      socket.write(part);
      const ended = once(socket, "close");
      await own.http.close();
      await ended;
      expect(own.http.openRequests).toBe(0);
    }
  });

  test("finally closes downloads whose callers read a little now and then, and requests that are never answered", async () => {
    const [opened, requested] = [Promise.withResolvers<Readable>(), Promise.withResolvers<void>()];
    const openFile = async () => {
      const body = new Readable({ read: () => void body.push(Buffer.alloc(65_536)) });
      opened.resolve(body);
      return { status: 200 as const, headers: { "Content-Type": "image/png" }, body };
    };
    const getMe = async () => {
      requested.resolve();
      return Promise.withResolvers<never>().promise;
    };
    const own = await startEdge({ openFile, handlers: { getMe }, limits: { stopMsMin: 50, slowReaderMs: 60_000 } });
    const socket = await openSocket(own.port);
    socket.write(`GET /files/${ID}.png?e=1&k=1&s=x HTTP/1.1\r\nHost: x\r\n\r\n`);
    const [waiting] = sendAtOnce(own.port, 1);
    const body = await opened.promise;
    await requested.promise;
    await once(socket, "readable");
    socket.read(1);
    await own.http.close({ graceMs: 0 });
    expect([await waiting, own.http.openRequests]).toEqual(["", 0]);
    await until(() => body.destroyed); // and its source
    socket.destroy();
  });

  test("gives pending answers the whole grace period", async () => {
    const [requested, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const getMe = async () => {
      requested.resolve();
      await answer.promise;
      return { data: ME };
    };
    const own = await startEdge({ handlers: { getMe }, limits: { stopMsMin: 0 } });
    const [sent] = sendAtOnce(own.port, 1);
    await requested.promise;
    const haveWaitsEnded = Promise.withResolvers<void>();
    const closed = own.http.close({ graceMs: 60_000, endWaits: haveWaitsEnded.resolve });
    await haveWaitsEnded.promise;
    for (let cycle = 0; cycle < 1_000; cycle += 1) await nextCycle();
    answer.resolve();
    expect(statuses([(await sent) ?? ""])).toEqual([[200]]);
    await closed;
  });

  test("does not wait for a connection that has already had its answer", async () => {
    const own = await startEdge({ limits: { silentMs: 60_000 } });
    const idle = await openSocket(own.port);
    idle.write(GET_ME);
    await once(idle, "data");
    const ended = once(idle, "end");
    await own.http.close();
    expect(await ended).toEqual([]);
  });

  test("stops once, however often it is asked", async () => {
    const own = await startEdge();
    let times = 0;
    const endWaits = () => (times += 1);
    await Promise.all([own.http.close({ endWaits }), own.http.close({ endWaits })]);
    expect(times).toBe(1);
  });
});
