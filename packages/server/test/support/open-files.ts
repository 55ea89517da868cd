import { createFiles, type Files } from "../../src/files/index.ts";
import type { FilesOptions } from "../../src/files/create-files.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { createLog } from "../../src/platform/log.ts";

/** The files slice as a process has it, at real time and with its own secret. */
export function openFiles(
  where: Pick<FilesOptions, "db" | "dataDir">,
  options: Partial<FilesOptions> = {},
): Promise<Files> {
  return createFiles({
    ...where,
    publicUrl: () => "https://promptd.example.org",
    ttlSeconds: 86_400,
    secret: [Buffer.alloc(32, 1)],
    clock: systemClock,
    newId: createIdSource(systemClock),
    log: createLog("silent"),
    ...options,
  });
}
