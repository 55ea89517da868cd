/** Where a request says it goes: the forms of its target (RFC 9112, section 3.2) and its Host. */
import { errorEnvelopeSchema } from "@promptd/contract/schemas";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HASH, ID, sendRaw, startEdge, type EdgeServer } from "./http-edge-server.ts";

let edge: EdgeServer;
beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge.http.close());

const END = "Connection: close\r\n\r\n";
const AUTH = "Authorization: Bearer good\r\n";

const ask = (target: string, { method = "GET", headers = AUTH, host = "Host: x\r\n" } = {}) =>
  sendRaw(edge.port, `${method} ${target} HTTP/1.1\r\n${host}${headers}${END}`);

/** Returns the message of a 400; the connection is closed after it. */
function refusal(answer: Awaited<ReturnType<typeof ask>>): string {
  const { status, message } = errorEnvelopeSchema.parse(answer.body);
  expect([answer.status, status, answer.headers.get("connection")]).toEqual([400, "BAD_REQUEST_ERROR", "close"]);
  return message;
}

describe("a request target in absolute form", () => {
  test.each([
    ["http", "http://other/v1/me"],
    ["https, with a port", "https://api.example.org:8443/v1/me"],
    ["a scheme in upper case", "HTTP://OTHER/v1/me"],
    ["an IPv6 address", "http://[::1]:8787/v1/me"],
    ["repeated and trailing slashes", "http://other//v1//me/"],
    ["a percent-encoded path", "http://other/v1/m%65"],
  ])("with %s is served for its path, whatever its host", async (_name, target) => {
    const answer = await ask(target);
    expect([answer.status, answer.body.status]).toEqual([200, "SUCCESS"]);
    expect(edge.calls.at(-1)?.name).toBe("getMe");
    expect((await ask(target, { headers: "" })).status).toBe(401);
  });

  test("keeps its query and its parameters", async () => {
    expect((await ask("http://other/v1/runs?limit=7")).status).toBe(200);
    expect(edge.calls.at(-1)?.input.query).toMatchObject({ limit: 7 });
    expect((await ask(`http://other/v1/runs/${ID}`)).status).toBe(200);
    expect(edge.calls.at(-1)?.input.params).toEqual({ runId: ID });
  });

  test("without a path is the root, and OPTIONS is answered as for any other target", async () => {
    expect((await ask("http://other")).status).toBe(404);
    expect((await ask("http://other?a=/v1/me")).body.message).toBe("Unrecognized request: GET /.");
    expect((await ask("http://other", { method: "OPTIONS" })).status).toBe(204);
    expect((await ask("http://other/v1/me", { method: "OPTIONS" })).status).toBe(204);
  });

  test("with a path outside /v1 needs no key, as in origin form", async () => {
    expect((await ask("http://other/healthz", { headers: "" })).status).toBe(200);
  });

  test("gets the headers of every /v1 answer", async () => {
    const answer = await ask("http://other/v1/me", { headers: `${AUTH}cli-agent: resources_hash=old\r\n` });
    expect(answer.headers.get("action-require")).toBe("update-resources");
    const current = await ask("http://other/v1/me", { headers: `${AUTH}cli-agent: resources_hash=${HASH}\r\n` });
    expect(current.headers.get("action-require")).toBeNull();
  });

  test.each([
    "http://other/v1",
    "http://other/v1/",
    "http://other//v1//nothing",
    "http://other/%76%31/me",
    "http://other/v1%2Fme",
    "http://v1/v1/nothing",
  ])("%s does not bypass authentication: 401 without a key, as in origin form", async (target) => {
    const path = target.slice(target.indexOf("/", "http://".length));
    for (const spelling of [target, path]) {
      const answer = await ask(spelling, { headers: "" });
      expect([spelling, answer.status]).toEqual([spelling, 401]);
    }
  });

  test.each([
    "http:///v1/me",
    "http://a@b@c/v1/me",
    "http://user@other/v1/me",
    "http://other:port/v1/me",
    "http://[::1/v1/me",
    "http:/v1/me",
    "http:v1/me",
    "ftp://other/v1/me",
    "httpx://other/v1/me",
    "http://other\\v1/me",
    "v1/me",
    "*",
  ])("%s is refused, and reaches no endpoint", async (target) => {
    const before = edge.calls.length;
    expect(refusal(await ask(target))).toMatch(/^The request target must be a path such as \/v1\/me|valid HTTP/);
    expect(edge.calls.length).toBe(before);
  });
});

describe("a Host header", () => {
  test.each([
    "example.org",
    "example.org:8787",
    "my_host",
    "127.0.0.1:1",
    "[::1]:8787",
    "[::ffff:10.0.0.1]",
    "xn--bcher-kva.example",
    "a%20b",
    "example.org:",
    "",
  ])('"%s" is valid', async (host) => {
    expect((await ask("/v1/me", { host: `Host: ${host}\r\n` })).status).toBe(200);
  });

  test.each([
    "a b",
    "a b/c",
    "a/c",
    "a?b",
    "a#b",
    "u@a",
    "a:b",
    "a:1:2",
    "::1",
    "[::1",
    "[::g]",
    "[]",
    "a%2",
    "a,b/",
    '"a"',
    "caf\xe9",
    "http://a",
  ])('"%s" is not valid: 400', async (host) => {
    const before = edge.calls.length;
    expect(refusal(await ask("/v1/me", { host: `Host: ${host}\r\n` }))).toMatch(/Host header|valid HTTP/);
    expect(edge.calls.length).toBe(before);
  });

  test("must be present exactly once in HTTP/1.1, and valid in HTTP/1.0 too", async () => {
    expect(refusal(await ask("/v1/me", { host: "" }))).toMatch(/^The request has no Host header\./);
    expect(refusal(await ask("http://other/v1/me", { host: "" }))).toMatch(/^The request has no Host header\./);
    expect(refusal(await ask("/v1/me", { host: "Host: x\r\nhost: x\r\n" }))).toMatch(
      /^The request has two Host headers\./,
    );
    const old = await sendRaw(edge.port, `GET /v1/me HTTP/1.0\r\nHost: a b\r\n${AUTH}\r\n`);
    expect(refusal(old)).toMatch(/Host header/);
  });
});
