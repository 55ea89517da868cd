/** The secrets of better-auth, derived from the server's secret and from the one before a rotation. */
import { deriveKey } from "../../platform/secrets.ts";

interface AuthSecret {
  /** Names the secret at the beginning of everything that it encrypts. */
  readonly version: number;
  readonly value: string;
}

/** The current secret, then those from before a rotation. */
export type AuthSecrets = readonly [AuthSecret, ...AuthSecret[]];

export function deriveAuthSecrets(secret: Buffer, previous: readonly Buffer[]): AuthSecrets {
  const current = deriveAuthSecret(secret);
  const others = new Map(previous.map(deriveAuthSecret).map((one) => [one.version, one]));
  others.delete(current.version);
  return [current, ...others.values()];
}

const VERSION_BYTES = 4;

function deriveAuthSecret(secret: Buffer): AuthSecret {
  return {
    version: deriveKey(secret, "sessions of promptd, version", VERSION_BYTES).readUInt32BE(),
    value: deriveKey(secret, "sessions of promptd").toString("base64url"),
  };
}

/** The beginning of everything that better-auth encrypts with this secret. */
export function markOf({ version }: AuthSecret): string {
  return `$ba$${version}$`;
}
