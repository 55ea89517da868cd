/** The peers in bench/peers, set up as their documentation recommends for production. `npm run bench:peers` installs them. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const PEERS = join(import.meta.dirname, "../peers");

export const peerFile = (name: string): string => join(PEERS, name);

export function requirePeers(): void {
  if (!existsSync(join(PEERS, "node_modules")))
    throw new Error("The peers are not installed. Run: npm run bench:peers");
}

/** The installed version. */
export function versionOf(name: string): string {
  const text = readFileSync(join(PEERS, "node_modules", name, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
