import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** Created in a separate process, so that creating them does not count in the measured memory. */
export function makePng(width: number, height: number, channels: number): Buffer {
  const code = `require("sharp")({ create: { width: ${width}, height: ${height}, channels: ${channels},
    background: { r: 1, g: 2, b: 3, alpha: 0.5 } } }).png({ compressionLevel: 9 }).toBuffer()
    .then((bytes) => process.stdout.write(bytes))`;
  const cwd = join(import.meta.dirname, "../../packages/server");
  return execFileSync(process.execPath, ["-e", code], { cwd, maxBuffer: 10_000_000 });
}
