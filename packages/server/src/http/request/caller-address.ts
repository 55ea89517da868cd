import { isIP } from "node:net";

/**
 * The address of who asks. Each proxy adds to X-Forwarded-For whom it saw, at its end; what stands before is the caller's
 * own word. So with one proxy the last entry counts, with two the one before it.
 *
 * @param forwarded the values of X-Forwarded-For, in their order.
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
