import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { CommandTable } from "../src/command.ts";
import { END_USER_COMMANDS } from "../src/end-user-commands.ts";
import { NO_TERMINAL, type Terminal } from "../src/terminal/terminal.ts";
import { runCommandHere } from "./run-here.ts";

interface Seen {
  readonly route: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

export interface Reply {
  readonly status?: number;
  /** Sent in a SUCCESS envelope. */
  readonly data?: unknown;
  /** Sent as an error envelope. */
  readonly error?: { code: string; message: string; data?: unknown };
  readonly bytes?: Uint8Array;
  readonly headers?: Record<string, string>;
}

/** Maps "GET /v1/me" to its response; "never" keeps the connection open. A missing route is a 404 envelope. */
export type Routes = Record<string, Reply | "never" | ((seen: Seen) => Reply)>;

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Person {
  readonly terminal?: Partial<Terminal>;
  /** What is typed when a secret is asked for. */
  readonly secret?: string;
  /** The answer to a question. */
  readonly answer?: string;
  readonly stdin?: string;
}

/** A real HTTP server with scripted routes, an empty home folder, and the command line in this process. */
export async function setup(routes: Routes = {}, table: CommandTable = END_USER_COMMANDS, person: Person = {}) {
  const opened: string[] = [];
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const route = `${request.method} ${request.url}`;
      const one: Seen = { route, headers: request.headers, body: text === "" ? null : JSON.parse(text) };
      seen.push(one);
      const found = routes[route] ?? routes[`${request.method} ${request.url?.split("?")[0]}`];
      if (found === "never") return;
      const reply = typeof found === "function" ? found(one) : (found ?? NOT_FOUND);
      response.writeHead(reply.status ?? (reply.error === undefined ? 200 : 404), {
        "content-type": "application/json",
        ...reply.headers,
      });
      response.end(reply.bytes ?? JSON.stringify(envelopeOf(reply)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const home = await mkdtemp(join(tmpdir(), "promptd-cli-"));
  onTestFinished(async () => {
    await closeServer(server);
    await rm(home, { recursive: true });
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env: Record<string, string> = { HOME: home, PROMPTD_URL: baseUrl, PROMPTD_API_KEY: "pd_test" };
  const stop = new AbortController();
  const run = async (...argv: string[]): Promise<Outcome> => {
    const around = {
      env,
      directory: home,
      terminal: { ...NO_TERMINAL, ...person.terminal },
      readStdin: async () => person.stdin ?? "pd_from_stdin\n",
      askSecret: async () => person.secret ?? null,
      ask: async () => person.answer ?? null,
      openBrowser: async (url: string) => opened.push(url) > 0,
      listenForStop: () => stop.signal,
    };
    const { code, stdout, stderr } = await runCommandHere(argv, around, table);
    return { code, stdout, stderr };
  };
  const runJson = async (...argv: string[]): Promise<unknown> => {
    const outcome = await run(...argv, "--json");
    if (outcome.stdout === "") throw new Error(`no document: ${outcome.stderr}`);
    return JSON.parse(outcome.stdout);
  };
  return { run, runJson, seen, env, home, baseUrl, stop, opened };
}

const NOT_FOUND: Reply = { error: { code: "NOT_FOUND_ERROR", message: "No such thing." } };

function envelopeOf(reply: Reply): unknown {
  if (reply.error === undefined) return { status: "SUCCESS", data: reply.data };
  const { code, message, data } = reply.error;
  return { status: code, message, data: data ?? null };
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
