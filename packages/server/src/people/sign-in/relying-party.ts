import { isIP } from "node:net";
import { isLoopback } from "../../platform/config/config.ts";

/** This server as passkeys know it: a domain and the origin of its pages. */
export interface RelyingParty {
  readonly id: string;
  readonly origin: string;
}

/**
 * Browsers make passkeys for a domain, over https or on the machine itself, where the domain is localhost. Null: the
 * address is a bare number, or not secure, so that no browser would.
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
