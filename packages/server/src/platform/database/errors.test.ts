import { expect, test } from "vitest";
import {
  AccountLocked,
  adviceOf,
  isConnectionLoss,
  isOutage,
  isRolledBack,
  NoConnectionFree,
  DatabaseUnresponsive,
} from "./errors.ts";
import { openConnection } from "./database.ts";

test.each([
  ["whose name does not resolve", "postgres://promptd@no-such-host.invalid/promptd"],
  ["that does not listen", "postgres://promptd@127.0.0.1:1/promptd"],
  ["whose socket does not exist", "postgres://promptd@/promptd?host=%2Fno%2Fsuch%2Fdirectory"],
])("a server %s counts as a lost connection, so the statement is retried", async (_, url) => {
  const connection = openConnection(url, "errors-test");
  const error: unknown = await connection.connect().catch((cause: unknown) => cause);
  expect(isConnectionLoss(error), String(error)).toBe(true);
});

test.each([
  ["disk_full", "53100", true],
  ["too_many_connections", "53300", true],
  ["query_canceled", "57014", true],
  ["lock_not_available", "55P03", true],
  ["read_only_sql_transaction", "25006", true],
  ["io_error", "58030", true],
  ["unique_violation", "23505", false],
  ["program_limit_exceeded", "54000", false],
  ["syntax_error", "42601", false],
])("%s (%s) is an outage of the database: %s", (_, code, expected) => {
  expect(isOutage(Object.assign(new Error("x"), { code }))).toBe(expected);
});

test.each([
  ["transaction blocks not allowed in statement pooling mode", false],
  ["no such database: prompts", false],
  ["SASL authentication failed", false],
  ['"trust" authentication failed', false],
  ['server login has been failing, cached error: database "prompts" does not exist (server_login_retry)', false],
  ['server login has been failing, cached error: role "ada" does not exist (server_login_retry)', false],
  ["unsupported startup parameter: search_path", false],
  ["server login has been failing, cached error: connect failed (server_login_retry)", true],
  ["server login has been failing, cached error: the database system is starting up (server_login_retry)", true],
  ["no more connections allowed (max_client_conn)", true],
  ["query_wait_timeout", true],
  ["server shutting down", true],
])("a pooler's “%s” goes away on its own: %s", (text, expected) => {
  const error = Object.assign(new Error(text), { code: "08P01" });
  expect(isOutage(error)).toBe(expected);
  expect(adviceOf(error) === null).toBe(expected);
});

test.each([
  ["28P01", "password"],
  ["28000", "user"],
  ["3D000", "Create the database"],
])("a server's refusal with %s is not an outage, and the advice says what to set", (code, advice) => {
  const error = Object.assign(new Error("x"), { code });
  expect(isOutage(error)).toBe(false);
  expect(adviceOf(error)).toContain(advice);
});

test.each([
  ["28000", 'no pg_hba.conf entry for host "::1", user "ada", database "p", no encryption', "Add sslmode=verify-full"],
  [
    "28000",
    'no pg_hba.conf entry for host "::1", user "ada", database "p", SSL encryption',
    "the user and the password",
  ],
  ["08P01", "SSL required", "Add sslmode=verify-full"],
  ["", "The server does not support SSL connections", "Remove sslmode from"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate", "sslrootcert="],
  ["SELF_SIGNED_CERT_IN_CHAIN", "self-signed certificate in certificate chain", "sslrootcert="],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "unable to get local issuer certificate", "sslrootcert="],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "Hostname/IP does not match", "a host name that is in the server's certificate"],
  ["ENOENT", "ENOENT: no such file or directory, open '/etc/ca.pem'", "the paths of sslrootcert"],
  ["42501", "permission denied for schema public", "grant create on schema public"],
])("%s, “%s”, is a permanent refusal with helpful advice", (code, text, advice) => {
  const error = Object.assign(new Error(text), code === "" ? {} : { code });
  expect(isOutage(error)).toBe(false);
  expect(adviceOf(error)).toContain(advice);
});

test("a socket that does not exist yet is not reported as a wrong file in the address", () => {
  const error = Object.assign(new Error("connect ENOENT /run/postgresql/.s.PGSQL.5432"), { code: "ENOENT" });
  expect(adviceOf(error)).toBeNull();
  expect(isOutage(error)).toBe(true);
});

test.each([
  ["53100", true],
  ["40001", true],
  ["PD429", true],
  ["57P01", false],
  ["08006", false],
  ["EPIPE", false],
  ["EPERM", false],
  ["ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC", false],
])("after %s, nothing was committed for certain: %s", (code, expected) => {
  expect(isRolledBack(Object.assign(new Error("x"), { code }))).toBe(expected);
});

test("waiting in vain for a connection counts as an outage of the database", () => {
  expect(isOutage(new NoConnectionFree(1))).toBe(true);
  expect(isOutage(new DatabaseUnresponsive(new Error("Query read timeout")))).toBe(true);
});

test("without a free connection or an account lock nothing was sent, and a fault without a code says nothing about that", () => {
  expect(isRolledBack(new NoConnectionFree(1))).toBe(true);
  expect(isRolledBack(new AccountLocked(1))).toBe(true);
  expect(isRolledBack(new DatabaseUnresponsive(new Error("Query read timeout")))).toBe(true);
  expect(isRolledBack(new Error("Connection terminated unexpectedly"))).toBe(false);
});
