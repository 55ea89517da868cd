/**
 * Webhook secrets. The server must read them to sign, so they are sealed instead of hashed: AES-256-GCM with a key
 * derived from the server's secret, bound to the webhook's id. Their format follows Standard Webhooks: `whsec_` and
 * Base64.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { deriveKey } from "../platform/secrets.ts";

const PREFIX = "whsec_";
const SECRET_BYTES = 24;
const [KEY_ID_BYTES, NONCE_BYTES, TAG_BYTES] = [8, 12, 16];

export function newWebhookSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

export function writtenSecret(secret: Buffer): string {
  return `${PREFIX}${secret.toString("base64")}`;
}

export interface SecretVault {
  /** Identifies the current sealing key, at the beginning of everything sealed. */
  readonly keyId: Buffer;
  seal(webhookId: string, secret: Buffer): Buffer;
  /**
   * Null: no key of this process opens it. The server's secret was lost, or this process does not know about a
   * rotation.
   */
  open(webhookId: string, sealed: Buffer): Buffer | null;
}

/** @param others secrets from before a rotation: anything they sealed can be opened too. */
export function createSecretVault(secret: Buffer, others: readonly Buffer[]): SecretVault {
  const current = keyOf(secret);
  const keys = [current, ...others.map(keyOf)];
  return {
    keyId: current.keyId,
    seal: (webhookId, plain) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", current.key, nonce).setAAD(Buffer.from(webhookId));
      const content = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([current.keyId, nonce, cipher.getAuthTag(), content]);
    },
    open: (webhookId, sealed) => {
      const found = keys.find(({ keyId }) => keyId.equals(sealed.subarray(0, KEY_ID_BYTES)));
      return found === undefined ? null : openWith(found.key, webhookId, sealed.subarray(KEY_ID_BYTES));
    },
  };
}

function keyOf(secret: Buffer) {
  return {
    keyId: deriveKey(secret, "webhook secrets of promptd, name of the key", KEY_ID_BYTES),
    key: deriveKey(secret, "webhook secrets of promptd, key"),
  };
}

function openWith(key: Buffer, webhookId: string, sealed: Buffer): Buffer | null {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const options = { authTagLength: TAG_BYTES };
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, nonce, options)
      .setAAD(Buffer.from(webhookId))
      .setAuthTag(tag);
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  } catch {
    return null; // the row was copied from another webhook, or changed
  }
}
