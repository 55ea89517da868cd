/**
 * The rules of the address /mcp apart from its tools: who is admitted, what is rejected, and that any process answers.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { directedPrompt, promptFile } from "../prompts/prompt-files.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { connect, textsOf } from "./mcp-clients.ts";
import { eventually } from "../support/eventually.ts";

let server: TestServer;
let caller: TestCaller;

beforeAll(async () => {
  server = await startTestServer({ environment: { PROMPTD_CORS_ORIGINS: "https://agents.example.org" } });
  caller = await server.createCaller();
  await server.publish(directedPrompt({ slug: "directed" }));
});
afterAll(() => server.close());

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

function post(body: unknown, headers: Record<string, string> = {}, path = "/mcp") {
  return fetch(server.url + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${caller.apiKey}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

describe("admission", () => {
  test.each(["", "Bearer pd_000000000000000000000000000000000000"])(
    "with the credential %j, a 401 leads to the metadata, which names the authorization server",
    async (authorization) => {
      const refused = await post(INITIALIZE, { authorization });
      expect(refused.status).toBe(401);
      const metadata = `${server.url}/.well-known/oauth-protected-resource/mcp`;
      expect(refused.headers.get("www-authenticate")).toBe(`Bearer resource_metadata="${metadata}"`);
      const expected = {
        resource: `${server.url}/mcp`,
        resource_name: "promptd",
        authorization_servers: [server.url],
        bearer_methods_supported: ["header"],
        resource_documentation: `${server.url}/docs/mcp`,
      };
      expect(await (await fetch(metadata)).json()).toEqual(expected);
      expect(await (await fetch(`${server.url}/.well-known/oauth-protected-resource`)).json()).toEqual(expected);
    },
  );

  test("a revoked key, and an account without a plan, are refused as everywhere", async () => {
    const revoked = await server.createKey(caller.accountId);
    await server.revokeKey(revoked.keyId);
    expect((await post(INITIALIZE, { authorization: `Bearer ${revoked.apiKey}` })).status).toBe(401);
    const { apiKey } = await server.createCaller({ plan: "none" });
    expect((await post(INITIALIZE, { authorization: `Bearer ${apiKey}` })).status).toBe(402);
  });

  test("a page of another origin is refused unless the operator names its origin", async () => {
    expect((await post(INITIALIZE, { origin: "https://rebound.example.org" })).status).toBe(403);
    expect((await post(INITIALIZE, { origin: "null" })).status).toBe(403);
    expect((await post(INITIALIZE, { origin: "https://agents.example.org" })).status).toBe(200);
    expect((await post(INITIALIZE, { origin: new URL(server.url).origin })).status).toBe(200);
    const preflight = await fetch(`${server.url}/mcp`, {
      method: "OPTIONS",
      headers: { origin: "https://agents.example.org", "access-control-request-method": "POST" },
    });
    expect(preflight.headers.get("access-control-allow-origin")).toBe("https://agents.example.org");
    expect(preflight.headers.get("access-control-allow-headers")).toContain("Mcp-Protocol-Version");
  });
});

describe("these are refused", () => {
  test("a separate event stream, and the end of a session, because neither exists", async () => {
    const headers = { authorization: `Bearer ${caller.apiKey}`, accept: "text/event-stream" };
    expect((await fetch(`${server.url}/mcp`, { headers })).status).toBe(405);
    expect((await fetch(`${server.url}/mcp`, { method: "DELETE", headers })).status).toBe(405);
  });

  test("a body that is missing, not JSON, or nested too deeply", async () => {
    for (const body of ["{", "[".repeat(100) + "]".repeat(100), ""]) {
      const refused = await post(body);
      expect([refused.status, ((await refused.json()) as { status: string }).status]).toEqual([
        400,
        "BAD_REQUEST_ERROR",
      ]);
    }
  });

  test("the cancellation of a request whose id no header could carry, without ending anything", async () => {
    const message = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "\ud800" } };
    const session = { "mcp-session-id": crypto.randomUUID() };
    expect((await post(message, session)).status).toBe(202);
    expect((await post(INITIALIZE)).status).toBe(200);
  });

  test("more than 40 chosen prompts", async () => {
    const names = (count: number) => Array.from({ length: count }, (_, index) => `prompt-${index}`).join(",");
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
    expect((await post(list, {}, `/mcp?prompts=${names(40)}`)).status).toBe(200);
    const refused = await post(list, {}, `/mcp?prompts=${names(41)}`);
    expect(refused.status).toBe(422);
    expect(((await refused.json()) as { message: string }).message).toBe(
      "At most 40 prompts can be tools of their own, got 41.",
    );
  });
});

test("calls over the rate limit wait for admission, and the limit stays the same", async () => {
  const limited = await server.startAnother("api", { PROMPTD_RATE_LIMIT_PER_SECOND: "5" });
  const { apiKey } = await server.createCaller();
  const startedMs = performance.now();
  const listed = Array.from({ length: 12 }, async (_, id) => {
    const answer = await fetch(`${limited.listenUrl}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${apiKey}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id, method: "tools/list", params: {} }),
    });
    return answer.status;
  });
  expect(await Promise.all(listed)).toEqual(Array.from({ length: 12 }, () => 200));
  expect(performance.now() - startedMs).toBeGreaterThan(1_900);
});

describe("in two processes", () => {
  const callRun = (id: number | string, input: string) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "run_prompt", arguments: { prompt: "directed", inputs: { do: input } } },
  });
  const runs = async () => (await caller.client.runs.list({ limit: 50 })).rows;

  test("a call that is sent again to the other process joins the same run", async () => {
    const other = await server.startAnother("api");
    const before = (await runs()).length;
    const session = (await post(INITIALIZE)).headers.get("mcp-session-id") ?? "";
    const [first, second] = await Promise.all(
      [server.url, other.listenUrl ?? ""].map(async (url) => {
        const answer = await fetch(`${url}/mcp`, {
          method: "POST",
          headers: {
            authorization: `Bearer ${caller.apiKey}`,
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
            "mcp-session-id": session,
          },
          body: JSON.stringify(callRun(7, "delay=300")),
        });
        return answer.text();
      }),
    );
    expect(first).toBe(second);
    expect((await runs()).length).toBe(before + 1);
  });

  test("a number and its text form are ids of two different calls", async () => {
    const session = { "mcp-session-id": (await post(INITIALIZE)).headers.get("mcp-session-id") ?? "" };
    const before = (await runs()).length;
    const calls = [77, "77", "77", 77].map(async (id) => (await post(callRun(id, "tokens=1"), session)).text());
    const answers = (await Promise.all(calls)).map((text) => /Run (\S+),/.exec(text)?.[1]);
    expect((await runs()).length).toBe(before + 2);
    expect([answers[2], answers[3]]).toEqual([answers[1], answers[0]]);
  });

  test("a cancel message that reaches the other process cancels the run", async () => {
    const other = await server.startAnother("api");
    const session = (await post(INITIALIZE)).headers.get("mcp-session-id") ?? "";
    const waiting = post(callRun(9, "hang"), { "mcp-session-id": session });
    await eventually(async () => expect((await runs())[0]?.runStatus).toBe("running"));
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 9 } };
    const accepted = await fetch(`${other.listenUrl}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${caller.apiKey}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-session-id": session,
      },
      body: JSON.stringify(cancelled),
    });
    expect(accepted.status).toBe(202);
    expect(await (await waiting).text()).toContain("Canceled by user.");
    expect((await runs())[0]?.runStatus).toBe("failed");
  });

  test("a host with an older protocol that loses its connection does not lose its run", async () => {
    const gone = new AbortController();
    const request = fetch(`${server.url}/mcp`, {
      method: "POST",
      signal: gone.signal,
      headers: {
        authorization: `Bearer ${caller.apiKey}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify(callRun(3, "delay=1500")),
    }).catch(() => null);
    await eventually(async () => expect((await runs())[0]?.runStatus).toBe("running"));
    gone.abort();
    await request;
    const runId = (await runs())[0]?.runId ?? "";
    expect((await caller.client.runs.get(runId, { waitSeconds: 20 })).runStatus).toBe("succeeded");
  });

  test("a server that is stopping says that the run continues", async () => {
    const other = await server.startAnother("api");
    const client = await connect("HTTP of 2026", { url: other.listenUrl ?? "", apiKey: caller.apiKey });
    const begun = Promise.withResolvers<void>();
    const call = { name: "run_prompt", arguments: { prompt: "directed", inputs: { do: "delay=2500" } } };
    const calling = client.callTool(call, {
      onprogress: ({ message }) => (message === "running" ? begun.resolve() : undefined),
    });
    await begun.promise;
    const [{ content }] = await Promise.all([calling, other.close()]);
    const [run] = await runs();
    expect(textsOf(content)[0]).toBe(
      `Error: The server is stopping. The run ${run?.runId} continues. Read it with get_run.`,
    );
    const ended = await caller.client.runs.get(run?.runId ?? "", { waitSeconds: 20 });
    expect(ended.runStatus).toBe("succeeded");
  });
});

describe("GET /v1/prompt-slugs", () => {
  const ask = async (query: string) => {
    const { httpStatus, envelope } = await caller.client.request({ method: "GET", path: `/v1/prompt-slugs${query}` });
    return { httpStatus, data: envelope?.data as Record<string, unknown> };
  };

  test("returns prompts in order of their names, each once, and names the ones that do not exist", async () => {
    const { promptVersionId } = await server.publish(promptFile({ slug: "one-of-many" }));
    const { httpStatus, data } = await ask("?slugs=nobody,ONE-OF-MANY,directed,one-of-many,directed@nobody");
    expect(httpStatus).toBe(200);
    const rows = data["rows"] as { slug: string; label: null; promptVersionId: string; description: string }[];
    expect(rows.map(({ slug }) => slug)).toEqual(["one-of-many", "directed"]);
    expect(rows[0]).toMatchObject({ label: null, promptVersionId, description: "For the tests of the wire." });
    expect(data["missing"]).toEqual(["nobody", "directed@nobody"]);
  });

  test.each(["", "?slugs=", "?slugs=a%20b", "?slugs=a@", "?label=A", `?slugs=${"a,b".repeat(0)}%00`])(
    "refuses %j",
    async (query) => {
      expect((await ask(query)).httpStatus).toBe(422);
    },
  );
});
