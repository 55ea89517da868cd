/** Where the server secret and those before it come from: settings, or files in the data directory. */
import type { Config } from "../../platform/config/config.ts";
import type { Log } from "../../platform/log.ts";
import {
  loadKeptSecrets,
  loadOrCreateSecret,
  loadPreviousSecret,
  readingsOfFile,
  readingsOfSetting,
  type SecretReadings,
} from "./server-secret.ts";

/** From the setting, or the one kept in the data directory. */
export async function readServerSecret({ PROMPTD_SECRET: text, dataDir }: Config): Promise<SecretReadings> {
  return text === null ? readingsOfFile(await loadOrCreateSecret(dataDir)) : readingsOfSetting(text);
}

/** What may be the secret before a rotation: the setting counts, then what the data directory holds. */
export async function readPreviousSecrets(config: Config, log: Log): Promise<Buffer[]> {
  const { PROMPTD_SECRET: text, PROMPTD_SECRET_PREVIOUS: previousText, dataDir } = config;
  if (previousText !== null) return [...readingsOfSetting(previousText)];
  const found = text === null ? [await loadPreviousSecret(dataDir)] : await readLeftSecrets(dataDir, log);
  return found.flatMap((secret) => (secret === null ? [] : readingsOfFile(secret)));
}

/** A process with the setting runs without these files, so one that cannot be used must not keep it from starting. */
async function readLeftSecrets(dataDir: string, log: Log): Promise<Buffer[]> {
  try {
    return await loadKeptSecrets(dataDir);
  } catch (error) {
    log.warn({ err: error }, "the secret in the data directory does not count as the previous one");
    return [];
  }
}
