import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openTestDatabase } from "../../../test/support/test-database.ts";
import type { Database } from "../../platform/database/database.ts";
import { createLog } from "../../platform/log.ts";
import { loadCatalogue } from "./catalogue.ts";
import { createEnabledModels, type RunLimit } from "./enabled-models.ts";
import { switchModel, writeFound } from "./enabled-models-store.ts";

const log = createLog("silent");
let db: Database;
const limited = new Map<string, RunLimit>();
beforeEach(async () => {
  limited.clear();
  const opened = await openTestDatabase();
  db = opened.db;
  return () => opened.close();
});

/** A process with its own environment on the shared database. */
async function start(environment: Record<string, string> = {}, localHosts: readonly string[] = [], ownPort = 8_787) {
  const foundConcurrency = Number(environment["PROMPTD_COMPATIBLE_CONCURRENCY"] ?? 0) || null;
  const secret = (name: string): string | null => environment[name] ?? null;
  const catalogue = loadCatalogue({ overlayFile: null, hasSecret: (name) => secret(name) !== null, sandbox: true });
  const probe = { secret, localModels: true, ownPort, localHosts };
  const enabled = await createEnabledModels({
    catalogue,
    db,
    log,
    probe,
    foundConcurrency,
    limitRuns: async (limits) => {
      for (const [model, limit] of limits) limited.set(model, limit);
    },
  });
  onTestFinished(() => enabled.close());
  await enabled.announce();
  const probeAgain = async (): Promise<void> => {
    await enabled.ticks[0]?.run();
  };
  return { catalogue, enabled, probeAgain };
}

async function serveModels(answer: (path: string) => string): Promise<{ host: string; server: Server }> {
  const server = createServer((request, response) => response.end(answer(request.url ?? "")));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}
const list = (...ids: string[]) => JSON.stringify({ object: "list", data: ids.map((id) => ({ id })) });

describe("the enabled set", () => {
  test("is the same in every process, whatever keys each has", async () => {
    const first = await start();
    const second = await start({ OPENAI_API_KEY: "k" });
    expect(first.catalogue.isEnabled("openai/gpt-5.2")).toBe(false);
    await first.enabled.refresh();
    expect(first.catalogue.isEnabled("openai/gpt-5.2")).toBe(true);
    expect(first.catalogue.resources().hash).toBe(second.catalogue.resources().hash);
  });

  test("is the set of the process that started last", async () => {
    const first = await start({ OPENAI_API_KEY: "k" });
    const second = await start();
    await first.enabled.refresh();
    expect(first.catalogue.isEnabled("openai/gpt-5.2")).toBe(false);
    expect(first.catalogue.resources().hash).toBe(second.catalogue.resources().hash);
  });
});

describe("a model that an operator has switched off", () => {
  test("is enabled in no process, however often one restarts, until it is switched on again", async () => {
    const first = await start({ OPENAI_API_KEY: "k" });
    await switchModel(db, "openai/gpt-5.2", true);
    const second = await start({ OPENAI_API_KEY: "k" });
    await first.enabled.refresh();
    const isEnabled = () => [first, second].map(({ catalogue }) => catalogue.isEnabled("openai/gpt-5.2"));
    expect(isEnabled()).toEqual([false, false]);
    expect(first.catalogue.resources().hash).toBe(second.catalogue.resources().hash);
    await switchModel(db, "openai/gpt-5.2", false);
    await Promise.all([first.enabled.refresh(), second.enabled.refresh()]);
    expect(isEnabled()).toEqual([true, true]);
  });
});

test("a process that freezes while writing the set does not block others with the same configuration from starting", async () => {
  const { host } = await serveModels((path) => (path === "/v1/models" ? list("llama3.2:latest") : "{}"));
  await start({ OPENAI_API_KEY: "k" }, [host]);
  await db.tx(async (tx) => {
    await tx.query("lock table enabled_models in share row exclusive mode");
    const { catalogue } = await start({ OPENAI_API_KEY: "k" }, [host]);
    expect(catalogue.isEnabled("local/llama3.2:latest")).toBe(true);
  });
});

describe("a process that calls no models", () => {
  async function startReader(through: Database = db) {
    const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true });
    const enabled = await createEnabledModels({
      catalogue,
      db: through,
      log,
      probe: null,
      foundConcurrency: null,
      limitRuns: async () => {},
    });
    onTestFinished(() => enabled.close());
    return { catalogue, enabled };
  }

  test("reads the set, including found models, and leaves writing it to processes with keys", async () => {
    const { host } = await serveModels(() => list("llama"));
    const worker = await start({ OPENAI_API_KEY: "k" }, [host]);
    const { catalogue, enabled } = await startReader();
    expect(catalogue.isEnabled("openai/gpt-5.2")).toBe(true);
    expect(catalogue.find("local/llama")).not.toBeNull();
    expect(catalogue.resources().hash).toBe(worker.catalogue.resources().hash);
    expect(enabled.ticks).toEqual([]);
    await worker.enabled.refresh();
    expect(worker.catalogue.isEnabled("openai/gpt-5.2")).toBe(true);
  });

  test("ignores the result of a query that a later query overtook", async () => {
    let isHeld = false;
    const [read, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const pipelined: Database["pipelined"] = async <Row extends object>(
      ...query: Parameters<Database["pipelined"]>
    ) => {
      const rows = await db.pipelined<Row>(...query);
      if (!isHeld) return rows;
      isHeld = false;
      read.resolve();
      await released.promise;
      return rows;
    };
    const { catalogue, enabled } = await startReader({ ...db, pipelined });
    isHeld = true;
    const late = enabled.refresh(); // as happens automatically every five seconds
    await read.promise;
    await start({ OPENAI_API_KEY: "k" });
    await enabled.refresh();
    expect(catalogue.isEnabled("openai/gpt-5.2")).toBe(true);
    released.resolve();
    await late;
    expect(catalogue.isEnabled("openai/gpt-5.2")).toBe(true);
  });

  test("uses its own configuration until some process has written the set", async () => {
    const { catalogue, enabled } = await startReader();
    expect(catalogue.isEnabled("sandbox/text")).toBe(true);
    expect(catalogue.isEnabled("openai/gpt-5.2")).toBe(false);
    await start({ OPENAI_API_KEY: "k" });
    await enabled.refresh();
    expect(catalogue.isEnabled("openai/gpt-5.2")).toBe(true);
  });
});

describe("a model server on this machine", () => {
  test("is found, and its models are listed under local/ with permanent numbers, without embedding models", async () => {
    const { host } = await serveModels(() => list("llama3.2:3b", "Qwen/Qwen3-8B", "nomic-embed-text"));
    const { catalogue } = await start({}, [host]);
    expect(catalogue.find("local/llama3.2:3b")).toMatchObject({
      index: 20_000,
      providerModel: "llama3.2:3b",
      api: "chat",
      server: { baseURL: `http://${host}/v1` },
      limits: { concurrency: 64, maxOutputTokens: 2_048 },
      isPaced: true,
    });
    expect(catalogue.find("local/qwen/qwen3-8b")).toMatchObject({ index: 20_001, providerModel: "Qwen/Qwen3-8B" });
    expect(catalogue.resources().resources.models.filter(({ model }) => model.startsWith("local/"))).toHaveLength(2);
    expect((await start({}, [host])).catalogue.find("local/qwen/qwen3-8b")?.index).toBe(20_001);
  });

  test("disappears after three missed probes in a row, and not before", async () => {
    let answer = list("llama");
    const { host } = await serveModels(() => answer);
    const { catalogue, probeAgain } = await start({}, [host]);
    answer = "";
    await probeAgain();
    await probeAgain();
    expect(catalogue.isEnabled("local/llama")).toBe(true);
    await probeAgain();
    expect(catalogue.isEnabled("local/llama")).toBe(false);
    expect(catalogue.find("local/llama")).toBeNull();
  });

  test.each([
    ["a web page", "<html>"],
    ["another kind of list", JSON.stringify({ object: "page", data: [{ id: "x" }] })],
    ["more than 64 KiB", list(...Array.from({ length: 3_000 }, (_, i) => `model-${i}-${"x".repeat(20)}`))],
    ["ids that are not strings", JSON.stringify({ object: "list", data: [{ id: 5 }, null] })],
  ])("that returns %s is not a model server", async (_name, answer) => {
    const { host } = await serveModels(() => answer);
    const { catalogue } = await start({}, [host]);
    expect(catalogue.resources().resources.models.filter(({ model }) => model.startsWith("local/"))).toEqual([]);
  });

  test("that never responds does not delay startup", async () => {
    const server = createServer(() => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => server.closeAllConnections());
    await expect(start({}, [`127.0.0.1:${(server.address() as AddressInfo).port}`])).resolves.toBeDefined();
    server.close();
  });

  test("is not probed at our own port", async () => {
    const { host } = await serveModels(() => list("llama"));
    const { catalogue } = await start({}, [host], Number(host.split(":")[1]));
    expect(catalogue.find("local/llama")).toBeNull();
  });

  test("is probed at OLLAMA_HOST if that is a loopback address", async () => {
    const { host } = await serveModels(() => list("llama"));
    expect((await start({ OLLAMA_HOST: host })).catalogue.isEnabled("local/llama")).toBe(true);
  });
});

describe("concurrent runs of a found model", () => {
  const hosted = { provider: "compatible", baseUrl: "https://models.example.org/v1", providerModel: "m" };
  const limitOf = (found: Awaited<ReturnType<typeof start>>, model: string) => {
    const entry = found.catalogue.find(model);
    return { max: entry?.limits.concurrency, isPaced: entry?.isPaced };
  };

  test("are limited to 64 if its server requires a key, and follow the server's pace if not", async () => {
    await writeFound(db, [
      { model: "compatible/keyed", server: { ...hosted, isKeyed: true } },
      { model: "compatible/open", server: { ...hosted, isKeyed: false } },
    ]);
    const process = await start();
    expect(limitOf(process, "compatible/keyed")).toEqual({ max: 64, isPaced: false });
    expect(limitOf(process, "compatible/open")).toEqual({ max: 64, isPaced: true });
  });

  test("follow the pace of a server on this machine, even with a key", async () => {
    const { host } = await serveModels(() => list("llama"));
    const process = await start({ OPENAI_BASE_URL: `http://${host}`, OPENAI_API_KEY: "k" });
    expect(limitOf(process, "compatible/llama")).toEqual({ max: 64, isPaced: true });
    expect(limited.get("compatible/llama")).toEqual({ max: 64, isPaced: true });
  });

  test("are limited to the operator's setting, everywhere", async () => {
    const { host } = await serveModels(() => list("llama"));
    const process = await start({ PROMPTD_COMPATIBLE_CONCURRENCY: "7" }, [host]);
    expect(limitOf(process, "local/llama")).toEqual({ max: 7, isPaced: false });
    expect(limited.get("local/llama")).toEqual({ max: 7, isPaced: false });
  });
});

describe("OPENAI_BASE_URL without a key", () => {
  test("offers what the server lists: known models under their own names, others under compatible/", async () => {
    const { host } = await serveModels((path) => (path === "/v1/models" ? list("gpt-5.2", "mistral") : ""));
    const { catalogue } = await start({ OPENAI_BASE_URL: `http://${host}` });
    expect(catalogue.isEnabled("openai/gpt-5.2")).toBe(true);
    expect(catalogue.isEnabled("openai/gpt-5.5")).toBe(false);
    expect(catalogue.find("compatible/mistral")).toMatchObject({ server: { baseURL: `http://${host}/v1` } });
  });
});

describe("OPENAI_BASE_URL with a key", () => {
  async function serveKeyed(body: string) {
    const keys: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      keys.push(request.headers.authorization);
      response.end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, keys };
  }
  const compatibleOf = ({ catalogue }: Awaited<ReturnType<typeof start>>) =>
    catalogue
      .resources()
      .resources.models.map(({ model }) => model)
      .filter((model) => model.startsWith("compatible/"));

  test("requests the list with the key, and offers listed models besides the known ones, at a price to confirm", async () => {
    const { url, keys } = await serveKeyed(JSON.stringify({ data: [{ id: "gpt-5.2" }, { id: "Meta/Llama-4:free" }] }));
    const started = await start({ OPENAI_BASE_URL: `${url}/api/v1`, OPENAI_API_KEY: "sk-k" });
    expect(keys).toEqual(["Bearer sk-k"]);
    expect(started.catalogue.isEnabled("openai/gpt-5.5")).toBe(true);
    expect(compatibleOf(started)).toEqual(["compatible/meta/llama-4:free"]);
    expect(started.catalogue.find("compatible/meta/llama-4:free")).toMatchObject({
      providerModel: "Meta/Llama-4:free",
      server: { baseURL: `${url}/api/v1` },
      requires: "OPENAI_API_KEY",
      priceToConfirm: true,
    });
  });

  test.each([
    "../../admin",
    "a/../b",
    "a//b",
    "/a",
    "a\nb",
    "a\u0000b",
    "a\u202eb",
    "a b",
    "a?b",
    "a#b",
    "a%2fb",
    "\u212aelvin",
    `a${"b".repeat(100)}`,
  ])("leaves out the id %j", async (id) => {
    const { url } = await serveKeyed(list("fine", id));
    expect(compatibleOf(await start({ OPENAI_BASE_URL: url, OPENAI_API_KEY: "k" }))).toEqual(["compatible/fine"]);
  });

  test("accepts a list as long as OpenRouter's, up to a thousand models and 4 MiB", async () => {
    const ids = Array.from({ length: 1_100 }, (_, i) => ({ id: `maker/model-${i}`, description: "x".repeat(1_000) }));
    const { url } = await serveKeyed(JSON.stringify({ data: ids }));
    expect(compatibleOf(await start({ OPENAI_BASE_URL: url, OPENAI_API_KEY: "k" }))).toHaveLength(1_000);
    const { url: flood } = await serveKeyed(
      JSON.stringify({ data: [{ id: "a", description: "x".repeat(4_194_304) }] }),
    );
    expect(compatibleOf(await start({ OPENAI_BASE_URL: flood, OPENAI_API_KEY: "k" }))).not.toContain("compatible/a");
  });

  test("does not send the key along a redirect", async () => {
    const { url: elsewhere, keys } = await serveKeyed(list("a"));
    const server = createServer((_request, response) => response.writeHead(302, { location: elsewhere }).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(compatibleOf(await start({ OPENAI_BASE_URL: url, OPENAI_API_KEY: "k" }))).toEqual([]);
    expect(keys).toEqual([]);
  });
});
