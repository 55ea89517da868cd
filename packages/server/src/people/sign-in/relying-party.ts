import { isIP } from "node:net";
import { isLoopback } from "../../platform/config/config.ts";

/** This server as passkeys identify it: a domain, and the origin of its pages. */
export interface RelyingParty {
  readonly id: string;
  readonly origin: string;
}

/**
 * Browsers create passkeys for a domain, over https, or on the machine itself under the domain localhost. Null: the
 * address is a bare IP address or not secure, so no browser would create one.
 */
export function relyingPartyOf(publicUrl: string): RelyingParty | null {
  const url = new URL(publicUrl);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isLoopback(host)) {
    url.hostname = "localhost";
    return { id: "localhost", origin: url.origin };
  }
  return url.protocol !== "https:" || isIP(host) !== 0 ? null : { id: host, origin: url.origin };
}
