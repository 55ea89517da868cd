/**
 * What image inputs of one account cost another: how long the images of a victim's run take alone, while another account
 * names hosts that drip, and while it sends images that are small and decode to 49 megapixels. One process, one run.
 *
 *   node --conditions=promptd-source bench/fairness.ts [--rounds 40]
 *
 * Prints one JSON line and writes it to bench/results/. The ratio is the victim's p95 under attack to its p95 alone.
 */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createFiles, type Files, type StoredImage } from "../packages/server/src/files/index.ts";
import { systemClock } from "../packages/server/src/platform/clock.ts";
import { openDatabase } from "../packages/server/src/platform/database/database.ts";
import { createIdSource } from "../packages/server/src/platform/ids.ts";
import { createLog } from "../packages/server/src/platform/log.ts";
import { startImageHost, type ImageHost } from "../packages/server/test/files/image-host.ts";
import type { ChaosDatabase } from "./chaos/database-server.ts";
import { readCommit } from "./commit.ts";
import { measureOnDatabase } from "./measure-on-database.ts";
import { percentile } from "./search/measures.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "40" },
    out: { type: "string", default: join(import.meta.dirname, "results", "fairness.json") },
  },
});
const LIMITS = { bytesMax: 10_485_760, sideMax: 2_048 };
/** Creates of the attacker in a second, as many as the rate limit admits, and the images of each. */
const RUNS_PER_SECOND = 5;
const IMAGES_PER_RUN = 8;

await measureOnDatabase("embedded", values.out, measure);

async function measure(server: ChaosDatabase) {
  const dataDir = await mkdtemp(join(tmpdir(), "promptd-fairness-"));
  const log = createLog("silent");
  const db = await openDatabase({ url: server.url, role: "bench", log });
  const host = await startImageHost();
  serveImages(host);
  const files = await createFiles({
    db,
    dataDir,
    publicUrl: () => "https://promptd.example.org",
    ttlSeconds: 86_400,
    secret: [Buffer.alloc(32, 1)],
    clock: systemClock,
    newId: createIdSource(systemClock),
    log,
    fetch: { network: host.network, trusted: host.cert },
  });
  await timeVictim(files); // code is loaded and compiled
  const alone = await timeVictim(files);
  const drip = await underAttack(files, "/drip");
  const bombs = await underAttack(files, "/bomb");
  await host.close();
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
  return {
    rounds: Number(values.rounds),
    ms: { alone: describe(alone), drip: describe(drip), bombs: describe(bombs) },
    ratioOfP95: {
      drip: round(percentile(drip, 0.95) / percentile(alone, 0.95)),
      bombs: round(percentile(bombs, 0.95) / percentile(alone, 0.95)),
    },
    rssMaxMib: Math.round(process.resourceUsage().maxRSS / 1_024),
    machine: `${cpus().length} x ${cpus()[0]?.model ?? "?"}`,
    loadAverage: loadavg().map(round),
    node: process.version,
    commit: readCommit(),
    at: new Date().toISOString(),
  };
}

/** Made in a process of their own, or the making would be in the memory that is measured. */
function makePng(width: number, height: number, channels: number): Buffer {
  const code = `require("sharp")({ create: { width: ${width}, height: ${height}, channels: ${channels},
    background: { r: 1, g: 2, b: 3, alpha: 0.5 } } }).png({ compressionLevel: 9 }).toBuffer()
    .then((bytes) => process.stdout.write(bytes))`;
  const cwd = join(import.meta.dirname, "../packages/server");
  return execFileSync(process.execPath, ["-e", code], { cwd, maxBuffer: 10_000_000 });
}

function serveImages(host: ImageHost): void {
  const [photo, bomb] = [makePng(3_000, 2_000, 3), makePng(8_192, 6_000, 4)];
  host.routes.set("/photo", (_request, response) => response.writeHead(200).end(photo));
  host.routes.set("/bomb", (_request, response) => response.writeHead(200).end(bomb));
  host.routes.set("/drip", (_request, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write("x"), 100);
    response.on("close", () => clearInterval(timer));
  });
}

async function timeVictim(files: Files): Promise<number[]> {
  const times: number[] = [];
  for (let rounds = 0; rounds < Number(values.rounds); rounds += 1) {
    const startMs = performance.now();
    const loaded = await files.loadImages(images("/photo", 2), { ...LIMITS, accountId: "victim" }, never());
    if (loaded.kind !== "loaded") throw new Error(loaded.message);
    times.push(performance.now() - startMs);
    await wait(100);
  }
  return times;
}

async function underAttack(files: Files, path: string): Promise<number[]> {
  const stop = new AbortController();
  const runs: Promise<unknown>[] = [];
  const attack = (): void => {
    const loading = files.loadImages(images(path, IMAGES_PER_RUN), { ...LIMITS, accountId: "attacker" }, stop.signal);
    runs.push(loading.catch(() => {}));
  };
  const timer = setInterval(attack, 1_000 / RUNS_PER_SECOND);
  await wait(3_000); // until the attacker has all that it can get
  const times = await timeVictim(files);
  clearInterval(timer);
  stop.abort(new Error("the measurement is over"));
  await Promise.all(runs);
  return times;
}

function images(path: string, count: number): StoredImage[] {
  return Array.from({ length: count }, () => ({ type: "url", url: `https://images.example.org${path}` }));
}

function never(): AbortSignal {
  return new AbortController().signal;
}

function describe(times: readonly number[]) {
  return { p50: round(percentile(times, 0.5)), p95: round(percentile(times, 0.95)) };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
