/** The peers, set up as their documentation says for production: bench/peers, installed by `npm run bench:peers`. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const PEERS = join(import.meta.dirname, "../peers");

export const peerFile = (name: string): string => join(PEERS, name);

export function requirePeers(): void {
  if (!existsSync(join(PEERS, "node_modules"))) throw new Error("The peers are not installed: npm run bench:peers");
}

/** As installed. */
export function versionOf(name: string): string {
  const text = readFileSync(join(PEERS, "node_modules", name, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
