/** The kit passes on our own server, and catches each of many broken gateways in front of it by the name of a check. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { END_USER_COMMANDS } from "../../../cli/src/end-user-commands.ts";
import { runCli } from "../../../cli/src/run-cli.ts";
import { NO_TERMINAL } from "../../../cli/src/terminal/terminal.ts";
import { textPrompt } from "../prompts/prompt-files.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";

const RATE = "5";

let server: TestServer;
let caller: TestCaller;
let other: TestCaller;
/** The URL of a process that admits few requests. */
let limitedUrl: string;

beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller();
  other = await server.createCaller();
  await server.publish(textPrompt({ title: "Tea poem", slug: "conform-tea" }));
  const limited = await server.startAnother("api", { PROMPTD_RATE_LIMIT_PER_SECOND: RATE });
  limitedUrl = limited.listenUrl ?? "";
  await caller.client.run("conform-tea", { inputs: { topic: "an older run" } });
});
afterAll(() => server.close());

const conform = (url: string, ...options: string[]) => conformWith(caller.apiKey, url, ...options);

async function conformWith(apiKey: string, url: string, ...options: string[]) {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runCli(["conform", url, apiKey, ...options], END_USER_COMMANDS, {
    env: {},
    directory: "/",
    fetch: globalThis.fetch,
    terminal: NO_TERMINAL,
    readStdin: async () => "",
    ask: async () => null,
    askSecret: async () => null,
    openBrowser: async () => false,
    writeOut: (text) => out.push(text),
    writeError: (text) => err.push(text),
    listenForStop: () => new AbortController().signal,
  });
  return { code, stdout: out.join(""), stderr: err.join("") };
}

interface Report {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly checks: readonly { group: string; name: string; result: string; detail: string | null }[];
}

const failedOf = ({ stdout }: { readonly stdout: string }): string[] =>
  (JSON.parse(stdout) as Report).checks
    .filter(({ result }) => result === "failed")
    .map(({ group, name, detail }) => `${group}: ${name} <- ${detail}`);

const FAST = ["--rate", "1000", "--json"];

describe("on our own server", () => {
  test("at least 150 checks pass and none fails, for one run whose price is printed first", async () => {
    const { credits } = await caller.client.me.credits();
    const ran = await conform(server.url, ...FAST, "--other-key", other.apiKey);
    expect(failedOf(ran)).toEqual([]);
    const report = JSON.parse(ran.stdout) as Report;
    expect(report.passed).toBeGreaterThanOrEqual(150);
    expect(ran.code).toBe(0);
    const price = /^This creates 1 run of the prompt "Tea poem", about (\d+) credits?\.$/m.exec(ran.stderr)?.[1];
    expect(Number(price)).toBeGreaterThan(0);
    expect(credits - (await caller.client.me.credits()).credits).toBeLessThanOrEqual(Number(price));
    const skipped = report.checks.filter(({ result }) => result === "skipped").map(({ group }) => group);
    expect(new Set(skipped)).toEqual(new Set(["Extensions", "Rate limit"]));
  });

  test("a prompt whose inputs all have defaults is also run once", async () => {
    const fields = "inputs: { topic: { default: tea } }";
    const version = await server.publish(textPrompt({ title: "Easy poem", slug: "conform-easy", fields }));
    const runs = async () =>
      server.app.db.query("select 1 from runs where prompt_version_id = $1", [version.promptVersionId]);
    const ran = await conform(server.url, ...FAST, "--prompt", version.promptId, "--only", "Creating a run");
    expect(failedOf(ran)).toEqual([]);
    expect(await runs()).toHaveLength(1);
  });

  test("a prompt whose model is not available is not chosen, even if it is cheaper", async () => {
    const gateway = await startGateway((answer, { path }) => {
      if (path !== "/v1/prompts/publish?q=poem") return answer;
      const found = JSON.parse(answer.text) as { data: { rows: { configs: object }[] } };
      const [row] = found.data.rows;
      const configs = { ...row?.configs, model: "other/model" };
      const cheaper = { ...row, title: "Cheaper poem", estimatedCredits: 0, configs };
      const data = { ...found.data, rows: [cheaper, ...found.data.rows] };
      return { ...answer, text: JSON.stringify({ ...found, data }) };
    });
    const { stderr } = await conform(gateway.url, ...FAST, "--only", "the profile has username");
    expect(stderr).toMatch(/ of the prompt "(?!Cheaper)/);
  });

  test("the rate limit and extension checks also pass", async () => {
    const only = ["--only", "Rate limit", "--only", "Extensions", "--extensions"];
    const ran = await conform(limitedUrl, "--rate", RATE, "--json", ...only);
    expect(failedOf(ran)).toEqual([]);
    expect((JSON.parse(ran.stdout) as Report).skipped).toBe(0);
  });

  test("the report groups the checks, and a failed check shows what was sent, received, and expected", async () => {
    const { code, stdout } = await conform(server.url, "--rate", "1000", "--only", "the profile has username");
    expect([code, stdout]).toEqual([
      0,
      "Profile and credits\n  ✓ the profile has username: a string or null\n1 check: 1 passed, 0 failed, 0 skipped.\n",
    ]);
    const gateway = await startGateway((answer) => ({ ...answer, text: answer.text.replace('"username"', '"name"') }));
    const broken = await conform(gateway.url, "--rate", "1000", "--only", "the profile has username");
    expect(broken.code).toBe(1);
    expect(broken.stdout).toContain(`  ✗ the profile has username: a string or null
      request   GET /v1/me
      response  HTTP 200 (application/json; charset=utf-8) {"status":"SUCCESS","data":{"name":`);
    expect(broken.stdout).toContain(
      "      expected  username as a string or null (specification: User (GET /v1/me))\n",
    );
    expect(broken.stdout).not.toContain(caller.apiKey);
  });

  test("nothing is checked when the server rejects the key or does not respond", async () => {
    const refused = await conformWith("pd_unknown", server.url, ...FAST);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("the server rejects this API key (401).");
    const absent = await conform("http://127.0.0.1:1", ...FAST);
    expect(absent).toMatchObject({ code: 1, stdout: "" });
    expect(absent.stderr).toContain("Nothing can be checked: GET /v1/prompts/publish?q=poem got no response (");
  });

  test("a run that would cost more than allowed is rejected before it is created", async () => {
    await server.publish(textPrompt({ slug: "conform-dear", title: "Dear" }));
    const before = (await caller.client.runs.list({ limit: 1 })).rows[0]?.runId;
    const invalidPrompt = await conform(server.url, "--rate", "1000", "--prompt", "abc");
    expect(invalidPrompt.code).toBe(1);
    expect(invalidPrompt.stderr).toContain("The prompt abc cannot be read");
    expect((await caller.client.runs.list({ limit: 1 })).rows[0]?.runId).toBe(before);
  });
});

interface Passing {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
}

/** @param change alters a response. @param alter alters a request, or responds itself. */
async function startGateway(
  change: (answer: Answer, request: Passing) => Answer,
  alter: (request: Passing) => Passing | Answer = (request) => request,
): Promise<{ readonly url: string }> {
  const gateway: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "GET", url: path = "/" } = request;
      const { authorization, "cli-agent": agent } = request.headers;
      const passing = { method, path, authorization, body: Buffer.concat(chunks).toString() };
      void pass(passing, Array.isArray(agent) ? undefined : agent).then(({ status, headers, text }) =>
        response.writeHead(status, headers).end(text),
      );
    });
  });
  const pass = async (request: Passing, agent: string | undefined): Promise<Answer> => {
    const altered = alter(request);
    if ("status" in altered) return altered;
    const answer = await fetch(server.url + altered.path, {
      method: altered.method,
      headers: {
        ...(altered.authorization === undefined ? {} : { authorization: altered.authorization }),
        ...(agent === undefined ? {} : { "cli-agent": agent }),
        ...(altered.body === "" ? {} : { "content-type": "application/json" }),
      },
      ...(altered.body === "" ? {} : { body: altered.body }),
    });
    const passed = ["content-type", "retry-after", "action-require"].flatMap((name) => {
      const value = answer.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    });
    return change({ status: answer.status, headers: Object.fromEntries(passed), text: await answer.text() }, request);
  };
  await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
  const { port } = gateway.address() as AddressInfo;
  onTestFinished(async () => {
    gateway.closeAllConnections();
    await new Promise((resolve) => gateway.close(resolve));
  });
  return { url: `http://127.0.0.1:${port}` };
}

const asIs = (answer: Answer): Answer => answer;
const JSON_TYPE = { "content-type": "application/json" };
const MANY = JSON.stringify({ status: "TOO_MANY_REQUESTS_ERROR", message: "Wait.", data: null });
const isRunPath = ({ path }: Passing): boolean => /^\/v1\/runs\/[0-9a-f-]{36}$/.test(path);

/** What a gateway does, how, and the check that catches it. Only these groups are run, with `--other-key`. */
const GATEWAYS: readonly {
  readonly does: string;
  readonly change?: (answer: Answer, request: Passing) => Answer;
  readonly alter?: () => (request: Passing) => Passing | Answer;
  readonly only: readonly string[];
  readonly caught: string;
  readonly rate?: string;
}[] = [
  {
    does: "returns its own error pages",
    change: (answer) =>
      answer.status < 400 ? answer : { ...answer, headers: { "content-type": "text/html" }, text: "<h1>Error</h1>" },
    only: ["Search", "Every response"],
    caught: "Every response: is a JSON object",
  },
  {
    does: "labels JSON as text",
    change: (answer) => ({ ...answer, headers: { ...answer.headers, "content-type": "text/plain" } }),
    only: ["Profile", "Every response"],
    caught: "Every response: says in Content-Type that it is JSON",
  },
  {
    does: "drops Retry-After",
    alter: () => (request) => (request.path === "/v1/me" ? { status: 429, headers: JSON_TYPE, text: MANY } : request),
    only: ["Retry-After how long"],
    caught: "Rate limit: a 429 says in Retry-After how long to wait",
    rate: "20",
  },
  {
    does: "responds from its own cache without a limit",
    alter: () => (request) =>
      request.path === "/v1/me" ? { status: 200, headers: JSON_TYPE, text: '{"status":"SUCCESS","data":{}}' } : request,
    only: ["requests above the limit"],
    caught: "Rate limit: requests above the limit return 429",
    rate: "20",
  },
  {
    does: "turns a 422 into a 400",
    change: (answer) => (answer.status === 422 ? { ...answer, status: 400 } : answer),
    only: ["Search", "Every response"],
    caught: "Search: a search without q is rejected with 422",
  },
  {
    does: "returns 200 for what does not exist",
    change: (answer) => (answer.status === 404 ? { ...answer, status: 200 } : answer),
    only: ["Retrieving", "Every response"],
    caught: "Every response: has the HTTP status of its code",
  },
  {
    does: "drops unknown response headers",
    change: (answer) => ({ ...answer, headers: JSON_TYPE }),
    only: ["Models"],
    caught: "Models: a client with a different hash is asked to refresh",
  },
  {
    does: "substitutes its own key",
    alter: () => (request) => ({ ...request, authorization: `Bearer ${caller.apiKey}` }),
    only: ["Authentication"],
    caught: "Authentication: GET /v1/me without a key returns 401",
  },
  {
    does: "caches responses without regard to the key",
    alter: () => {
      let cached: string | null = null;
      return (request) => {
        if (request.path !== "/v1/runs?limit=50") return request;
        cached ??= request.authorization ?? null;
        return { ...request, authorization: cached ?? "" };
      };
    },
    only: ["Listing runs"],
    caught: "Listing runs: another account does not see the run",
  },
  {
    does: "adds details to a 404",
    change: (answer, request) =>
      answer.status === 404 && isRunPath(request) && !request.path.includes("00000000")
        ? { ...answer, text: answer.text.replace("No run", "Not your run, no run") }
        : answer,
    only: ["Retrieving"],
    caught: "Retrieving a run: another account's run looks like an unknown run",
  },
  {
    does: "drops unknown query parameters",
    alter: () => (request) => ({ ...request, path: request.path.replace(/&?startingAfter=[^&]*/, "") }),
    only: ["Pages of the list"],
    caught: "Pages of the list: startingAfter returns runs created before that run",
  },
  {
    does: "rejects members that a schema does not list",
    alter: () => (request) =>
      request.body.includes("notListed")
        ? {
            status: 422,
            headers: JSON_TYPE,
            text: '{"status":"VALIDATION_ERROR","message":"notListed is not allowed.","data":null}',
          }
        : request,
    only: ["Creating a run:"],
    caught: "Creating a run: a run is created, and members that the table does not list are ignored",
  },
  {
    does: "removes members that are null",
    change: (answer) => ({ ...answer, text: answer.text.replace(/,"data":null/, "") }),
    only: ["Prompt versions", "Every response"],
    caught: "Every response: has the member data",
  },
  {
    does: "writes times in another format",
    change: (answer) => ({
      ...answer,
      text: answer.text.replaceAll(/"publishedAt":"[^"]*"/g, '"publishedAt":1795169730'),
    }),
    only: ["Search"],
    caught: "Search: each row of a search has publishedAt: an ISO 8601 time",
  },
];

describe("a gateway that", () => {
  test.each(GATEWAYS)("$does is caught by name", async ({ change = asIs, alter, only, caught, rate = "1000" }) => {
    const gateway = await startGateway(change, alter?.());
    const wanted = only.flatMap((pattern) => ["--only", pattern]);
    const options = ["--rate", rate, "--json", "--other-key", other.apiKey, ...wanted];
    const broken = await conform(gateway.url, ...options);
    expect(broken.code).toBe(1);
    expect(failedOf(broken).map((line) => line.split(" <- ")[0])).toContain(caught);
  });

  test("changes nothing passes", async () => {
    const gateway = await startGateway(asIs);
    const only = ["Models", "Search", "Every response"].flatMap((pattern) => ["--only", pattern]);
    const ran = await conform(gateway.url, ...FAST, ...only);
    expect([failedOf(ran), ran.code]).toEqual([[], 0]);
  });
});
