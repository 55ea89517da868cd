/** A victim's images next to slow-dripping hosts. In one process, because a real one fetches only from public addresses. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Files, StoredImage } from "../../packages/server/src/files/index.ts";
import { openDatabase } from "../../packages/server/src/platform/database/database.ts";
import { createLog } from "../../packages/server/src/platform/log.ts";
import { startImageHost, type ImageHost } from "../../packages/server/test/files/image-host.ts";
import { openFiles } from "../../packages/server/test/support/open-files.ts";
import { makePng } from "./pngs.ts";
import { SECRET } from "./service.ts";
import type { Contrast } from "./times.ts";

const LIMITS = { bytesMax: 10_485_760, sideMax: 2_048 };
/** Creates per attacker and second, as many as the rate limit admits, and images per create. */
const RUNS_PER_SECOND = 5;
const IMAGES_PER_RUN = 8;
const ATTACKERS = 4;

export async function measureFetches(databaseUrl: string, rounds: number): Promise<Contrast> {
  const dataDir = await mkdtemp(join(tmpdir(), "promptd-fairness-"));
  const db = await openDatabase({ url: databaseUrl, role: "bench", log: createLog("silent") });
  const host = await startImageHost();
  serveImages(host);
  const fetch = { network: host.network, trusted: host.cert };
  const files = await openFiles({ db, dataDir }, { fetch, secret: [Buffer.from(SECRET)] });
  await timeVictim(files, 5); // loads and compiles the code
  const alone = await timeVictim(files, rounds);
  const attacked = await underAttack(files, rounds);
  await host.close();
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
  return { alone, attacked };
}

function serveImages(host: ImageHost): void {
  const photo = makePng(3_000, 2_000, 3);
  host.routes.set("/photo", (_request, response) => response.writeHead(200).end(photo));
  host.routes.set("/drip", (_request, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write("x"), 100);
    response.on("close", () => clearInterval(timer));
  });
}

async function timeVictim(files: Files, rounds: number): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startMs = performance.now();
    const loaded = await files.loadImages(images("/photo", 2), { ...LIMITS, accountId: "victim" }, never());
    if (loaded.kind !== "loaded") throw new Error(loaded.message);
    times.push(performance.now() - startMs);
    await wait(100);
  }
  return times;
}

async function underAttack(files: Files, rounds: number): Promise<number[]> {
  const stop = new AbortController();
  const runs: Promise<unknown>[] = [];
  const attack = (): void => {
    for (let attacker = 0; attacker < ATTACKERS; attacker += 1) {
      const options = { ...LIMITS, accountId: `attacker ${attacker}` };
      const loading = files.loadImages(images("/drip", IMAGES_PER_RUN), options, stop.signal);
      runs.push(loading.catch(() => {}));
    }
  };
  const timer = setInterval(attack, 1_000 / RUNS_PER_SECOND);
  await wait(3_000); // until the attackers have everything they can get
  const times = await timeVictim(files, rounds);
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
