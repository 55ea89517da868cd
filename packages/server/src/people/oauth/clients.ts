/**
 * Programs that request access through OAuth. They register themselves (RFC 7591), and their registration data is
 * contained in their signed id: nothing is stored for a program that nobody grants access.
 */
import type { Client } from "@promptd/contract/manage";
import { createHmac } from "node:crypto";
import { z } from "zod";
import { isSameSecret } from "../../platform/secrets.ts";

export interface RegisteredClient {
  readonly name: string;
  readonly redirectUris: readonly string[];
}

const NAME_LENGTH_MAX = 60;
const URIS_MAX = 5;
const URI_LENGTH_MAX = 500;
const SIGNATURE_BYTES = 24;

const registrationSchema = z.object({
  client_name: z.string().optional(),
  redirect_uris: z.array(z.string().max(URI_LENGTH_MAX)).min(1).max(URIS_MAX),
});

/** @returns the registration data, or a sentence that says what is wrong with it. */
export function readRegistration(body: unknown): RegisteredClient | string {
  const parsed = registrationSchema.safeParse(body);
  if (!parsed.success)
    return `redirect_uris must contain 1 to ${URIS_MAX} addresses of at most ${URI_LENGTH_MAX} characters each.`;
  const { client_name: name = "", redirect_uris: redirectUris } = parsed.data;
  const refused = redirectUris.find((uri) => !isRedirectUri(uri));
  if (refused !== undefined) return `A redirect_uri must use https, http on this machine, or the program's own scheme.`;
  return { name: plainName(name), redirectUris };
}

/** People see the name unchanged. */
function plainName(name: string): string {
  const plain = name.replaceAll(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return plain === "" ? "A program" : Array.from(plain).slice(0, NAME_LENGTH_MAX).join("").trim();
}

/** Schemes that a browser executes or reads. */
const REFUSED_SCHEMES = new Set(["javascript:", "data:", "vbscript:", "file:", "blob:", "about:", "filesystem:"]);
const LOOPBACK = new Set(["127.0.0.1", "[::1]", "localhost"]);

function isRedirectUri(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, hash, username, password } = new URL(text);
  if (hash !== "" || username !== "" || password !== "" || REFUSED_SCHEMES.has(protocol)) return false;
  return protocol !== "http:" || LOOPBACK.has(hostname);
}

export function signClient({ name, redirectUris }: RegisteredClient, key: Buffer): string {
  const payload = Buffer.from(JSON.stringify([name, ...redirectUris])).toString("base64url");
  return `${payload}.${signatureOf(payload, key).toString("base64url")}`;
}

function signatureOf(payload: string, key: Buffer): Buffer {
  return createHmac("sha256", key).update(payload).digest().subarray(0, SIGNATURE_BYTES);
}

/**
 * The program with this id, if it may be redirected to this address. Null: the id is not ours, or the address differs.
 */
export function findClient(clientId: string, redirectUri: string, key: Buffer): Client | null {
  const [payload = "", signature = ""] = clientId.split(".");
  if (!isSameSecret(Buffer.from(signature, "base64url"), signatureOf(payload, key))) return null;
  const [name = "", ...redirectUris] = JSON.parse(Buffer.from(payload, "base64url").toString()) as string[];
  return redirectUris.some((uri) => isSameAddress(uri, redirectUri)) ? { name, redirectUri } : null;
}

/** A program on this machine may listen on a different port each time (RFC 8252, 7.3). */
function isSameAddress(registered: string, requested: string): boolean {
  if (registered === requested) return true;
  if (!URL.canParse(requested)) return false;
  const [one, other] = [new URL(registered), new URL(requested)];
  if (one.protocol !== "http:" || !LOOPBACK.has(one.hostname)) return false;
  one.port = other.port;
  return one.href === other.href && isRedirectUri(requested);
}
