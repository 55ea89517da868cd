/** The memory for bodies: how much callers who send slowly or send a lot may use, and when it is released. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { errorEnvelopeSchema } from "@promptd/contract/schemas";
import { describe, expect, test } from "vitest";
import type { RequestContext } from "../../src/http/endpoint.ts";
import {
  admitAnyone,
  ID,
  openRequest,
  readAnswers,
  openEdge,
  type EdgeServer,
  type RawAnswer,
} from "./http-edge-server.ts";
import { until } from "../support/promptd-process.ts";

const KIB = 1_024;
/** Two bodies of 150 KiB fit into an account's share, and three into the total. */
const LIMITS = {
  accountBodyBytesMax: 320 * KIB,
  totalBodyBytesMax: 480 * KIB,
  bodyWaitMs: 1,
  bodyPassMs: 0,
  lingerMs: 50,
  halfClosedMs: 50,
};
const RUN = { runId: ID, outputs: [], runStatus: "queued", tokens: 0 } as const;

/** A create body of exactly this many bytes. */
function bodyOf(bytes: number): string {
  const empty = JSON.stringify({ promptVersionId: ID, inputs: {}, unlisted: "" });
  return empty.replace('"unlisted":""', `"unlisted":"${"z".repeat(bytes - empty.length)}"`);
}
const LARGE = bodyOf(150 * KIB);

let own: EdgeServer;
const start = async (overrides: Parameters<typeof openEdge>[0] = {}) => {
  own = await openEdge({ admit: admitAnyone, limits: LIMITS, ...overrides });
};

const begin = (account: string, ...headers: readonly string[]) =>
  openRequest(own.port, account, "POST /v1/runs", ...headers);
const beginAsking = (account: string, bytes: number) =>
  begin(account, "Expect: 100-continue", `Content-Length: ${bytes}`);

/** A caller who asks before sending, so that the answer shows whether the server made room for the body. */
async function ask(account: string, bytes = LARGE.length) {
  const socket = await beginAsking(account, bytes);
  const [chunk] = (await once(socket, "data")) as [Buffer];
  const [answer] = readAnswers(chunk.toString("latin1"));
  return { socket, answer: answer?.status === 100 ? null : (answer ?? null) };
}

/** Starts to send, and stalls. */
async function stall(account: string, bytes = LARGE.length): Promise<Socket> {
  const { socket, answer } = await ask(account, bytes);
  expect(answer).toBeNull();
  socket.write(LARGE.slice(0, 100 * KIB));
  return socket;
}

const send = (account: string, body: string) => own.post("/v1/runs", body, { authorization: `Bearer ${account}` });

function expectBusy(answer: RawAnswer | null, message: string): void {
  expect(answer?.status).toBe(429);
  const error = errorEnvelopeSchema.parse(answer?.body);
  expect([error.status, error.data]).toEqual(["TOO_MANY_REQUESTS_ERROR", { reason: "SERVER_BUSY" }]);
  expect(error.message).toContain(message);
  expect(answer?.headers.get("retry-after")).toBe("1");
  expect(answer?.headers.get("x-should-retry")).toBe("true");
  expect(answer?.headers.get("connection")).toBe("close");
}

describe("the memory for bodies", () => {
  test("has a share for each account: a stalled account is refused more, and others are served", async () => {
    await start();
    await stall("slow");
    await stall("slow");
    expectBusy((await ask("slow")).answer, "The account is sending more than");
    expect((await send("quick", LARGE)).status).toBe(200);
  });

  test("never runs out for small bodies", async () => {
    await start();
    await stall("slow");
    await stall("slow");
    await stall("other");
    expect((await send("slow", bodyOf(64 * KIB))).status).toBe(200);
    expect((await send("third", bodyOf(64 * KIB))).status).toBe(200);
  });

  test("is waited for: concurrent bodies larger than the share are received one after the other", async () => {
    await start({ limits: { ...LIMITS, bodyWaitMs: 60_000 } });
    const answers = await Promise.all(Array.from({ length: 8 }, () => send("a", bodyOf(300 * KIB))));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
  });

  test("is not held up by an account that is at its own share", async () => {
    await start({ limits: { ...LIMITS, bodyWaitMs: 60_000 } });
    await stall("slow");
    const stalled = await stall("slow");
    const next = send("slow", LARGE);
    expect((await send("quick", LARGE)).status).toBe(200);
    stalled.destroy();
    expect((await next).status).toBe(200);
  });

  test("is given to a small body at once while a large body waits for more than is free", async () => {
    await start({ limits: { ...LIMITS, bodyWaitMs: 60_000, bodyPassMs: 60_000 } });
    await stall("a");
    await stall("b");
    await beginAsking("large", 300 * KIB);
    await until(() => own.http.openRequests === 3);
    expect((await send("small", LARGE)).status).toBe(200);
    expect((await send("large", LARGE)).status).toBe(200);
  });

  test("is reserved for a large body that has waited long enough: it is received before smaller bodies that came later", async () => {
    await start({ limits: { ...LIMITS, bodyWaitMs: 60_000 } });
    const stalled = await stall("a");
    await stall("b");
    const admitted: string[] = [];
    const admit = async (account: string, bytes: number) => {
      const { socket, answer } = await ask(account, bytes);
      expect(answer).toBeNull();
      admitted.push(account);
      return socket;
    };
    const large = admit("large", 300 * KIB);
    await until(() => own.http.openRequests === 3);
    const small = admit("small", LARGE.length); // there is room for it, but not ahead of the large one
    await until(() => own.http.openRequests === 4);
    expect((await send("other", bodyOf(64 * KIB))).status).toBe(200);
    stalled.destroy();
    (await large).destroy();
    await small;
    expect(admitted).toEqual(["large", "small"]);
  });

  test("is not delayed by a caller who has disconnected", async () => {
    await start({ limits: { ...LIMITS, bodyWaitMs: 60_000 } });
    for (const account of ["a", "b"]) await stall(account);
    const gone = await beginAsking("large", 300 * KIB);
    await until(() => own.http.openRequests === 3);
    const next = send("small", LARGE);
    await until(() => own.http.openRequests === 4);
    gone.destroy();
    expect((await next).status).toBe(200);
  });

  test("is not lost if a caller hangs up while waiting for it", async () => {
    await start({ limits: { ...LIMITS, bodyWaitMs: 60_000 } });
    const stalled = [await stall("a"), await stall("a")];
    const gone = await beginAsking("a", LARGE.length);
    await until(() => own.http.openRequests === 3);
    gone.destroy();
    await until(() => own.http.openRequests === 2);
    for (const socket of stalled) socket.destroy();
    expect((await send("a", bodyOf(300 * KIB))).status).toBe(200);
  });

  test("is limited for all accounts together", async () => {
    await start();
    for (const account of ["a", "b", "c"]) await stall(account);
    expectBusy((await ask("d")).answer, "The server is busy.");
    const refused = await send("d", LARGE);
    expect(refused.status).toBe(429);
  });

  test("is released when a caller hangs up or times out", async () => {
    await start({ limits: { ...LIMITS, requestMs: 300, headersMs: 300, checkEveryMs: 20 } });
    const sendMost = async () => (await send("a", bodyOf(300 * KIB))).status;
    for (const socket of [await stall("a"), await stall("a")]) socket.destroy();
    await until(async () => (await sendMost()) === 200);
    await stall("a");
    const slow = await stall("a");
    await once(slow, "close"); // it never sent the rest
    await until(async () => (await sendMost()) === 200);
    expect(own.http.openRequests).toBe(0);
  });

  test("is released with the answer, whatever the answer is", async () => {
    await start();
    for (let round = 0; round < 5; round += 1) {
      expect((await send("a", bodyOf(300 * KIB))).status).toBe(200);
      expect((await send("a", "x".repeat(300 * KIB))).status).toBe(400);
      expect((await send("a", `[${" ".repeat(300 * KIB)}]`)).status).toBe(422);
    }
  });

  test("is released as soon as the body is processed, while the request waits", async () => {
    const arrived = [Promise.withResolvers<RequestContext>(), Promise.withResolvers<RequestContext>()];
    const end = Promise.withResolvers<void>();
    let calls = 0;
    const createRun = async (_input: unknown, context: RequestContext) => {
      arrived[calls]?.resolve(context);
      calls += 1;
      await end.promise;
      return { data: RUN };
    };
    await start({ handlers: { createRun } });
    const first = send("a", bodyOf(300 * KIB));
    const context = await arrived[0]?.promise;
    expect((await send("a", LARGE)).status).toBe(429); // the handler still has the first body
    context?.releaseBody();
    const second = send("a", LARGE);
    await arrived[1]?.promise;
    end.resolve();
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
  });

  test("is reserved step by step for a chunked body, which is refused when its share is used up", async () => {
    await start();
    await stall("a");
    const socket = await begin("a", "Transfer-Encoding: chunked");
    const answered = once(socket, "data");
    for (let i = 0; i < 5; i += 1) socket.write(`10000\r\n${"z".repeat(65_536)}\r\n`);
    const [chunk] = (await answered) as [Buffer];
    expectBusy(readAnswers(chunk.toString("latin1"))[0] ?? null, "The account is sending more than");
    expect((await send("a", LARGE)).status).toBe(200); // what the refused body had reserved is free again
  });
});

describe("a body that arrives in pieces", () => {
  test.each([
    ["with its length", `Content-Length: ${LARGE.length}`, (piece: string) => piece, ""],
    [
      "in chunks",
      "Transfer-Encoding: chunked",
      (piece: string) => `${piece.length.toString(16)}\r\n${piece}\r\n`,
      "0\r\n\r\n",
    ],
  ])("%s is assembled as it was sent", async (_name, header, wrap, last) => {
    await start();
    const text = bodyOf(150 * KIB).replace("{}", JSON.stringify({ textInputs: { order: "abc".repeat(30_000) } }));
    const sized = header.replace(String(LARGE.length), String(text.length));
    const socket = (await begin("a", sized)).setNoDelay(true);
    const answered = once(socket, "data");
    for (let at = 0; at < text.length; at += 7_919) {
      await new Promise((resolve) => socket.write(wrap(text.slice(at, at + 7_919)), resolve));
    }
    socket.write(last);
    const [chunk] = (await answered) as [Buffer];
    expect(readAnswers(chunk.toString("latin1"))[0]?.status).toBe(200);
    expect(own.calls.at(-1)?.input.body).toMatchObject({ inputs: { textInputs: { order: "abc".repeat(30_000) } } });
  });
});
