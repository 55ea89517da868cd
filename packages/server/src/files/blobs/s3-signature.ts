import { createHash, createHmac } from "node:crypto";

/** Signs for the bytes by TLS and length instead of a hash, so that a body need not be read twice. */
export const UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD";

export interface S3Credentials {
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface SignableRequest {
  readonly method: string;
  /** Path as it is sent, already encoded. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** All of them are signed; names in lower case, `host`, `x-amz-date` and `x-amz-content-sha256` among them. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Value of the Authorization header: AWS Signature Version 4 for the service s3. */
export function authorizeS3(request: SignableRequest, credentials: S3Credentials): string {
  const time = request.headers["x-amz-date"] ?? "";
  const scope = `${time.slice(0, 8)}/${credentials.region}/s3/aws4_request`;
  const names = Object.keys(request.headers).sort();
  const canonical = [
    request.method,
    request.path,
    encodeQuery(request.query),
    ...names.map((name) => `${name}:${request.headers[name]?.trim()}`),
    "",
    names.join(";"),
    request.headers["x-amz-content-sha256"],
  ].join("\n");
  const hash = createHash("sha256").update(canonical).digest("hex");
  const key = scope.split("/").reduce<string | Buffer>(sign, `AWS4${credentials.secretAccessKey}`);
  const signature = createHmac("sha256", key).update(`AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash}`).digest("hex");
  const credential = `${credentials.accessKeyId}/${scope}`;
  return `AWS4-HMAC-SHA256 Credential=${credential},SignedHeaders=${names.join(";")},Signature=${signature}`;
}

function sign(key: string | Buffer, part: string): Buffer {
  return createHmac("sha256", key).update(part).digest();
}

/** The query as it is signed and sent: names in order, everything but the unreserved characters encoded. */
export function encodeQuery(query: Readonly<Record<string, string>>): string {
  const names = Object.keys(query).sort();
  return names.map((name) => `${encode(name)}=${encode(query[name] ?? "")}`).join("&");
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}
