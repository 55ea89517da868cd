/** The served OpenAPI document, compared with the headers of real responses. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { RESPONSE_HEADERS } from "../../src/http/response/response-headers.ts";
import { Problem } from "../../src/platform/problem.ts";
import { CREATE, ID, PUBLIC_URL, startEdge, type EdgeServer } from "./http-edge-server.ts";

interface Described {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
}
interface Document {
  readonly servers: unknown;
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Described>> }>>>
  >;
  readonly components: { readonly responses: Readonly<Record<string, Described>> };
}

let edge: EdgeServer;
let document: Document;
beforeAll(async () => {
  const createRun = async () => {
    const location = `${PUBLIC_URL}/v1/runs/${ID}`;
    const headers = { location, "retry-after": "2", "preference-applied": "wait=1", "idempotent-replayed": "true" };
    throw new Problem("GATEWAY_TIMEOUT_ERROR", "Still running.", { data: { runId: ID }, headers });
  };
  const getCredits = () => Promise.reject(new Error("broken"));
  edge = await startEdge({ handlers: { createRun, getCredits } });
  document = JSON.parse(await (await edge.get("/openapi.json", {})).text());
});
afterAll(() => edge.http.close());

test("the document names the public URL as its server", () => {
  expect(document.servers).toEqual([{ url: PUBLIC_URL }]);
});

test.each([
  [200, "/v1/me", "good"],
  [401, "/v1/me", "unknown"],
  [402, "/v1/me", "lapsed"],
  [422, "/v1/runs", "good"],
  [429, "/v1/me", "fast"],
  [500, "/v1/me/credits", "good"],
  [504, "/v1/runs", "good"],
])("every header of a %i is described for that response", async (status, path, key) => {
  const headers = { authorization: `Bearer ${key}`, "cli-agent": "resources_hash=old" };
  const isCreate = status === 504;
  const query = status === 422 ? "?limit=0&more=1" : "?more=1";
  const answer = isCreate ? await edge.post(path + query, CREATE, headers) : await edge.get(path + query, headers);
  expect(answer.status).toBe(status);
  const described = document.paths[path]?.[isCreate ? "post" : "get"]?.responses[status];
  const { headers: listed = {} } =
    document.components.responses[described?.$ref?.split("/").at(-1) ?? ""] ?? described ?? {};
  const sent = Object.keys(RESPONSE_HEADERS).filter((name) => answer.headers.has(name));
  expect(Object.keys(listed)).toEqual(expect.arrayContaining(sent));
  const counted = status === 401 ? [] : ["RateLimit", "RateLimit-Policy", "action-require"];
  expect(sent).toEqual(expect.arrayContaining(["X-Request-Id", ...counted]));
});
