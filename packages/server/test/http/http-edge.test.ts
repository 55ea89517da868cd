/** What every answer has in common, who is admitted, what an endpoint sees, and what happens to failures. */
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { ENDPOINTS, ERRORS } from "@promptd/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Admit, Readiness } from "../../src/http/endpoint.ts";
import { Problem } from "../../src/platform/problem.ts";
import {
  CREATE,
  createPausedGetMe,
  type EdgeServer,
  errorOf,
  HASH,
  ID,
  KEY,
  ME,
  openEdge,
  startEdge,
} from "./http-edge-server.ts";
import { eventually } from "../support/eventually.ts";

let edge: EdgeServer;
beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge.http.close());

describe("every answer", () => {
  test("carries request id, nosniff, no-store and JSON in UTF-8, errors too", async () => {
    for (const response of [await edge.get("/v1/me"), await edge.get("/v1/me", {}), await edge.get("/nowhere")]) {
      expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
      await response.arrayBuffer();
    }
  });

  test("to a counted request carries the rate limit, and to an uncounted request does not", async () => {
    const counted = await edge.get("/v1/me");
    expect(counted.headers.get("ratelimit-policy")).toBe('"account";q=5;w=1');
    expect(counted.headers.get("ratelimit")).toBe('"account";r=4;t=1');
    const anonymous = await edge.get("/v1/me", {});
    expect(anonymous.headers.get("ratelimit")).toBeNull();
  });

  test("has on success the members status and data, in this order, and no others", async () => {
    const response = await edge.get("/v1/me/credits");
    expect(await response.text()).toBe('{"status":"SUCCESS","data":{"credits":7}}');
  });

  test("to a failed request says whether to retry", async () => {
    expect((await edge.get("/v1/me", { authorization: "Bearer fast" })).headers.get("x-should-retry")).toBe("true");
    expect((await edge.get("/v1/me", {})).headers.get("x-should-retry")).toBe("false");
  });
});

describe("admission", () => {
  test("answers 401 with WWW-Authenticate before 404, so that a reachability test of /v1/ gets JSON", async () => {
    const response = await edge.get("/v1/", {});
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    expect((await errorOf(response)).status).toBe("UNAUTHORIZED_ERROR");
    expect((await edge.get("/v1/nowhere")).status).toBe(404);
  });

  test("answers 429 with both forms of the delay", async () => {
    const response = await edge.get("/v1/me", { authorization: "Bearer fast" });
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(response.headers.get("retry-after-ms")).toBe("1000");
    expect(response.headers.get("ratelimit")).toBe('"account";r=0;t=1');
  });

  test("answers 402 for the plan before 422 for the shape, on every endpoint", async () => {
    for (const { path, method } of Object.values(ENDPOINTS)) {
      const headers = { authorization: "Bearer lapsed" };
      const response = await fetch(edge.url + path.replace(/:\w+/, "no-uuid"), { method, headers });
      expect(response.status).toBe(402);
      await response.arrayBuffer();
    }
  });

  test("refuses the 21st failure of an address within a second with 429, and still admits a valid key", async () => {
    const own = await openEdge();
    const statuses = [];
    for (let i = 0; i < 21; i += 1) statuses.push((await own.get("/v1/me", {})).status);
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 401), 429]);
    expect((await own.get("/v1/me")).status).toBe(200);
  });

  test("counts the failures of each address separately, and only failed authentications", async () => {
    const own = await openEdge({ limits: { failedAdmissionsPerSecond: 1 } });
    const statusOf = async (from: string, authorization: string) => {
      const sent = request(`${own.url}/v1/me`, { localAddress: from, headers: { authorization } }).end();
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    const many = <Result>(send: () => Promise<Result>) => Promise.all(Array.from({ length: 20 }, send));
    expect(new Set(await many(() => statusOf("127.0.0.1", "Bearer lapsed")))).toEqual(new Set([402]));
    expect(await many(() => statusOf("127.0.0.1", "Bearer bad"))).toContain(429);
    expect(await statusOf("127.0.0.2", "Bearer bad")).toBe(401);
    expect(new Set(own.entries.map(({ address }) => address))).toEqual(new Set(["127.0.0.1", "127.0.0.2"]));
  });

  test("answers 429 SERVER_BUSY above the limit on open requests, after 401 and before 402", async () => {
    const { getMe, arrived, release } = createPausedGetMe();
    const own = await openEdge({ limits: { openRequestsMax: 1 }, handlers: { getMe } });
    const first = own.get("/v1/me");
    await arrived;
    const second = await own.get("/v1/me/credits");
    expect(await errorOf(second)).toMatchObject({ status: "TOO_MANY_REQUESTS_ERROR", data: { reason: "SERVER_BUSY" } });
    expect((await own.get("/v1/me/credits", {})).status).toBe(401);
    expect((await own.get("/v1/me/credits", { authorization: "Bearer lapsed" })).status).toBe(429);
    release();
    expect((await first).status).toBe(200);
    expect((await own.get("/v1/me/credits")).status).toBe(200);
  });
});

describe("one account's open requests", () => {
  test("are at most half of what the process keeps open, so that others are still served", async () => {
    const waiting = createPausedGetMe();
    let opened = 0;
    const admit: Admit = async ({ authorization }) => {
      const accountId = String(authorization[0]);
      return { kind: "admitted", caller: { accountId, keyId: "key-1" }, remaining: 4 };
    };
    const getMe = async () => {
      opened += 1;
      return waiting.getMe();
    };
    const own = await startEdge({ limits: { openRequestsMax: 6 }, admit, handlers: { getMe } });
    const held = Array.from({ length: 3 }, () => own.get("/v1/me"));
    await eventually(() => expect(opened).toBe(3));
    const refused = await own.get("/v1/me/credits");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    const { message, data } = await errorOf(refused);
    expect(message).toMatch(/^The account has half of the requests open/);
    expect(data).toMatchObject({ reason: "SERVER_BUSY" });
    expect((await own.get("/v1/me/credits", { authorization: "Bearer other" })).status).toBe(200);
    waiting.release();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await own.get("/v1/me/credits")).status).toBe(200);
    await own.http.close();
  });

  test("no longer count when their caller hangs up", async () => {
    const waiting = createPausedGetMe();
    const own = await startEdge({ limits: { openRequestsMax: 2 }, handlers: { getMe: waiting.getMe } });
    const hangUp = new AbortController();
    const given = fetch(`${own.url}/v1/me`, { headers: KEY, signal: hangUp.signal }).catch(() => null);
    await waiting.arrived;
    expect((await own.get("/v1/me/credits")).status).toBe(429);
    hangUp.abort();
    await given;
    await eventually(() => expect(own.http.openRequests).toBe(0));
    expect((await own.get("/v1/me/credits")).status).toBe(200);
    waiting.release();
    await own.http.close();
  });
});

describe("the handler's view", () => {
  test("sees single headers, and can report what it ignores", async () => {
    const own = await openEdge({
      handlers: {
        getMe: async (_input, context) => {
          context.ignore("textInputs.Ünï 'x'");
          expect(context.header("prefer")).toBe("wait=3");
          expect(context.caller).toEqual({ accountId: "account-1", keyId: "key-1" });
          return { data: ME };
        },
      },
    });
    const response = await own.get("/v1/me", { ...KEY, prefer: "wait=3" });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-ignored")).toBe("textInputs.%C3%9Cn%C3%AF%20%27x%27");
  });

  test("X-Ignored ends within 1,024 bytes, with a whole name", async () => {
    const many = Array.from({ length: 300 }, (_, i) => `parameter${i}=1`).join("&");
    const value = (await edge.get(`/v1/me?${many}`)).headers.get("x-ignored") ?? "";
    expect(value.length).toBeGreaterThan(900);
    expect(value.length).toBeLessThanOrEqual(1_024);
    expect(value.split(", ").every((name) => /^parameter\d+$/.test(name))).toBe(true);
  });

  test("may answer 202 and 304 with its own headers", async () => {
    const own = await openEdge({
      handlers: {
        createRun: async () => ({
          status: 202,
          data: { runId: ID, outputs: [], runStatus: "queued", tokens: 0 },
          headers: { Location: "/v1/runs/x", "Retry-After": "2" },
        }),
        getResources: async () => ({
          status: 304,
          data: { hash: HASH, resources: { models: [] } },
          headers: { ETag: `"${HASH}"`, "Cache-Control": "private, no-cache" },
        }),
      },
    });
    const accepted = await own.post("/v1/runs", CREATE);
    expect([accepted.status, accepted.headers.get("retry-after")]).toEqual([202, "2"]);
    const unchanged = await own.get("/v1/resources");
    expect([unchanged.status, await unchanged.text()]).toEqual([304, ""]);
    expect(unchanged.headers.get("cache-control")).toBe("private, no-cache");
  });

  test("sets action-require exactly if cli-agent names an outdated catalogue hash", async () => {
    const required = async (agent: string, headers: Record<string, string> = KEY) =>
      (await edge.get("/v1/me", { ...headers, "cli-agent": agent })).headers.get("action-require");
    expect(await required(`resources_hash=${HASH}`)).toBeNull();
    expect(await required(`cli/1.0 resources_hash=${HASH}; os=linux`)).toBeNull();
    expect(await required(HASH)).toBeNull();
    expect(await required("  ")).toBeNull();
    expect(await required("resources_hash=old")).toBe("update-resources");
    expect(await required("cli/1.0")).toBe("update-resources");
    expect(await required("cli/1.0", { authorization: "Bearer fast" })).toBe("update-resources");
    expect(await required("cli/1.0", {})).toBeNull();
  });
});

describe("failures", () => {
  test("that are unexpected are 500 with the request id, and are logged with their cause", async () => {
    const getMe = async () => {
      throw new Error("select * from secret_table");
    };
    const own = await openEdge({ handlers: { getMe } });
    const response = await own.get("/v1/me");
    const error = await errorOf(response);
    const id = response.headers.get("x-request-id");
    expect(response.status).toBe(500);
    expect(error.message).toBe(`Internal error. If it persists, report request id ${id}.`);
    expect(JSON.stringify(error)).not.toContain("secret_table");
    const logged = own.log.find(({ level }) => level === "error");
    expect(logged?.fields).toMatchObject({ requestId: id, err: { message: "select * from secret_table" } });
  });

  test("that are Problems are sent as they are, with their headers", async () => {
    const getMe = async () => {
      throw new Problem("GATEWAY_TIMEOUT_ERROR", "Still running.", {
        data: { runId: ID },
        headers: { "Retry-After": "5", Location: "/v1/runs/x" },
      });
    };
    const own = await openEdge({ handlers: { getMe } });
    const response = await own.get("/v1/me");
    expect(response.status).toBe(ERRORS.GATEWAY_TIMEOUT_ERROR.httpStatus);
    expect(await errorOf(response)).toMatchObject({ message: "Still running.", data: { runId: ID } });
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(response.headers.get("retry-after")).toBe("5");
  });

  test("during admission are 500, and nobody is admitted", async () => {
    const own = await openEdge({ admit: async () => Promise.reject(new Error("database is down")) });
    expect((await own.get("/v1/me")).status).toBe(500);
    expect(own.calls).toEqual([]);
  });

  test("caused by an invalid header value are 500, and do not leave the caller waiting", async () => {
    const own = await openEdge({ handlers: { getMe: async () => ({ data: ME, headers: { "X-Bad": "a\nb" } }) } });
    expect((await own.get("/v1/me")).status).toBe(500);
  });

  test("to follow the contract are caught by checkResponses", async () => {
    const data = { ...ME, extra: 1 };
    const own = await openEdge({ handlers: { getMe: async () => ({ data }) } });
    expect((await own.get("/v1/me")).status).toBe(500);
  });
});

describe("paths outside /v1", () => {
  test("/healthz, /readyz and /openapi.json need no key", async () => {
    const before = edge.entries.length;
    for (const path of ["/healthz", "/readyz", "/openapi.json"]) expect((await edge.get(path, {})).status).toBe(200);
    expect(edge.entries.length).toBe(before);
  });

  test("/readyz checks once for all requests that arrive meanwhile, and again for later requests", async () => {
    const calls: PromiseWithResolvers<Readiness>[] = [];
    const readiness = () => {
      const call = Promise.withResolvers<Readiness>();
      calls.push(call);
      return call.promise;
    };
    const own = await openEdge({ readiness });
    const answers = [1, 2, 3].map(() => own.get("/readyz", {}));
    await eventually(() => expect(own.http.openRequests).toBe(3));
    expect(calls).toHaveLength(1);
    calls[0]?.reject(new Error("away"));
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([500, 500, 500]);
    const next = own.get("/readyz", {});
    await eventually(() => expect(calls).toHaveLength(2));
    calls[1]?.resolve({ ready: true, details: {} });
    expect((await next).status).toBe(200);
  });

  test("/readyz is a 500 with details if the server is not ready or is stopping", async () => {
    const own = await openEdge({ readiness: async () => ({ ready: false, details: { database: "down" } }) });
    const response = await own.get("/readyz", {});
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ status: "SERVER_ERROR", data: { ready: false, database: "down" } });
    const stopping = await openEdge();
    const notice = Promise.withResolvers<void>();
    const stopped = stopping.http.close({ notice: notice.promise });
    expect((await stopping.get("/readyz", {})).status).toBe(500);
    const served = await stopping.get("/v1/me");
    expect([served.status, served.headers.get("connection")]).toEqual([200, "close"]);
    notice.resolve();
    await stopped;
  });

  test("/files/:name streams a file without a key, with its own headers", async () => {
    const response = await edge.get("/files/a.png?e=1&k=1&s=x", {});
    expect(await response.text()).toBe("bytes");
    expect(response.headers.get("content-type")).toBe("image/png");
    expect(response.headers.get("cache-control")).toBe("public");
    const head = await fetch(`${edge.url}/files/a.png`, { method: "HEAD" });
    expect(head.headers.get("content-length")).toBe("5");
  });
});

test("each request is one log line with the route's pattern, without its query and headers", async () => {
  const own = await openEdge();
  const secret = "s3cret";
  const response = await own.get(`/v1/runs/${ID}?token=${secret}`, { ...KEY, "x-request-id": "client-1" });
  await response.arrayBuffer();
  await own.http.close();
  expect(own.log).toHaveLength(1);
  expect(own.log[0]).toMatchObject({
    level: "info",
    message: "request",
    fields: {
      accountId: "account-1",
      keyId: "key-1",
      runId: ID,
      method: "GET",
      route: "/v1/runs/:runId",
      status: 200,
      clientRequestId: "client-1",
    },
  });
  expect(JSON.stringify(own.log)).not.toContain(secret);
  expect(JSON.stringify(own.log)).not.toContain("Bearer");
});

test("requests of probes are debug lines, so that they do not fill the log", async () => {
  const own = await startEdge();
  for (const path of ["/healthz", "/readyz", "/openapi.json"]) await (await own.get(path, {})).arrayBuffer();
  await own.http.close();
  expect(own.log.map(({ level, fields }) => [level, fields["route"]])).toEqual([
    ["debug", "/healthz"],
    ["debug", "/readyz"],
    ["info", "/openapi.json"],
  ]);
});

test("the log line of a create names its run, also when the caller got a 504", async () => {
  const createRun = async () => {
    throw new Problem("GATEWAY_TIMEOUT_ERROR", "Still running.", { data: { runId: ID } });
  };
  for (const handlers of [{}, { createRun }]) {
    const own = await openEdge({ handlers });
    await (await own.post("/v1/runs", CREATE)).arrayBuffer();
    await own.http.close();
    expect(own.log[0]?.fields).toMatchObject({ route: "/v1/runs", runId: ID });
  }
});
