import { codeOf } from "../../platform/reason-of.ts";
import { FetchRefusal, type FetchFault } from "./guarded-connect.ts";

const SENTENCES: Readonly<Record<Exclude<FetchFault, "connection" | "status">, string>> = {
  blocked: "it is not on the public internet, or does not use https",
  dns: "the name does not resolve (DNS)",
  timeout: "it did not respond in time",
  redirect: "it redirected too many times, or to an invalid address",
  encoding: "it used an unsupported content encoding",
  "too-large": "it sent more data than is accepted",
};

/** Names the host and what went wrong, for operators only: a caller could use it to scan a network. */
export function describeRefusal({ fault, cause }: FetchRefusal, host: string): string {
  const where = host === "" ? "The address" : host;
  if (fault === "status") return `${where}: it returned ${String(cause)}`;
  return `${where}: ${fault === "connection" ? describeConnection(cause) : SENTENCES[fault]}`;
}

const CONNECTIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "it refused the connection",
  ECONNRESET: "it closed the connection",
  EHOSTUNREACH: "it cannot be reached from here",
  ENETUNREACH: "it cannot be reached from here",
  ETIMEDOUT: "it did not accept a connection in time",
};
/** Node and OpenSSL error codes for certificate and TLS problems. */
const TLS = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|EPROTO)/;

function describeConnection(cause: unknown): string {
  if (cause instanceof FetchRefusal && cause.fault === "timeout") return CONNECTIONS["ETIMEDOUT"] ?? "";
  const code = codeOf(cause) ?? "";
  if (TLS.test(code)) return `the TLS connection failed: ${code}`;
  return CONNECTIONS[code] ?? `the connection failed${code === "" ? "" : ` (${code})`}`;
}
