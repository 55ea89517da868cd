/**
 * An authenticator as WebAuthn describes it (Level 3, section 6), in software: it makes ES256 keys and signs with them.
 */
import { createHash, createSign, generateKeyPairSync, randomBytes, type KeyObject } from "node:crypto";

type Json = Readonly<Record<string, unknown>>;

export interface TestAuthenticator {
  /** Responds to creation options, for a page of this origin. */
  create(options: Json, page?: PageOf): Json;
  /** Responds to sign-in options with its only passkey. */
  get(options: Json, page?: PageOf): Json;
  /** The number of signatures that it claims to have made. */
  counter: number;
}

export interface PageOf {
  readonly origin?: string;
  readonly rpId?: string;
  /** False: the person was not verified. */
  readonly isVerified?: boolean;
}

const PRESENT = 0x01;
const VERIFIED = 0x04;
const WITH_CREDENTIAL = 0x40;

export function createAuthenticator(origin: string): TestAuthenticator {
  const credentialId = randomBytes(16);
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  let userHandle = "";
  const authenticator: TestAuthenticator = {
    counter: 0,
    create: (options, page = {}) => {
      const { rp, user, challenge } = options as { rp: { id: string }; user: { id: string }; challenge: string };
      userHandle = user.id;
      const credential = Buffer.concat([
        Buffer.alloc(16), // no model is named
        Buffer.from([0, credentialId.length]),
        credentialId,
        coseKey(publicKey),
      ]);
      const authData = dataOf(page.rpId ?? rp.id, { page, counter: 0, more: WITH_CREDENTIAL });
      const attestationObject = cborMap([
        ["fmt", cborText("none")],
        ["attStmt", cborMap([])],
        ["authData", cborBytes(Buffer.concat([authData, credential]))],
      ]);
      return answer({
        clientDataJSON: clientData("webauthn.create", challenge, page.origin ?? origin).toString("base64url"),
        attestationObject: attestationObject.toString("base64url"),
        transports: ["internal"],
      });
    },
    get: (options, page = {}) => {
      const { rpId, challenge } = options as { rpId: string; challenge: string };
      authenticator.counter += 1;
      const client = clientData("webauthn.get", challenge, page.origin ?? origin);
      const authData = dataOf(page.rpId ?? rpId, { page, counter: authenticator.counter, more: 0 });
      const signed = Buffer.concat([authData, createHash("sha256").update(client).digest()]);
      return answer({
        clientDataJSON: client.toString("base64url"),
        authenticatorData: authData.toString("base64url"),
        signature: createSign("SHA256").update(signed).sign(privateKey).toString("base64url"),
        userHandle,
      });
    },
  };
  const answer = (response: Json): Json => {
    const id = credentialId.toString("base64url");
    return { id, rawId: id, type: "public-key", clientExtensionResults: {}, response };
  };
  return authenticator;
}

function clientData(type: string, challenge: string, origin: string): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
}

function dataOf(
  rpId: string,
  { page, counter, more }: { readonly page: PageOf; readonly counter: number; readonly more: number },
): Buffer {
  const flags = PRESENT | (page.isVerified === false ? 0 : VERIFIED) | more;
  const count = Buffer.alloc(4);
  count.writeUInt32BE(counter);
  return Buffer.concat([createHash("sha256").update(rpId).digest(), Buffer.from([flags]), count]);
}

/** EC2, ES256, P-256, x and y (RFC 9053). */
function coseKey(key: KeyObject): Buffer {
  const { x = "", y = "" } = key.export({ format: "jwk" });
  const [one, two, three] = [0x01, 0x02, 0x03];
  return Buffer.concat([
    Buffer.from([0xa5, one, two, three, 0x26, 0x20, one, 0x21]),
    cborBytes(Buffer.from(x, "base64url")),
    Buffer.from([0x22]),
    cborBytes(Buffer.from(y, "base64url")),
  ]);
}

function cborHead(major: number, length: number): Buffer {
  const type = major << 5;
  if (length < 24) return Buffer.from([type | length]);
  return length < 256 ? Buffer.from([type | 24, length]) : Buffer.from([type | 25, length >> 8, length & 255]);
}

const cborBytes = (bytes: Buffer) => Buffer.concat([cborHead(2, bytes.length), bytes]);
const cborText = (text: string) => Buffer.concat([cborHead(3, Buffer.byteLength(text)), Buffer.from(text)]);
const cborMap = (entries: readonly (readonly [string, Buffer])[]) =>
  Buffer.concat([cborHead(5, entries.length), ...entries.flatMap(([key, value]) => [cborText(key), value])]);
