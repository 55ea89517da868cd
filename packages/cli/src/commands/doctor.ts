import { createClient, type Client } from "@promptd/client";
import { createManageClient } from "@promptd/client/manage";
import { countOf, USER_FLAGS } from "@promptd/contract";
import { stat } from "node:fs/promises";
import { CommandFailure, type Command, type CommandIo } from "../command.ts";
import { explainError } from "../explain-error.ts";
import { formatTable } from "../output.ts";
import { configPath, describeMissingSecret, readConnection, readUserConfig } from "../user-config.ts";

type State = "ok" | "failed" | "skipped";

interface Check {
  readonly name: string;
  readonly state: State;
  readonly detail: string;
}

export const doctor: Command = {
  summary: "Check the configuration, the server, and the key",
  usage: "",
  details: "The exit code is 1 when a check fails.",
  session: `$ promptd doctor
OK       config file       server address from: config file
OK       server            https://promptd.example.org/healthz answered
OK       server readiness  https://promptd.example.org/readyz answered
OK       API key           key of ada (config file), plan active, 480 credits
OK       models            14 enabled
OK       token             not set; not needed for runs`,
  options: {},
  async run(_args, io) {
    const checks = await examine(io);
    const isHealthy = checks.every((check) => check.state !== "failed");
    const rows = checks.map((check) => [check.state.toUpperCase(), check.name, check.detail]);
    io.result({ healthy: isHealthy, checks }, formatTable(rows));
    return isHealthy ? 0 : 1;
  },
};

/** Later checks depend on earlier ones. After a failure, the rest would only repeat it, so they are skipped. */
async function examine(io: CommandIo): Promise<Check[]> {
  const checks: Check[] = [];
  const steps: readonly (readonly [string, () => Promise<string>])[] = [
    ["config file", () => checkConfigFile(io)],
    ["server", () => checkPath(io, "/healthz")],
    ["server readiness", () => checkPath(io, "/readyz")],
    ["API key", () => checkKey(io)],
    ["models", () => checkModels(io)],
    ["token", () => checkToken(io)],
  ];
  for (const [name, step] of steps) {
    const hasFailed = checks.some((check) => check.state === "failed");
    checks.push(hasFailed ? { name, state: "skipped", detail: "" } : await perform(name, step));
  }
  return checks;
}

async function perform(name: string, step: () => Promise<string>): Promise<Check> {
  try {
    return { name, state: "ok", detail: await step() };
  } catch (error) {
    const known = error instanceof CommandFailure ? error : explainError(error);
    const message = known?.message ?? (error instanceof Error ? error.message : String(error));
    const sentences = [message.replace(/[^.]$/, "$&."), known?.hint ?? ""]; // the system's messages have no period
    return { name, state: "failed", detail: sentences.join(" ").trim() };
  }
}

async function checkConfigFile(io: CommandIo): Promise<string> {
  const path = configPath(io.env);
  await readUserConfig(io.env); // also if the environment overrides all of it, because other commands write it
  const connection = await readConnection(io.env);
  const mode = await stat(path).then(
    (found) => found.mode & 0o777,
    () => null,
  );
  // Windows has no such modes: Node reports every file there as readable by all.
  if (mode !== null && (mode & 0o077) !== 0 && process.platform !== "win32") {
    throw new Error(`${path} can be read by others (mode ${mode.toString(8)}). Run: chmod 600 ${path}`);
  }
  return `server address from: ${connection.urlOrigin}${mode === null ? "; no config file" : ""}`;
}

async function checkPath(io: CommandIo, path: string): Promise<string> {
  const { url } = await readConnection(io.env);
  const client = openClient(url, "none", io);
  const answer = await client.request({ method: "GET", path, headers: { authorization: null }, signal: io.signal });
  if (answer.httpStatus !== 200) throw new Error(`${url}${path} answered HTTP ${answer.httpStatus}.`);
  return `${url}${path} answered`;
}

async function checkKey(io: CommandIo): Promise<string> {
  const connection = await readConnection(io.env);
  const { url, apiKey, apiKeyOrigin, token } = connection;
  if (apiKey === null && token !== null) return "not set; needed for runs and search, but not for your own prompts";
  if (apiKey === null) throw describeMissingSecret("apiKey", connection);
  const client = openClient(url, apiKey, io);
  const profile = await client.me.get({ signal: io.signal });
  const { credits } = await client.me.credits({ signal: io.signal });
  const plan = (profile.userFlags & USER_FLAGS.planActive) === 0 ? "no active plan" : "plan active";
  return `key of ${profile.username ?? "an account without a name"} (${apiKeyOrigin}), ${plan}, ${countOf(credits, "credit")}`;
}

async function checkModels(io: CommandIo): Promise<string> {
  const { url, apiKey } = await readConnection(io.env);
  if (apiKey === null) return "not checked; needs an API key";
  const { resources } = await openClient(url, apiKey, io).resources.get({ signal: io.signal });
  if (resources.models.length === 0) throw new Error("The server offers no models.");
  return `${resources.models.length} enabled`;
}

/** A token is needed only for keys, credits, usage, and your own prompts. */
async function checkToken(io: CommandIo): Promise<string> {
  const { url, token, tokenOrigin } = await readConnection(io.env);
  if (token === null) return "not set; not needed for runs";
  const manage = createManageClient({ baseUrl: url, token, fetch: io.fetch, maxRetries: 1, timeoutMs: 10_000 });
  const { person, scopes } = await manage.send("getSession", { signal: io.signal });
  return `token of ${person.email} (${tokenOrigin}), ${scopes?.join(", ") ?? "all scopes"}`;
}

function openClient(baseUrl: string, apiKey: string, io: CommandIo): Client {
  return createClient({ baseUrl, apiKey, fetch: io.fetch, maxRetries: 1, timeoutMs: 10_000 });
}
