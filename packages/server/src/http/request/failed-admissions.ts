import { isIPv6 } from "node:net";

/** Counts failed authentications per address, so that guessing keys is slow and cheap to refuse. */
export interface FailedAdmissions {
  /** Records one failure. @returns false if the address has already failed too often in the last second. */
  note(address: string): boolean;
}

/** More addresses than a process sees in a second; the least recently used address is dropped first. */
const ADDRESSES_MAX = 10_000;

/**
 * An exact sliding window: at most `perSecond` recorded failures in any second. Failures beyond that are not recorded,
 * so an address recovers one second after it slows down. `nowMs` is monotonic.
 */
export function createFailedAdmissions(perSecond: number, nowMs: () => number): FailedAdmissions {
  const rings = new Map<string, { readonly times: Float64Array; next: number }>();
  return {
    note(address) {
      const name = networkOf(address);
      const ring = rings.get(name) ?? { times: new Float64Array(perSecond).fill(Number.NEGATIVE_INFINITY), next: 0 };
      rings.delete(name);
      rings.set(name, ring);
      if (rings.size > ADDRESSES_MAX) rings.delete(rings.keys().next().value ?? "");
      const now = nowMs();
      if (now - (ring.times[ring.next] ?? 0) < 1_000) return false;
      ring.times[ring.next] = now;
      ring.next = (ring.next + 1) % perSecond;
      return true;
    },
  };
}

/**
 * Returns an IPv4 address itself, also if mapped into IPv6, and the /64 of an IPv6 address: one caller owns all of it.
 */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const plain = address.split("%")[0] ?? "";
  if (!isIPv6(plain)) return address;
  const [head = "", tail = ""] = plain.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail.split(":");
  // Without "::" all groups are on the left, and none are missing.
  const missing = 8 - left.length - right.length - (plain.includes(".") ? 1 : 0);
  const groups = [...left, ...Array.from({ length: Math.max(0, missing) }, () => "0"), ...right];
  const prefix = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${prefix.join(":")}::/64`;
}
