/** Files of a run: an address anybody can read for its time, then 410 (specification, "Limits", image URL lifetime). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { imagePrompt } from "../prompts/prompt-files.ts";
import { bodyOf, errorOf, get } from "./requests.ts";

const DAY_MS = 24 * 3_600_000;
/** A whole minute, so that the text of the 410 is known; far ahead, since the sweeper goes by the database's clock. */
let nowMs = Date.UTC(2126, 10, 20, 10, 15);

let server: TestServer;
let caller: TestCaller;
let runId = "";
let address = "";

beforeAll(async () => {
  server = await startTestServer({ clock: { nowMs: () => nowMs } });
  caller = await server.createCaller();
  const { promptVersionId } = await server.publish(imagePrompt());
  const run = await caller.client.runs.create(bodyOf(promptVersionId));
  runId = run.runId;
  address = run.outputs[0]?.data ?? "";
});
afterAll(() => server.close());

/** Through the client's own sending, so that the answer is held to the contract. */
const read = (url: string, headers: Record<string, string | null> = {}, method = "GET") =>
  caller.client.request({
    method,
    path: new URL(url).pathname + new URL(url).search,
    headers: { authorization: null, ...headers },
  });

describe("the address of a file", () => {
  test("is under the public address, ends in its type, and expires 24 hours after generation", () => {
    const url = new URL(address);
    expect(url.origin).toBe(server.url);
    expect(url.pathname).toMatch(/^\/files\/[0-9a-f-]{36}\.png$/);
    expect([...url.searchParams.keys()]).toEqual(["e", "k", "s"]);
    expect(Number(url.searchParams.get("e")) * 1_000).toBe(nowMs + DAY_MS);
  });

  test("never comes from the Host header", async () => {
    const answer = await get(caller.client, `/v1/runs/${runId}`, { "x-forwarded-host": "evil.example" });
    expect(answer.text).not.toContain("evil.example");
  });

  test("is the same whenever the run is read: reading never extends it", async () => {
    nowMs += 1_000;
    expect((await caller.client.runs.get(runId)).outputs[0]?.data).toBe(address);
    expect((await caller.client.runs.list()).rows[0]?.outputs[0]?.data).toBe(address);
  });

  test("needs no key, and says how to keep and show the file", async () => {
    const answer = await read(address);
    expect(answer.httpStatus).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "image/png",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; sandbox",
      "cache-control": `public, max-age=${DAY_MS / 1_000 - 1}, immutable`,
      "access-control-allow-origin": "*",
    });
  });

  test("supports HEAD and ranges", async () => {
    const head = await read(address, {}, "HEAD");
    expect([head.httpStatus, head.text]).toEqual([200, ""]);
    const part = await fetch(address, { headers: { range: "bytes=1-3" } });
    expect([part.status, await part.text()]).toEqual([206, "PNG"]);
    expect(part.headers.get("content-range")).toBe(`bytes 1-3/${head.headers.get("content-length")}`);
  });

  test("can be read by a page from another origin", async () => {
    const answer = await read(address, { origin: "https://app.example.org" });
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
  });
});

describe("404 is the answer to", () => {
  const change = (edit: (url: URL) => void) => {
    const url = new URL(address);
    edit(url);
    return url.href;
  };
  test.each([
    ["another signature", (url: URL) => url.searchParams.set("s", "A".repeat(22))],
    ["a later expiry", (url: URL) => url.searchParams.set("e", "9999999999")],
    ["another key", (url: URL) => url.searchParams.set("k", "2")],
    ["no signature", (url: URL) => (url.search = "")],
    ["another extension", (url: URL) => (url.pathname = url.pathname.replace(".png", ".mp4"))],
    ["another file", (url: URL) => (url.pathname = url.pathname.replace(/[0-9a-f]{4}\.png/, "0000.png"))],
    ["a path that climbs out of the store", (url: URL) => (url.pathname = "/files/..%2f..%2fpg%2fPG_VERSION")],
  ])("%s", async (_, edit) => {
    const answer = await read(change(edit));
    expect(answer.httpStatus).toBe(404);
    expect(errorOf(answer)).toMatchObject({ status: "NOT_FOUND_ERROR", data: null });
  });
});

// The last tests: time moves on for good.
describe("after 24 hours", () => {
  test("up to the second before, the file is available", async () => {
    nowMs = Date.UTC(2126, 10, 21, 10, 15) - 1;
    expect((await read(address)).httpStatus).toBe(200);
  });

  test("the address is 410 FILE_EXPIRED that says when and why", async () => {
    nowMs = Date.UTC(2126, 10, 21, 10, 15);
    const answer = await read(address);
    expect(answer.httpStatus).toBe(410);
    expect(errorOf(answer)).toEqual({
      status: "GONE_ERROR",
      message:
        "This file expired on 2126-11-21 at 10:15 UTC. A run's files are available for 24 hours. A prompt's sample gets a new address every day.",
      data: { reason: "FILE_EXPIRED" },
    });
  });

  test("a wrong signature is still 404, so that 410 does not reveal which files exist", async () => {
    const url = new URL(address);
    url.searchParams.set("s", "A".repeat(22));
    expect((await read(url.href)).httpStatus).toBe(404);
  });

  test("the run still lists the address", async () => {
    const run = await caller.client.runs.get(runId);
    expect(run).toMatchObject({ runStatus: "succeeded", outputs: [{ type: "image", data: address }] });
  });
});

test("PROMPTD_FILE_TTL_SECONDS shortens the life of a file: an address that worked returns 410", async () => {
  const short = await startTestServer({ environment: { PROMPTD_FILE_TTL_SECONDS: "2" } });
  try {
    const { client } = await short.createCaller();
    const { promptVersionId } = await short.publish(imagePrompt());
    const run = await client.runs.create(bodyOf(promptVersionId));
    const { pathname, search } = new URL(run.outputs[0]?.data ?? "");
    const ask = () => client.request({ method: "GET", path: pathname + search, headers: { authorization: null } });
    expect((await ask()).httpStatus).toBe(200);
    await expect.poll(async () => (await ask()).httpStatus).toBe(410);
    expect(errorOf(await ask()).message).toContain("A run's files are available for 2 seconds.");
  } finally {
    await short.close();
  }
});
