/** The guarded fetcher with a test image host. */
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { GuardedFetchOptions } from "../../src/files/fetch/guarded-fetch.ts";
import { createGuardedFetch } from "../../src/files/index.ts";
import { startImageHost, type ImageHost } from "./image-host.ts";

export const never = new AbortController().signal;
export const BYTES_MAX = 100_000;

export interface GuardedFetchRig {
  host: ImageHost;
  /** The content of /cat.png. */
  png: Buffer;
}

/** One host per test file; before each test its routes, names, and records are empty except for /cat.png. */
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

/** The response of /away. */
export function redirectTo({ host }: GuardedFetchRig, address: string): void {
  const location = Buffer.from(address).toString("latin1"); // other letters are sent as UTF-8 bytes
  host.routes.set("/away", (_request, response) => response.writeHead(302, { location }).end());
}
