/** Catalogue overlays as files that are gone after the test file (PROMPTD_MODELS_FILE). */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** Call it at the top of a test file. @returns writes an overlay of these models and gives its path. */
export function overlayFiles(): (overlay: object) => string {
  const directory = mkdtempSync(join(tmpdir(), "promptd-overlay-"));
  let written = 0;
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return (overlay) => {
    written += 1;
    const file = join(directory, `models-${written}.json`);
    writeFileSync(file, JSON.stringify({ formatVersion: 1, ...overlay }));
    return file;
  };
}
