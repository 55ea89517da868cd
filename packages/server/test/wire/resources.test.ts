/** GET /v1/resources, its hash, cli-agent and action-require (specification, "Available models"). */
import { createHash } from "node:crypto";
import { ENDPOINTS } from "@promptd/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { textPrompt } from "../prompts/prompt-files.ts";
import { bodyOf, dataOf, get, postRun } from "./requests.ts";
import { eventually } from "../support/eventually.ts";

let server: TestServer;
let caller: TestCaller;
let hash = "";

beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller();
  ({ hash } = await caller.client.resources.get());
});
afterAll(() => server.close());

/** RFC 8785 written here once more, apart from the server's own. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  const members = names.map((name) => `${JSON.stringify(name)}:${canonical((value as Record<string, unknown>)[name])}`);
  return `{${members.join(",")}}`;
}

const hashOf = (resources: unknown) => createHash("sha256").update(canonical(resources)).digest("base64url");

describe("the list", () => {
  test("has exactly hash and resources.models with model, modality and availableRunOptions", async () => {
    const answer = await get(caller.client, "/v1/resources");
    expect(answer.httpStatus).toBe(200);
    expect(dataOf(answer)).toEqual({
      hash,
      resources: {
        models: [
          {
            model: "sandbox/image",
            modality: "image",
            availableRunOptions: [
              { key: "quality", options: ["low", "medium", "high"] },
              { key: "size", options: ["256x256", "512x512", "1024x1024"] },
            ],
          },
          {
            model: "sandbox/text",
            modality: "text",
            availableRunOptions: [{ key: "reasoningEffort", options: ["low", "medium", "high"] }],
          },
          { model: "sandbox/text-free", modality: "text", availableRunOptions: [] },
          {
            model: "sandbox/video",
            modality: "video",
            availableRunOptions: [{ key: "seconds", options: ["2", "4"] }],
          },
        ],
      },
    });
  });
});

describe("the hash", () => {
  test("is base64url of SHA-256 over the canonical form of what the client received", async () => {
    const data = await caller.client.resources.get();
    expect(data.hash).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(data.hash).toBe(hashOf(data.resources));
  });

  test("follows the published test vector", () => {
    const resources = {
      models: [
        {
          model: "sandbox/image",
          modality: "image",
          availableRunOptions: [{ key: "quality", options: ["low", "medium", "high"] }],
        },
        {
          model: "sandbox/text",
          modality: "text",
          availableRunOptions: [{ key: "reasoningEffort", options: ["low", "medium", "high"] }],
        },
        { model: "sandbox/video", modality: "video", availableRunOptions: [] },
      ],
    };
    expect(hashOf(resources)).toBe("ebGYfUmEjkaiIcy0CxaEBTf6VAvJlGo8bZH4qZVvR-U");
  });

  test("is the same in every process of the installation", async () => {
    const other = await server.startAnother("api");
    const there = await server.clientOf(caller.apiKey, other.listenUrl ?? "").resources.get();
    expect(there.hash).toBe(hash);
  });
});

describe("action-require: update-resources", () => {
  const asked = async (agent: string) =>
    (await get(caller.client, "/v1/me", { "cli-agent": agent })).headers.get("action-require");

  test.each([
    () => "resources_hash=old",
    () => "resources_hash=",
    () => "old",
    () => `resources_hash=${hash}x`,
    () => `resources_hash=${hash.toLowerCase()}`,
    () => "promptd-cli/1.2",
  ])("is set when cli-agent does not name the current hash (%#)", async (agent) => {
    expect(await asked(agent())).toBe("update-resources");
  });

  test.each([
    () => `resources_hash=${hash}`,
    () => `resources_hash=${hash}; version=1.2`,
    () => `promptd-cli/1.2, resources_hash=${hash},x`,
    () => hash,
    () => `  ${hash}  `,
    () => "   ",
  ])("is absent when it does, or is blank (%#)", async (agent) => {
    expect(await asked(agent())).toBeNull();
  });

  test("is absent without cli-agent", async () => {
    expect((await get(caller.client, "/v1/me")).headers.has("action-require")).toBe(false);
  });

  const stale = { "cli-agent": "resources_hash=old" };
  test("is set on every authenticated answer, errors included", async () => {
    const { promptVersionId } = await server.publish(textPrompt());
    const poor = await server.createCaller({ credits: 0 });
    const lapsed = await server.createCaller({ plan: "none" });
    const answers = [
      await get(caller.client, "/v1/resources", stale),
      await get(caller.client, "/v1/runs", stale),
      await get(caller.client, "/v1/prompts/publish?q=tea", stale),
      await postRun(caller.client, bodyOf(promptVersionId, { topic: "tea" }), stale),
      await postRun(caller.client, "{", stale),
      await postRun(caller.client, {}, stale),
      await get(caller.client, "/v1/nothing", stale),
      await postRun(poor.client, bodyOf(promptVersionId, { topic: "tea" }), stale),
      await get(lapsed.client, "/v1/me", stale),
    ];
    expect(answers.map(({ httpStatus }) => httpStatus)).toEqual([200, 200, 200, 200, 400, 422, 404, 402, 402]);
    expect(answers.map(({ headers }) => headers.get("action-require"))).toEqual(answers.map(() => "update-resources"));
  });

  test("is not set on a 401, nor outside of /v1", async () => {
    const anonymous = await get(caller.client, "/v1/resources", { ...stale, authorization: null });
    const health = await get(caller.client, "/healthz", stale);
    expect([anonymous, health].map(({ headers }) => headers.has("action-require"))).toEqual([false, false]);
  });

  test("is also on a 429", async () => {
    const strict = await server.startAnother("api", { PROMPTD_RATE_LIMIT_PER_SECOND: "1" });
    const { apiKey } = await server.createCaller();
    const client = server.clientOf(apiKey, strict.listenUrl ?? "");
    await server.freezeTime(Date.UTC(2126, 0, 1));
    await get(client, "/v1/me");
    const denied = await get(client, "/v1/me", stale);
    await server.shiftTime(0);
    expect([denied.httpStatus, denied.headers.get("action-require")]).toEqual([429, "update-resources"]);
  });
});

describe("the cache", () => {
  test("is shown by ETag and Cache-Control", async () => {
    const { headers } = await get(caller.client, "/v1/resources");
    expect(headers.get("etag")).toBe(`"${hash}"`);
    expect(headers.get("cache-control")).toBe("private, no-cache");
  });

  test.each([() => `"${hash}"`, () => `W/"${hash}"`, () => `"old", "${hash}"`, () => "*"])(
    "is confirmed by 304 without a body when If-None-Match names the hash (%#)",
    async (tag) => {
      const answer = await get(caller.client, "/v1/resources", { "if-none-match": tag() });
      expect([answer.httpStatus, answer.text]).toEqual([304, ""]);
      expect(answer.headers.get("etag")).toBe(`"${hash}"`);
    },
  );

  test.each([() => '"old"', () => hash, () => `"${hash}x"`])("is refreshed by 200 otherwise (%#)", async (tag) => {
    expect((await get(caller.client, "/v1/resources", { "if-none-match": tag() })).httpStatus).toBe(200);
  });

  test("of the client: getIfChanged gives null while the hash is current", async () => {
    const { client } = await server.createCaller();
    expect(await client.resources.getIfChanged(hash)).toBeNull();
    expect((await client.resources.getIfChanged("old"))?.hash).toBe(hash);
  });
});

test("If-None-Match means nothing to the other endpoints", async () => {
  for (const { path, method } of Object.values(ENDPOINTS)) {
    if (method !== "GET" || path.includes(":") || path === ENDPOINTS.getResources.path) continue;
    const answer = await get(caller.client, `${path}?q=tea&slugs=tea`, { "if-none-match": "*" });
    expect([path, answer.httpStatus]).toEqual([path, 200]);
  }
});

// The last test: it changes the list for good.
test("the list and its hash change when a provider is configured, in every process, and callers are notified", async () => {
  await server.startAnother("all", { OPENAI_API_KEY: "sk-test" });
  const resources = await eventually(async () => {
    const list = await caller.client.resources.get();
    expect(list.hash).not.toBe(hash);
    return list;
  });
  expect(resources.resources.models.map(({ model }) => model)).toContain("openai/gpt-5.2");
  expect(resources.hash).toBe(hashOf(resources.resources));
  const answer = await get(caller.client, "/v1/me", { "cli-agent": `resources_hash=${hash}` });
  expect(answer.headers.get("action-require")).toBe("update-resources");
});
