import { generateKeyPairSync, sign } from "node:crypto";

/** A self-signed certificate, for a test's TLS server. */
export interface TestCertificate {
  readonly key: string;
  /** PEM; clients must trust it too. */
  readonly cert: string;
}

/**
 * Node can sign but not issue certificates, so the few fields of an X.509 certificate are written here (RFC 5280,
 * section 4.1).
 */
export function createTestCertificate(names: readonly string[]): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(objectId("2a8648ce3d040302")); // ecdsa-with-SHA256
  const subject = sequence(der(0x31, sequence(objectId("550403"), der(0x0c, Buffer.from("promptd test")))));
  const alternatives = sequence(...names.map((name) => der(0x82, Buffer.from(name))));
  const extensions = sequence(
    sequence(objectId("551d11"), der(0x04, alternatives)),
    sequence(objectId("551d13"), der(0x04, sequence(der(0x01, Buffer.from([0xff]))))), // may sign: it signs itself
  );
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    subject,
    sequence(der(0x17, Buffer.from("200101000000Z")), der(0x17, Buffer.from("491231235959Z"))),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign("sha256", body, privateKey)]));
  const lines =
    sequence(body, algorithm, signature)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
  };
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function objectId(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
