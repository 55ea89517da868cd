/** Slow image inputs of one account never delay those of other accounts. */
import { expect, test } from "vitest";
import type { StoredImage } from "../../src/files/index.ts";
import { LIMITS, never, openFiles, storeImage, storeInput, useFiles } from "./files-fixture.ts";
import { writePng } from "./png-bytes.ts";
import { until } from "../support/promptd-process.ts";

const rig = useFiles();
const SLOW = { ...LIMITS, accountId: "slow" };
const QUICK = { ...LIMITS, accountId: "quick" };
const url = (path: string): StoredImage => ({ type: "url", url: `https://images.example.org${path}` });

test.each([
  { accounts: 1, fetches: 8 },
  { accounts: 4, fetches: 28 },
])(
  "while the image hosts of $accounts are silent, those have $fetches fetches, and others are served at once",
  async (slow) => {
    const times = { headersMs: 60_000, totalMs: 60_000 };
    const files = await openFiles(rig, { fetch: { network: rig.host.network, trusted: rig.host.cert, times } });
    let silent = 0;
    rig.host.routes.set("/silent", () => void (silent += 1));
    rig.host.routes.set("/quick", (_request, response) => response.writeHead(200).end(rig.png));
    const stop = new AbortController();
    const runs = Array.from({ length: 5 * slow.accounts }, (_, i) =>
      files.loadImages(
        Array(8).fill(url("/silent")) as StoredImage[],
        { ...LIMITS, accountId: `slow ${i % slow.accounts}` },
        stop.signal,
      ),
    );
    const ended = Promise.allSettled(runs);
    await until(() => silent >= slow.fetches);
    expect(await files.loadImages([url("/quick"), url("/quick")], QUICK, never)).toMatchObject({ kind: "loaded" });
    expect(silent).toBe(slow.fetches);
    stop.abort(new Error("canceled"));
    await ended;
  },
);

test("a host that fails for one account is still used for another", async () => {
  const files = await openFiles(rig);
  rig.host.routes.set("/broken", (_request, response) => response.writeHead(500).end());
  rig.host.routes.set("/quick", (_request, response) => response.writeHead(200).end(rig.png));
  for (let runs = 0; runs < 5; runs += 1) {
    expect(await files.loadImages([url("/broken")], SLOW, never)).toMatchObject({ kind: "refused" });
  }
  expect(await files.loadImages([url("/quick")], QUICK, never)).toMatchObject({ kind: "loaded" });
});

test("while an account's input image is decoded, its generated images are stored as usual", async () => {
  const files = await openFiles(rig);
  const side = 6_000;
  const large = writePng({ width: side, height: side, depth: 8, color: 6 }, Buffer.alloc((4 * side + 1) * side));
  let isLoaded = false;
  const loading = files.loadImages(await storeInput(files, large), LIMITS, never).finally(() => (isLoaded = true));
  // If images waited for the input, only those from before its decoding would be stored.
  for (let stored = 0; stored < 6; stored += 1) await storeImage(files, rig.png);
  expect(isLoaded).toBe(false);
  expect(await loading).toMatchObject({ kind: "loaded" });
});
