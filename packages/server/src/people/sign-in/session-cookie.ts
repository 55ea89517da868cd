/** The session cookie: its name and token. Does not load better-auth, which only a sign-in needs. */
import { createHmac } from "node:crypto";
import { isSameSecret } from "../../platform/secrets.ts";

/**
 * What the names of our cookies begin with. Over https, browsers accept a `__Host-` cookie only from this host itself:
 * a sibling domain cannot set one that signs a visitor in as somebody else.
 */
export function cookiePrefix(url: string): string {
  return isSecure(url) ? "__Host-promptd" : "promptd";
}

/** The session token in a Cookie header, if its signature is ours; null: there is none. */
export function readSessionCookie(cookies: readonly string[], url: string, secret: string): string | null {
  const value = findCookie(cookies, `${cookiePrefix(url)}.session_token`);
  return value === null ? null : verified(value, secret);
}

/** Over http, as on this machine or in a local network, browsers would drop a Secure cookie, and nobody could sign in. */
export function isSecure(url: string): boolean {
  return new URL(url).protocol === "https:";
}

function findCookie(cookies: readonly string[], name: string): string | null {
  const pairs = cookies.flatMap((header) => header.split(";")).map((pair) => pair.trim());
  const found = pairs.find((pair) => pair.startsWith(`${name}=`));
  return found === undefined ? null : found.slice(name.length + 1);
}

/** `<token>.<HMAC-SHA256 of it in Base64>`, percent-encoded. Null: it was not signed with this secret. */
function verified(value: string, secret: string): string | null {
  let text: string;
  try {
    text = decodeURIComponent(value);
  } catch {
    return null; // not a value we have set
  }
  const dot = text.lastIndexOf(".");
  const token = text.slice(0, Math.max(dot, 0));
  const expected = createHmac("sha256", secret).update(token).digest();
  const given = Buffer.from(text.slice(dot + 1), "base64");
  return token !== "" && isSameSecret(given, expected) ? token : null;
}
