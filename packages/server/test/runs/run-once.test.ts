/** One call of the client's `run` makes one run, whatever lies between it and the server; counted in the database. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { setTimeout as wait } from "node:timers/promises";
import { createClient, type Client } from "@promptd/client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { directedPrompt } from "../prompts/prompt-files.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";

/** What a way does with one request: `lost` and `page` after the server has acted, `busy` without asking it. */
type Trouble = "lost" | "page" | "busy" | "hasty" | "none";

interface Way {
  readonly client: Client;
  /** Where requests go; null: nobody listens there. */
  target: string | null;
  /** Statuses of what the caller got, in order; 0 for a lost connection. */
  readonly seen: number[];
}

/** The client's seconds, in short: a server that restarts is not asked thousands of times meanwhile. */
const PAUSE_MS = 10;

let server: TestServer;
let version = "";
beforeAll(async () => {
  // The runs are executed by a server that each test starts, so that it can be stopped.
  server = await startTestServer({ role: "api" });
  version = (await server.publish(directedPrompt())).promptVersionId;
});
afterAll(() => server.close());

/** A proxy that does to the first requests what the list says, and a client that goes through it. */
async function openWay(caller: TestCaller, target: string, troubles: Trouble[]): Promise<Way> {
  const way = { target: target as string | null, seen: [] as number[] };
  const proxy = createServer((request, response) => void pass(request, response, troubles.shift() ?? "none"));
  async function pass(request: IncomingMessage, response: ServerResponse, trouble: Trouble): Promise<void> {
    response.once("close", () => way.seen.push(response.headersSent ? response.statusCode : 0));
    if (way.target === null) return void response.destroy();
    if (trouble === "busy") {
      const body = { status: "TOO_MANY_REQUESTS_ERROR", message: "Too many.", data: null };
      return void response.writeHead(429, { "retry-after": "1" }).end(JSON.stringify(body));
    }
    const answer = await forward(request, way.target, trouble === "hasty").catch(() => null);
    if (answer === null || trouble === "lost") return void response.destroy();
    if (trouble === "page")
      return void response.writeHead(504, { "content-type": "text/html" }).end("<html>504</html>");
    response.writeHead(answer.status, withoutLength(answer.headers));
    if (answer.body === null) return void response.end();
    await pipeline(Readable.fromWeb(answer.body as never), response).catch(() => response.destroy());
  }
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const baseUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const delay = () => wait(PAUSE_MS);
  return Object.assign(way, { client: createClient({ baseUrl, apiKey: caller.apiKey, delay }) });
}

/** @param isHasty leaves out what the caller prefers, so that the server's own wait ends in a 504. */
async function forward(request: IncomingMessage, target: string, isHasty: boolean) {
  const { host: _host, connection: _connection, prefer, ...rest } = request.headers;
  const headers = { ...rest, ...(isHasty || prefer === undefined ? {} : { prefer }) } as Record<string, string>;
  const body = request.method === "POST" ? { body: await text(request) } : {};
  return fetch(target + (request.url ?? ""), { method: request.method ?? "GET", headers, ...body });
}

function withoutLength(headers: Headers): Record<string, string> {
  const left = [...headers].filter(([name]) => !/^(content-length|content-encoding|transfer-encoding)$/.test(name));
  return Object.fromEntries(left);
}

async function countRuns({ accountId }: TestCaller): Promise<unknown> {
  const rows = await server.app.db.query("select count(*)::int as runs from runs where account_id = $1", [accountId]);
  return rows[0];
}

describe("one call of run makes one run", () => {
  test.each<[string, Trouble[], number[]]>([
    ["after a lost answer", ["lost", "lost", "none"], [0, 0, 200]],
    ["after a proxy's bare 504", ["page", "page", "none"], [504, 504, 200]],
    ["in a storm of 429", [...Array<Trouble>(30).fill("busy"), "none"], [...Array<number>(30).fill(429), 200]],
    ["after the 504 of the server", ["hasty"], [504, 200]],
    ["after all of them", ["busy", "lost", "page", "hasty", "busy", "page"], [429, 0, 504, 504, 429, 504, 200]],
  ])("%s", async (_, troubles, seen) => {
    const caller = await server.createCaller();
    const isHasty = troubles.includes("hasty");
    const all = await server.startAnother("all", isHasty ? { PROMPTD_SYNC_WAIT_MS: "200" } : {});
    const way = await openWay(caller, all.listenUrl ?? "", [...troubles]);
    const finished = await way.client.run(version, {
      inputs: { do: isHasty ? "delay=2000" : "delay=300" },
      retryForMs: 10_000_000,
    });
    expect(finished.runStatus).toBe("succeeded");
    expect(way.seen.slice(0, seen.length)).toEqual(seen);
    expect(new Set(way.seen.slice(seen.length - 1))).toEqual(new Set([200]));
    expect(await countRuns(caller)).toEqual({ runs: 1 });
  });

  test("while the server stops and another one is started", async () => {
    const caller = await server.createCaller();
    const first = await server.startAnother("all");
    const way = await openWay(caller, first.listenUrl ?? "", []);
    const states: string[] = [];
    const started = Promise.withResolvers<null>();
    const task = way.client.run(version, {
      inputs: { do: "delay=1500" },
      retryForMs: 10_000_000,
      onProgress: ({ event, data }) => {
        if (event === "status") states.push(data.runStatus);
        if (event === "status" && data.runStatus === "running") started.resolve(null);
      },
    });
    await started.promise;
    way.target = null;
    await first.close();
    const second = await server.startAnother("all");
    way.target = second.listenUrl;
    expect((await task).runStatus).toBe("succeeded");
    expect(states.at(-1)).toBe("succeeded");
    expect(await countRuns(caller)).toEqual({ runs: 1 });
    expect((await server.checkLedger()).mismatches).toEqual([]);
  });
});
