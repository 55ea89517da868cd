import { createClient, imageFromBytes, imageFromUrl, PromptdError, PromptdProtocolError } from "@promptd/client";
import { createManageClient } from "@promptd/client/manage";
import { ERRORS } from "@promptd/contract";
import { describe, expect, test } from "vitest";
import { failure, run, setup, success, type Answer } from "./scripted-server.ts";

const ID = "01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a";

describe("every request", () => {
  test("carries the key, and the body as JSON with its type", async () => {
    const { client, seen } = await setup([success(run("succeeded"))]);
    const body = { promptVersionId: ID, inputs: { textInputs: { "Child's Age": "7" } } };
    await client.runs.create(body);
    expect(seen[0]).toMatchObject({
      method: "POST",
      url: "/v1/runs",
      headers: { authorization: "Bearer pd_test", "content-type": "application/json" },
    });
    expect(JSON.parse(seen[0]?.body ?? "")).toEqual(body);
  });

  test("goes to the path and query of its endpoint, percent-encoded", async () => {
    const { client, seen } = await setup([success({})]);
    await client.prompts.search("tea & poem?");
    await client.prompts.get(ID, { versionId: "v/2" });
    await client.prompts.get(ID);
    await client.prompts.getBySlug("tea-poem");
    await client.prompts.getBySlug("tea-poem", { label: "production" });
    await client.promptVersions.get("a b");
    await client.runs.get("x/../y");
    await client.runs.cancel(ID);
    await client.runs.list({ limit: 5, status: "failed", since: 1, until: 2 });
    await client.me.get();
    await client.me.credits();
    await client.resources.get();
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "GET /v1/prompts/publish?q=tea+%26+poem%3F",
      `GET /v1/prompts/${ID}?versionId=v%2F2`,
      `GET /v1/prompts/${ID}`,
      "GET /v1/prompt-slugs/tea-poem",
      "GET /v1/prompt-slugs/tea-poem?label=production",
      "GET /v1/prompt-versions/a%20b",
      "GET /v1/runs/x%2F..%2Fy",
      `POST /v1/runs/${ID}/cancel`,
      "GET /v1/runs?limit=5&status=failed&since=1&until=2",
      "GET /v1/me",
      "GET /v1/me/credits",
      "GET /v1/resources",
    ]);
  });

  test.each(["", ".", ".."])("an id of %j is never sent, because it would address another endpoint", async (id) => {
    const { client, seen } = await setup([success({})]);
    await expect(client.runs.get(id)).rejects.toThrow(TypeError);
    expect(seen).toEqual([]);
  });

  test.each(["/", "/v1", "/v1/"])("a base URL ending in %j addresses the same endpoints", async (ending) => {
    const { baseUrl, seen } = await setup([success({ credits: 1 })]);
    await createClient({ baseUrl: baseUrl + ending, apiKey: "k" }).me.credits();
    await createClient({ baseUrl: `${baseUrl}/behind${ending}`, apiKey: "k" }).me.credits();
    expect(seen.map(({ url }) => url)).toEqual(["/v1/me/credits", "/behind/v1/me/credits"]);
  });

  test.each(["", "127.0.0.1:8787", "ftp://x", "javascript:alert(1)"])(
    "a base URL of %j is refused immediately",
    (baseUrl) => {
      expect(() => createClient({ baseUrl, apiKey: "k" })).toThrow(TypeError);
    },
  );

  test.each([[""], [undefined], [null]])(
    "an API key of %j is refused immediately: an environment variable is not set",
    (apiKey) => {
      expect(() => createClient({ baseUrl: "http://127.0.0.1:8787", apiKey: apiKey as string })).toThrow(
        new TypeError(`apiKey must be text without spaces, got "${apiKey}".`),
      );
    },
  );

  test.each(["pd_01234…6789", "pd_x y", "pd_x\ny"])(
    "a key like %j, which no header can contain, is refused immediately and not printed",
    (key) => {
      const baseUrl = "http://127.0.0.1:8787";
      expect(() => createClient({ baseUrl, apiKey: key })).toThrow(
        new TypeError('apiKey must be text without spaces, got "***".'),
      );
      expect(() => createManageClient({ baseUrl, token: key })).toThrow(
        new TypeError('token must be text without spaces, got "***".'),
      );
      expect(createClient({ baseUrl, apiKey: "pd_x\n" })).toHaveProperty("runs"); // read from a file
    },
  );

  test("a redirect is not followed: it could carry the key to another host", async () => {
    const elsewhere = await setup([success({ credits: 1 })]);
    const { client } = await setup([
      { status: 307, raw: "", headers: { location: `${elsewhere.baseUrl}/v1/me/credits` } },
    ]);
    await expect(client.me.credits()).rejects.toBeInstanceOf(PromptdProtocolError);
    expect(elsewhere.seen).toEqual([]);
  });
});

describe("errors", () => {
  test.each(Object.entries(ERRORS))(
    "%s arrives as a PromptdError with everything in the response",
    async (code, entry) => {
      const answer = failure(entry.httpStatus, code, {
        data: { runId: ID, issues: [{ path: ["body"], code: "required", message: "m" }] },
        headers: { "x-request-id": "r-1", "retry-after": "3", "x-should-retry": "false" },
      });
      const { client, seen } = await setup([answer]);
      const error = await client.me.get().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(PromptdError);
      expect(error).toMatchObject({
        code,
        httpStatus: entry.httpStatus,
        message: `${code} happened.`,
        requestId: "r-1",
        retryAfterMs: 3_000,
        runId: code === "GATEWAY_TIMEOUT_ERROR" ? ID : null,
        issues: code === "VALIDATION_ERROR" ? [{ path: ["body"], code: "required", message: "m" }] : [],
      });
      expect(seen).toHaveLength(1);
    },
  );

  test.each<[string, Exclude<Answer, string>]>([
    ["an HTML page", { status: 200, raw: "<html>Welcome</html>", headers: { "content-type": "text/html" } }],
    ["JSON of another service", { status: 404, body: { detail: "Not Found" } }],
    ["a success whose HTTP status contradicts it", { status: 400, body: { status: "SUCCESS", data: {} } }],
    [
      "an error whose HTTP status contradicts it",
      { status: 200, body: { status: "SERVER_ERROR", message: "m", data: null } },
    ],
    ["a code outside the closed set", { status: 403, body: { status: "FORBIDDEN", message: "m", data: null } }],
    ["an envelope without data", { status: 200, body: { status: "SUCCESS" } }],
    ["an empty body", { status: 200, raw: "" }],
  ])("%s is a PromptdProtocolError, not a result", async (_, answer) => {
    const { client, seen } = await setup([answer]);
    const error = await client.me.get().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PromptdProtocolError);
    expect(error).toMatchObject({ httpStatus: answer.status, bodyStart: answer.raw ?? JSON.stringify(answer.body) });
    expect(seen).toHaveLength(1);
  });
});

describe("the low-level request", () => {
  test("returns the status, headers, and envelope of every response, and does not retry", async () => {
    const answer = failure(500, "SERVER_ERROR", { headers: { "x-request-id": "r-9" } });
    const { client, seen } = await setup([answer]);
    const got = await client.request({
      method: "GET",
      path: "/v1/me",
      headers: { authorization: null, accept: "x/y" },
    });
    expect(got).toMatchObject({ httpStatus: 500, envelope: { status: "SERVER_ERROR", data: null } });
    expect(got.headers.get("x-request-id")).toBe("r-9");
    expect(seen).toHaveLength(1);
    expect(seen[0]?.headers).not.toHaveProperty("authorization");
    expect(seen[0]?.headers.accept).toBe("x/y");
  });

  test("sends a string body unchanged", async () => {
    const { client, seen } = await setup([{ status: 400, raw: "" }]);
    const got = await client.request({ method: "POST", path: "/v1/runs", body: "{broken" });
    expect(seen[0]?.body).toBe("{broken");
    expect(got.envelope).toBeNull();
  });
});

describe("the list of models", () => {
  const resources = (hash: string): Answer => success({ hash, resources: { models: [] } });

  test("has a hash that every later request sends", async () => {
    const { client, seen } = await setup([success({}), resources("h1"), success({})]);
    await client.me.get();
    await client.resources.get();
    await client.me.get();
    expect(seen.map(({ headers }) => headers["cli-agent"])).toEqual([undefined, undefined, "resources_hash=h1"]);
  });

  test("is reported as out of date by any response that asks to refresh it, even an error", async () => {
    const stale = { "action-require": "update-resources" };
    const script = [success({}, stale), failure(404, "NOT_FOUND_ERROR", { headers: stale }), success({})];
    let updates = 0;
    const { client, seen } = await setup(script, { resourcesHash: "old", onUpdateResources: () => (updates += 1) });
    await client.me.get();
    await client.runs.get(ID).catch(() => null);
    expect(updates).toBe(2);
    await client.me.get();
    expect(updates).toBe(2);
    expect(seen[0]?.headers["cli-agent"]).toBe("resources_hash=old");
  });

  test("is not loaded again while its hash is unchanged", async () => {
    const { client, seen } = await setup([{ status: 304, raw: "" }, resources("h2")]);
    expect(await client.resources.getIfChanged("h1")).toBeNull();
    expect(await client.resources.getIfChanged("h1")).toMatchObject({ hash: "h2" });
    expect(seen.map(({ headers }) => headers["if-none-match"])).toEqual(['"h1"', '"h1"']);
    expect(seen[1]?.headers["cli-agent"]).toBe("resources_hash=h1");
  });
});

test("a 304 that a call allows returns null, in whatever case its header is written", async () => {
  const { client } = await setup([{ status: 304, raw: "" }]);
  const answer = await client.call("getResources", {
    headers: { "If-None-Match": '"h1"' },
  });
  expect(answer.data).toBeNull();
});

describe("images", () => {
  test("bytes of any length become Base64 without a prefix", () => {
    for (const length of [0, 1, 2, 3, 32_768, 100_001]) {
      const bytes = Uint8Array.from({ length }, (_, index) => (index * 7) % 256);
      expect(imageFromBytes(bytes)).toEqual({ type: "base64", base64: Buffer.from(bytes).toString("base64") });
    }
  });

  test("a URL stays a URL", () => {
    expect(imageFromUrl("https://x.example/cat.png")).toEqual({ type: "url", url: "https://x.example/cat.png" });
  });
});

test("each page requests the rows after the last row, until there are no more", async () => {
  const page = (ids: string[], hasMore: boolean): Answer => success({ rows: ids.map((runId) => ({ runId })), hasMore });
  const { client, seen } = await setup([page(["c", "b"], true), page(["a"], false)]);
  const rows: string[] = [];
  for await (const row of client.runs.listAll({ status: "succeeded", limit: 2 })) rows.push(row.runId);
  expect(rows).toEqual(["c", "b", "a"]);
  await client.runs.listAll({ limit: undefined }).next();
  expect(seen[2]?.url).toBe("/v1/runs?limit=50");
  expect(seen.slice(0, 2).map(({ url }) => url)).toEqual([
    "/v1/runs?status=succeeded&limit=2",
    "/v1/runs?status=succeeded&limit=2&startingAfter=b",
  ]);
});
