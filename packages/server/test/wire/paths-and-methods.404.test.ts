/** Unknown paths, wrong methods, HEAD, OPTIONS, slashes, versions (specification, "Endpoints", "Versioning"). */
import { ENDPOINTS, type EndpointName } from "@promptd/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { textPrompt } from "../prompts/prompt-files.ts";
import { bodyOf, errorOf, get, RANDOM_ID, runOf } from "./requests.ts";
import { eventually } from "../support/eventually.ts";

let server: TestServer;
let caller: TestCaller;
beforeAll(async () => {
  server = await startTestServer({ httpLimits: { failedAdmissionsPerSecond: 1_000 } });
  caller = await server.createCaller();
});
afterAll(() => server.close());

const send = (method: string, path: string, headers: Record<string, string | null> = {}) =>
  caller.client.request({ method, path, headers });

describe("a path that does not exist", () => {
  test.each([
    "/v1",
    "/v1/",
    "/v1/nothing",
    "/v1/runs/a/b",
    "/v1/ME",
    "/v1/me/credits/x",
    "/v1/prompts",
    "/%76%31/nope",
  ])("%s is 404 with a key and 401 without", async (path) => {
    const answer = await send("GET", path);
    expect(answer.httpStatus).toBe(404);
    expect(errorOf(answer)).toEqual({
      status: "NOT_FOUND_ERROR",
      message: `Unrecognized request: GET ${path === "/v1/" ? "/v1" : path}.`,
      data: null,
    });
    expect((await send("GET", path, { authorization: null })).httpStatus).toBe(401);
  });

  test.each(["/v2", "/v2/runs", "/v10/runs", "/v1x/me", "/", "/index.html", "/api/v1/me", "/.env"])(
    "%s, outside of /v1, is 404 with and without a key",
    async (path) => {
      expect((await send("GET", path)).httpStatus).toBe(404);
      expect((await send("GET", path, { authorization: null })).httpStatus).toBe(404);
    },
  );

  test("is never echoed with control characters or at full length", async () => {
    const answer = await send("GET", `/v1/${"x".repeat(3_000)}`);
    expect(answer.httpStatus).toBe(404);
    expect(errorOf(answer).message.length).toBeLessThan(300);
  });

  test("with bad percent-encoding is 400", async () => {
    expect((await send("GET", "/v1/runs/%ff")).httpStatus).toBe(400);
  });
});

describe("a wrong method is 404 with Allow, never 405", () => {
  const cases: readonly [string, string, string][] = [
    ["PATCH", "/v1/runs", "POST, GET, HEAD, OPTIONS"],
    ["DELETE", `/v1/runs/${RANDOM_ID}`, "GET, HEAD, OPTIONS"],
    ["GET", `/v1/runs/${RANDOM_ID}/cancel`, "POST, OPTIONS"],
    ["POST", "/v1/me", "GET, HEAD, OPTIONS"],
    ["PUT", "/v1/resources", "GET, HEAD, OPTIONS"],
    ["POST", "/v1/prompts/publish", "GET, HEAD, OPTIONS"],
  ];
  test.each(cases)("%s %s", async (method, path, allow) => {
    const answer = await send(method, path);
    expect(answer.httpStatus).toBe(404);
    expect(errorOf(answer).message).toBe(`Unrecognized request: ${method} ${path}.`);
    expect(answer.headers.get("allow")).toBe(allow);
  });
});

describe("slashes", () => {
  test.each(["/v1/me/", "//v1/me", "/v1//me", "//v1///me//"])("%s is /v1/me, without a redirect", async (path) => {
    const answer = await send("GET", path);
    expect(answer.httpStatus).toBe(200);
    expect(answer.headers.has("location")).toBe(false);
  });

  test("at the end of POST /v1/runs/ keep the body", async () => {
    const { promptVersionId } = await server.publish(textPrompt());
    const body = bodyOf(promptVersionId, { topic: "tea" });
    const answer = await caller.client.request({ method: "POST", path: "//v1/runs/", body });
    expect(runOf(answer).runStatus).toBe("succeeded");
  });

  test("encoded in a parameter are not separators", async () => {
    expect((await send("GET", "/v1/runs/a%2Fb")).httpStatus).toBe(422);
    expect((await send("GET", "/v1%2Fme")).httpStatus).toBe(404);
  });
});

const READABLE = (Object.keys(ENDPOINTS) as EndpointName[]).filter((name) => ENDPOINTS[name].method === "GET");

describe("HEAD", () => {
  test.each(READABLE)("of %s has the status and headers of GET and no body", async (name) => {
    const path = `${ENDPOINTS[name].path.replace(/:\w+/, RANDOM_ID)}?q=tea`;
    const [head, full] = [await send("HEAD", path), await send("GET", path)];
    expect(head.httpStatus).toBe(full.httpStatus);
    expect(head.text).toBe("");
    for (const header of ["content-type", "content-length", "cache-control", "etag"]) {
      expect([header, head.headers.get(header)]).toEqual([header, full.headers.get(header)]);
    }
  });

  test("for an endpoint that accepts only POST is 404", async () => {
    expect((await send("HEAD", `/v1/runs/${RANDOM_ID}/cancel`)).httpStatus).toBe(404);
  });
});

describe("OPTIONS", () => {
  test.each(["/v1/runs", `/v1/runs/${RANDOM_ID}`, "/v1/nothing", "/v2"])("%s is 204 without a key", async (path) => {
    const answer = await send("OPTIONS", path, { authorization: null, origin: "https://app.example.org" });
    expect([answer.httpStatus, answer.text]).toEqual([204, ""]);
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.has("access-control-allow-credentials")).toBe(false);
    const allowed = answer.headers.get("access-control-allow-headers")?.toLowerCase();
    for (const name of ["authorization", "content-type", "prefer", "idempotency-key", "cli-agent", "if-none-match"]) {
      expect(allowed).toContain(name);
    }
  });

  test("and answers to pages expose the headers that clients need", async () => {
    const answer = await send("GET", "/v1/me", { origin: "https://app.example.org" });
    const exposed = answer.headers.get("access-control-expose-headers")?.toLowerCase().split(", ");
    expect(exposed?.toSorted()).toEqual(
      "action-require allow etag idempotent-replayed location preference-applied ratelimit ratelimit-policy retry-after retry-after-ms www-authenticate x-ignored x-request-id x-should-retry".split(
        " ",
      ),
    );
  });
});

describe("open paths", () => {
  test.each(["/healthz", "/readyz", "/openapi.json"])("%s answers 200 without a key", async (path) => {
    // A process is not ready while search is loading.
    const answer = await eventually(async () => {
      const answered = await send("GET", path, { authorization: null });
      expect(answered.httpStatus).toBe(200);
      return answered;
    });
    expect(answer.headers.has("ratelimit")).toBe(false);
  });

  test("/openapi.json lists every endpoint and no account data", async () => {
    const { paths } = JSON.parse((await send("GET", "/openapi.json")).text) as { paths: Record<string, object> };
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`),
    );
    const endpoints = Object.values(ENDPOINTS).map(({ method, path }) => `${method} ${path}`);
    expect(documented).toEqual(expect.arrayContaining(endpoints));
  });
});

describe("whatever a request says", () => {
  test("about response formats, the answer is JSON", async () => {
    const answer = await send("GET", "/v1/me", { accept: "text/html", "accept-language": "de" });
    expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
  });

  test("about its own id, the server's id is different", async () => {
    const own = "my-request-1";
    expect((await send("GET", "/v1/me", { "x-request-id": own })).headers.get("x-request-id")).not.toBe(own);
  });

  test("two requests have two ids", async () => {
    const [one, two] = [await get(caller.client, "/v1/me"), await get(caller.client, "/v1/me")];
    expect(one.headers.get("x-request-id")).not.toBe(two.headers.get("x-request-id"));
  });

  test("with cookies or unknown parameters, nothing changes", async () => {
    const answer = await send("GET", "/v1/me?include=all&fields=username", { cookie: "session=x" });
    expect(answer.text).toBe((await send("GET", "/v1/me")).text);
    expect(answer.headers.get("x-ignored")).toBe("include, fields");
  });
});
