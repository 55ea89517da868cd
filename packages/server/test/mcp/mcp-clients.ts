/** The official MCP client, for every way to reach the tools. */
import { Client, StreamableHTTPClientTransport, type ContentBlock } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { COMPILE_CACHE } from "../support/promptd-process.ts";

/** Over HTTP as 2025 and 2026 clients do, and through a command line process. */
export const WAYS = ["HTTP of 2025", "HTTP of 2026", "standard input"] as const;
export type Way = (typeof WAYS)[number];

export interface Connecting {
  readonly url: string;
  readonly apiKey: string;
  readonly prompts?: string;
  readonly label?: string;
  /** A folder whose images calls may name; only on standard input. */
  readonly images?: string;
}

const MAIN = fileURLToPath(new URL("../../../cli/src/main.ts", import.meta.url));

const connected = new Map<string, Promise<Client>>();

/** A connection shared by all tests of a file, because a command line process takes half a second to start. */
export function connectOnce(way: Way, to: Connecting): Promise<Client> {
  const name = JSON.stringify([way, to]);
  const client = connected.get(name) ?? open(way, to);
  connected.set(name, client);
  return client;
}

export async function closeAll(): Promise<void> {
  const clients = await Promise.all(connected.values());
  await Promise.all(clients.map((client) => client.close()));
}

/** A connection that ends with its test. */
export async function connect(way: Way, to: Connecting): Promise<Client> {
  const client = await open(way, to);
  onTestFinished(() => client.close());
  return client;
}

async function open(way: Way, to: Connecting): Promise<Client> {
  const mode = way === "HTTP of 2026" ? { pin: "2026-07-28" } : ("legacy" as const);
  const client = new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(way === "standard input" ? stdioTransport(to) : httpTransport(to));
  return client;
}

function httpTransport({ url, apiKey, prompts, label }: Connecting): StreamableHTTPClientTransport {
  const address = new URL(`${url}/mcp`);
  if (prompts !== undefined) address.searchParams.set("prompts", prompts);
  if (label !== undefined) address.searchParams.set("label", label);
  return new StreamableHTTPClientTransport(address, {
    requestInit: { headers: { authorization: `Bearer ${apiKey}` } },
  });
}

function stdioTransport({ url, apiKey, prompts, label, images }: Connecting): StdioClientTransport {
  const choice = [
    ...(prompts === undefined ? [] : ["--tools", prompts]),
    ...(label === undefined ? [] : ["--label", label]),
    ...(images === undefined ? [] : ["--images", images]),
  ];
  return new StdioClientTransport({
    command: process.execPath,
    args: ["--conditions=promptd-source", MAIN, "mcp", ...choice],
    env: { PROMPTD_URL: url, PROMPTD_API_KEY: apiKey, HOME: "/nonexistent", NODE_COMPILE_CACHE: COMPILE_CACHE },
    stderr: "ignore",
  });
}

/**
 * The progress messages that arrive over a connection from now on. The official client does not report messages that
 * arrive in one piece with the result, so this listens where they arrive.
 */
export function hearProgress({ transport }: Client): unknown[] {
  if (transport === undefined) throw new Error("The client is not connected.");
  const heard: unknown[] = [];
  const { onmessage } = transport;
  const hear: typeof onmessage = (message, extra) => {
    if ("method" in message && message.method === "notifications/progress") heard.push(message.params?.["message"]);
    onmessage?.(message, extra);
  };
  Object.assign(transport, { onmessage: hear });
  onTestFinished(() => void Object.assign(transport, { onmessage }));
  return heard;
}

export function textsOf(content: readonly ContentBlock[]): string[] {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : []));
}
