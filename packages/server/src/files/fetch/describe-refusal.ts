import { codeOf } from "../../platform/reason-of.ts";
import { FetchRefusal, type FetchFault } from "./guarded-connect.ts";

const SENTENCES: Readonly<Record<Exclude<FetchFault, "connection" | "status">, string>> = {
  blocked: "it is no address on the public internet, or not https",
  dns: "the name has no address (DNS)",
  timeout: "it did not answer in time",
  redirect: "it redirected too often, or to nowhere",
  encoding: "it answered in an encoding that is not read",
  "too-large": "it sent more than is taken",
};

/** Which host it was and what went wrong, for operators: a caller could scan a network with it. */
export function describeRefusal({ fault, cause }: FetchRefusal, host: string): string {
  const where = host === "" ? "The address" : host;
  if (fault === "status") return `${where}: it answered ${String(cause)}`;
  return `${where}: ${fault === "connection" ? describeConnection(cause) : SENTENCES[fault]}`;
}

const CONNECTIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "it refused the connection",
  ECONNRESET: "it closed the connection",
  EHOSTUNREACH: "it cannot be reached from here",
  ENETUNREACH: "it cannot be reached from here",
  ETIMEDOUT: "it did not accept a connection in time",
};
/** Of Node and OpenSSL: what is wrong with a certificate, or with TLS itself. */
const TLS = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|EPROTO)/;

function describeConnection(cause: unknown): string {
  if (cause instanceof FetchRefusal && cause.fault === "timeout") return CONNECTIONS["ETIMEDOUT"] ?? "";
  const code = codeOf(cause) ?? "";
  if (TLS.test(code)) return `no secure connection (TLS): ${code}`;
  return CONNECTIONS[code] ?? `the connection failed${code === "" ? "" : ` (${code})`}`;
}
