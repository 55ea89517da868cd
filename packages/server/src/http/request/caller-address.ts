import { isIP } from "node:net";

/**
 * Returns the caller's address. Each proxy appends the address that it saw to X-Forwarded-For; entries before those are
 * the caller's own claim. So with one proxy the last entry counts, with two the one before it.
 *
 * @param forwarded the values of X-Forwarded-For, in order.
 */
export function callerAddress(socketAddress: string, forwarded: readonly string[], proxies: number): string {
  const peer = withoutMapping(socketAddress);
  if (proxies === 0) return peer;
  const seen = forwarded.flatMap((value) => value.split(",")).at(-proxies);
  const address = withoutPort(seen?.trim() ?? "");
  return isIP(address) === 0 ? peer : withoutMapping(address);
}

/** A socket that listens for IPv6 and IPv4 has `::ffff:192.0.2.7` for the IPv4 address 192.0.2.7. */
function withoutMapping(address: string): string {
  const isMapped = address.startsWith("::ffff:") && address.includes(".");
  return isMapped ? address.slice("::ffff:".length) : address;
}

/** Some proxies add the port: `192.0.2.7:4711`, `[2001:db8::7]:4711`. */
function withoutPort(text: string): string {
  return /^\[([^\]]*)\](:\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text;
}
