/** The guarded fetcher before an image host of the test. */
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { GuardedFetchOptions } from "../../src/files/fetch/guarded-fetch.ts";
import { createGuardedFetch } from "../../src/files/index.ts";
import { startImageHost, type ImageHost } from "./image-host.ts";

export const never = new AbortController().signal;
export const BYTES_MAX = 100_000;

export interface GuardedFetchRig {
  host: ImageHost;
  /** What /cat.png answers. */
  png: Buffer;
}

/** One host for a file of tests; its routes, names and memory are empty before each test, but for /cat.png. */
export function useGuardedFetch(): GuardedFetchRig {
  const rig = {} as GuardedFetchRig;
  beforeAll(async () => {
    rig.host = await startImageHost();
    rig.png = await sharp({ create: { width: 8, height: 8, channels: 3, background: "red" } })
      .png()
      .toBuffer();
  });
  afterAll(() => rig.host.close());
  beforeEach(() => {
    const { host, png } = rig;
    host.routes.clear();
    host.names.clear();
    host.attempts.length = 0;
    host.questions.length = 0;
    host.requests.length = 0;
    host.routes.set("/cat.png", (_request, response) => response.writeHead(200).end(png));
  });
  return rig;
}

export function fetchFrom({ host }: GuardedFetchRig, address: string, options: Partial<GuardedFetchOptions> = {}) {
  return createGuardedFetch({ network: host.network, trusted: host.cert, ...options }).fetch(address, BYTES_MAX, never);
}

/** The answer of /away. */
export function redirectTo({ host }: GuardedFetchRig, address: string): void {
  const location = Buffer.from(address).toString("latin1"); // other letters travel as the bytes of their UTF-8
  host.routes.set("/away", (_request, response) => response.writeHead(302, { location }).end());
}
