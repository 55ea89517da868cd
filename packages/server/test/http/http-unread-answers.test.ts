/** The memory for answers: how much an account can request without reading it. */
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { errorEnvelopeSchema } from "@promptd/contract/schemas";
import { expect, test } from "vitest";
import type { Handlers } from "../../src/http/endpoint.ts";
import type { HttpServerOptions } from "../../src/http/server.ts";
import { eventually } from "../support/eventually.ts";
import { admitAnyone, ID, ME, openEdge, openRequest, type EdgeServer } from "./http-edge-server.ts";

const MIB = 1_048_576;
/** More than the kernel's buffers take, so that most of it stays in the process. */
const ANSWER = "x".repeat(20 * MIB);

let own: EdgeServer;

const EACH = { accountUnreadBytesMax: 30 * MIB };
const TOGETHER = { accountUnreadBytesMax: 60 * MIB, totalUnreadBytesMax: 30 * MIB };

async function start(handlers: Partial<Handlers>, limits: HttpServerOptions["limits"] = EACH): Promise<void> {
  const options = { admit: admitAnyone, checkResponses: false, handlers };
  own = await openEdge({ ...options, limits: { ...limits, checkEveryMs: 20 } });
}

/** @param beforeAnswer what a large answer waits for. */
function largeMe(beforeAnswer: Promise<void> = Promise.resolve()): Partial<Handlers> {
  const getMe = async () => {
    await beforeAnswer;
    return { data: { ...ME, username: ANSWER } };
  };
  return { getMe };
}

/** A caller who requests a large answer and does not read it. */
async function leaveUnread(account: string, path = "/v1/me"): Promise<Socket> {
  return (await openRequest(own.port, account, `GET ${path}`)).pause();
}
const askCredits = (account: string) => own.get("/v1/me/credits", { authorization: `Bearer ${account}` });

test("an account that does not read its responses is refused until it reads or closes them, and nobody else is", async () => {
  await start(largeMe());
  const [read, closed] = [await leaveUnread("a"), await leaveUnread("a")];
  const refusal = await eventually(async () => {
    const response = await askCredits("a");
    expect(response.status).toBe(429);
    return response;
  });
  const { data, message } = errorEnvelopeSchema.parse(await refusal.json());
  expect({ data, message }).toEqual({
    data: { reason: "SERVER_BUSY" },
    message:
      "The account has more than 30 MiB of responses that it has not read. Read them or close their connections, then retry.",
  });
  expect((await askCredits("b")).status).toBe(200);
  closed.destroy();
  await eventually(async () => expect((await askCredits("a")).status).toBe(200));
  await leaveUnread("a");
  await eventually(async () => expect((await askCredits("a")).status).toBe(429));
  read.resume();
  await eventually(async () => expect((await askCredits("a")).status).toBe(200));
});

test("an event or a line of results that is not read counts like a response", async () => {
  const followRun: Handlers["followRun"] = async () => ({
    status: 200,
    headers: { "content-type": "text/event-stream" },
    body: Readable.from([ANSWER, "the end"]),
  });
  await start({ followRun });
  const follow = `/v1/runs/${ID}/events`;
  const [read, closed] = [await leaveUnread("a", follow), await leaveUnread("a", follow)];
  await eventually(async () => expect((await askCredits("a")).status).toBe(429));
  expect((await askCredits("b")).status).toBe(200);
  closed.destroy();
  await eventually(async () => expect((await askCredits("a")).status).toBe(200));
  await leaveUnread("a", follow);
  await eventually(async () => expect((await askCredits("a")).status).toBe(429));
  read.resume();
  await eventually(async () => expect((await askCredits("a")).status).toBe(200));
});

test("responses to requests that were already waiting are cut off beyond twice the limit", async () => {
  const release = Promise.withResolvers<void>();
  await start(largeMe(release.promise));
  for (let count = 0; count < 5; count += 1) await leaveUnread("a");
  await eventually(() => expect(own.http.openRequests).toBe(5));
  release.resolve();
  await eventually(() => expect(own.http.openRequests).toBe(2));
  expect(own.log.filter(({ fields }) => fields["cut"] === true)).toHaveLength(3);
});

test("when all accounts together have too many unread responses, those that have any are refused, and nobody else is", async () => {
  await start(largeMe(), TOGETHER);
  const closed = await leaveUnread("a");
  await leaveUnread("b");
  const refusal = await eventually(async () => {
    const response = await askCredits("b");
    expect(response.status).toBe(429);
    return response;
  });
  expect(errorEnvelopeSchema.parse(await refusal.json()).message).toBe(
    "The account has responses that it has not read, and all accounts together have more than 30 MiB of them. Read them or close their connections, then retry.",
  );
  expect((await askCredits("c")).status).toBe(200);
  closed.destroy();
  await eventually(async () => expect((await askCredits("b")).status).toBe(200));
});

test("responses to waiting requests of many accounts are cut off beyond twice the limit of all accounts", async () => {
  const release = Promise.withResolvers<void>();
  await start(largeMe(release.promise), TOGETHER);
  for (const account of ["a", "b", "c", "d", "e"]) await leaveUnread(account);
  await eventually(() => expect(own.http.openRequests).toBe(5));
  release.resolve();
  await eventually(() => expect(own.http.openRequests).toBe(2));
});

test("responses that their caller reads never count, however many there are", async () => {
  await start(largeMe());
  for (let count = 0; count < 5; count += 1) {
    const response = await own.get("/v1/me", { authorization: "Bearer a" });
    expect((await response.text()).length).toBeGreaterThan(ANSWER.length);
  }
  expect((await askCredits("a")).status).toBe(200);
});
