import { isIP } from "node:net";

/**
 * Returns the caller's address. Each proxy appends the address that it saw to X-Forwarded-For; entries before those are
 * the caller's own claim. So with one proxy the last entry counts, with two the one before it.
 *
 * @param forwarded the values of X-Forwarded-For, in order.
 */
export function callerAddress(socketAddress: string, forwarded: readonly string[], proxies: number): string {
  if (proxies === 0) return socketAddress;
  const seen = forwarded.flatMap((value) => value.split(",")).at(-proxies);
  const address = withoutPort(seen?.trim() ?? "");
  return isIP(address) === 0 ? socketAddress : address;
}

/** Some proxies add the port: `192.0.2.7:4711`, `[2001:db8::7]:4711`. */
function withoutPort(text: string): string {
  return /^\[([^\]]*)\](:\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text;
}
