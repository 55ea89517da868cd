/** Where a request leads: paths, methods, a page of another origin, and query strings. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { toEndpoints, type Admit } from "../../src/http/endpoint.ts";
import { Problem } from "../../src/platform/problem.ts";
import { type EdgeServer, errorOf, ID, issuesOf, KEY, openEdge, startEdge } from "./http-edge-server.ts";

let edge: EdgeServer;
beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge.http.close());

function lastCall() {
  const call = edge.calls.at(-1);
  if (call === undefined) throw new Error("no endpoint was called");
  return call;
}

describe("paths and methods", () => {
  test("tolerate repeated and trailing slashes without a redirect", async () => {
    for (const path of ["//v1/runs/", "/v1//runs", "/v1/runs///", "///v1/runs?limit=3"]) {
      expect((await edge.get(path)).status).toBe(200);
      expect(lastCall().name).toBe("listRuns");
    }
  });

  test("reach search before the prompt id, and are case-sensitive", async () => {
    await edge.get("/v1/prompts/publish?q=cat");
    expect(lastCall().name).toBe("searchPrompts");
    const issues = await issuesOf(await edge.get("/v1/prompts/PUBLISH"));
    expect(issues).toMatchObject([{ code: "invalid_uuid", path: ["path", "promptId"] }]);
  });

  test("with invalid percent-encoding are 400, after authentication", async () => {
    expect((await edge.get("/v1/runs/%zz")).status).toBe(400);
    expect((await edge.get("/v1/runs/%ff")).status).toBe(400);
    expect((await edge.get("/v1/runs/%zz", {})).status).toBe(401);
  });

  test("with a parameter of any length that is not a UUID are 422, never 414", async () => {
    const [issue] = await issuesOf(await edge.get(`/v1/runs/${"a".repeat(9_000)}`));
    expect(issue?.message).toBe(`runId must be a UUID, got "${"a".repeat(40)}…".`);
  });

  test("that exist under another method are 404 with Allow", async () => {
    const response = await fetch(`${edge.url}/v1/runs`, { method: "PATCH", headers: KEY });
    expect(response.status).toBe(404);
    expect(response.headers.get("allow")).toBe("POST, GET, HEAD, OPTIONS");
    expect((await errorOf(response)).message).toBe("Unrecognized request: PATCH /v1/runs.");
    const missing = await fetch(`${edge.url}/v2/runs`, { method: "DELETE" });
    expect([missing.status, missing.headers.get("allow")]).toEqual([404, null]);
  });

  test("answer HEAD like GET but without a body, and count it", async () => {
    const response = await fetch(`${edge.url}/v1/me/credits`, { method: "HEAD", headers: KEY });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-length")).toBe("41");
    expect(response.headers.get("ratelimit")).not.toBeNull();
    expect(await response.text()).toBe("");
  });

  test("answer OPTIONS with 204, without a key and uncounted", async () => {
    const before = edge.entries.length;
    const response = await fetch(`${edge.url}/v1/runs`, { method: "OPTIONS" });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-allow-headers")).toContain("Idempotency-Key");
    expect(response.headers.get("access-control-expose-headers")).toContain("action-require");
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    expect(edge.entries.length).toBe(before);
  });

  test("accept a page's preflight for every request header, and expose every documented response header", async () => {
    const ask = { origin: "https://app.example.org", "access-control-request-method": "POST" };
    const preflight = await fetch(`${edge.url}/v1/runs`, { method: "OPTIONS", headers: ask });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-methods")).toBe("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    expect(preflight.headers.get("access-control-allow-headers")).toBe(
      "Authorization, Content-Type, Prefer, Idempotency-Key, cli-agent, If-None-Match, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name",
    );
    const answer = await edge.get("/v1/me", { ...KEY, origin: "https://app.example.org" });
    const exposed = answer.headers.get("access-control-expose-headers")?.split(", ") ?? [];
    expect(preflight.headers.get("access-control-expose-headers")).toBe(exposed.join(", "));
    const { components } = (await (await edge.get("/openapi.json")).json()) as { components: { headers: object } };
    expect(exposed.toSorted()).toEqual(Object.keys(components.headers).toSorted());
    const always =
      "Retry-After RateLimit RateLimit-Policy X-Request-Id action-require Location Preference-Applied X-Ignored ETag x-should-retry";
    expect(exposed).toEqual(expect.arrayContaining([...always.split(" "), "Idempotent-Replayed", "retry-after-ms"]));
  });

  test("allow only configured origins if there are any", async () => {
    const own = await openEdge({ corsOrigins: ["https://app.example.org"] });
    const listed = await own.get("/v1/me", { ...KEY, origin: "https://app.example.org" });
    expect(listed.headers.get("access-control-allow-origin")).toBe("https://app.example.org");
    expect(listed.headers.get("vary")).toBe("Origin");
    const other = await own.get("/v1/me", { ...KEY, origin: "https://other.example.org" });
    expect(other.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("an endpoint outside /v1", () => {
  const endpoints = toEndpoints({
    entries: {
      createKey: { method: "POST", path: "/manage/v1/keys", summary: "", auth: ["session", "token"], errors: [] },
    },
    schemas: async () => ({
      createKey: {
        params: z.object({}),
        query: z.object({}),
        body: z.object({ name: z.string(), scope: z.object({ reads: z.boolean() }) }),
        data: z.object({ name: z.string() }),
      },
    }),
    handlers: {
      createKey: async ({ body }, { caller }) => ({ data: { name: `${body.name} of ${caller.accountId}` } }),
    },
  });
  const by = (word: string): Admit => {
    return async ({ authorization }) =>
      authorization[0] === word
        ? { kind: "admitted", caller: { accountId: word, keyId: word }, remaining: 1 }
        : {
            kind: "refused",
            problem: new Problem("UNAUTHORIZED_ERROR", `No ${word}.`),
            remaining: null,
            isAbsent: true,
          };
  };
  const start = () =>
    openEdge({
      endpoints,
      authenticators: { session: by("session"), token: by("token") },
      prefixes: { "/v1": "apiKey", "/manage/v1": "session" },
    });
  const BODY = JSON.stringify({ name: "a", scope: { reads: true, writes: true }, runModel: "x" });

  test("is not open to pages of other origins if it belongs to the management API, however its path is written", async () => {
    const own = await start();
    const page = { origin: "https://app.example.org" };
    for (const path of ["/manage/v1/keys", "//manage/v1/keys", "/%6Danage/v1/keys", "/manage/openapi.json"]) {
      const answers = [
        await fetch(`${own.url}${path}`, {
          method: "OPTIONS",
          headers: { ...page, "access-control-request-method": "POST" },
        }),
        await own.post(path, BODY, { authorization: "token", ...page }),
      ];
      for (const { headers } of answers) expect(headers.get("access-control-allow-origin")).toBeNull();
    }
    expect((await own.get("/openapi.json", page)).headers.get("access-control-allow-origin")).toBe("*");
    await own.http.close();
  });

  test("tries its own credentials one after the other, and reports what its own schema does not list", async () => {
    const own = await start();
    for (const authorization of ["session", "token"]) {
      const response = await own.post("/manage/v1/keys", BODY, { authorization });
      expect(await response.json()).toEqual({ status: "SUCCESS", data: { name: `a of ${authorization}` } });
      expect(response.headers.get("x-ignored")).toBe("runModel, scope.writes");
    }
    expect((await own.post("/manage/v1/keys", BODY, KEY)).status).toBe(401);
    expect((await own.post("/v1/runs", BODY, { authorization: "session" })).status).toBe(401);
  });

  test("requires its prefix's credential, like an unknown path there", async () => {
    const own = await start();
    expect((await own.get("/manage/v1/nothing", KEY)).status).toBe(401);
    expect((await own.get("/manage/v1/nothing", { authorization: "session" })).status).toBe(404);
  });

  test("answers 500 if its credential cannot be checked, and is never open", async () => {
    const own = await openEdge({ endpoints });
    expect((await own.post("/manage/v1/keys", BODY, { authorization: "session" })).status).toBe(500);
  });
});

describe("query strings", () => {
  test.each(["1e1", "0x10", "%20%205", "", "0", "51", "-1", "１０", "5.0", "99999999999"])(
    "refuse limit=%s instead of coercing it",
    async (limit) => {
      const issues = await issuesOf(await edge.get(`/v1/runs?limit=${encodeURI(limit)}`));
      expect(issues).toMatchObject([{ path: ["query", "limit"], code: "invalid_value" }]);
    },
  );

  test("refuse a known parameter given twice with 422", async () => {
    const issues = await issuesOf(await edge.get("/v1/runs?limit=1&limit=2"));
    expect(issues).toMatchObject([{ path: ["query", "limit"], code: "conflict" }]);
  });

  test("decode + as a space, and decode only once", async () => {
    await edge.get("/v1/prompts/publish?q=a+b%2Bc%2525");
    expect(lastCall().input.query).toEqual({ q: "a b+c%25" });
  });

  test.each(["%ff", "%zz", "%", "%e2%82"])("refuse q=%s, which cannot be decoded", async (q) => {
    const issues = await issuesOf(await edge.get(`/v1/prompts/publish?q=${q}`));
    expect(issues).toMatchObject([{ path: ["query", "q"], code: "invalid_text" }]);
  });

  test("refuse U+0000 in q", async () => {
    const issues = await issuesOf(await edge.get("/v1/prompts/publish?q=a%00b"));
    expect(issues).toMatchObject([{ code: "invalid_text" }]);
  });

  test("ignore unknown parameters, also limit[], and name them in X-Ignored", async () => {
    const response = await edge.get(`/v1/runs/${ID}?remote=true&limit[]=1&%D0%BA=1`);
    expect(response.status).toBe(200);
    expect(response.headers.get("x-ignored")).toBe("remote, limit%5B%5D, %D0%BA");
  });

  test("report all problems at once", async () => {
    const issues = await issuesOf(await edge.get("/v1/runs?limit=0&status=done&startingAfter=x"));
    expect(issues.map(({ code }) => code)).toEqual(["invalid_value", "invalid_uuid", "invalid_value"]);
  });
});
