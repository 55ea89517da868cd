/** People of a test server: each signs in with a one-time code, and acts through our own client. */
import { createHmac } from "node:crypto";
import type { Scope } from "@promptd/contract";
import { createManageClient, type ManageClient } from "@promptd/client/manage";
import { ACCOUNT_HEADER } from "@promptd/contract/manage";
import { mintCode } from "../../src/people/index.ts";
import type { Queryable } from "../../src/platform/database/database.ts";
import { auditedFetch } from "../files/audited-fetch.ts";
import type { TestServer } from "../support/test-server.ts";
import { cookiesOf } from "./page-requests.ts";

export interface TestPerson {
  readonly personId: string;
  readonly accountId: string;
  /** `name=value` of the session cookie. */
  readonly cookie: string;
  readonly client: ManageClient;
  /** A client with a token of these scopes. */
  token(scopes: readonly Scope[]): Promise<{
    readonly tokenId: string;
    readonly token: string;
    readonly client: ManageClient;
  }>;
}

export interface NewTestPerson {
  readonly isOperator?: boolean;
  readonly email?: string;
}

export const PASSWORD = "a long enough password";
/**
 * A hash as better-auth stores it. Hashing it per person would take 60 ms of CPU time; people-sessions.test.ts covers
 * it.
 */
const PASSWORD_HASH =
  "0123456789abcdef0123456789abcdef:64609c7f9bb5e41e4fad0c6c33c4a10f5e77301421b4d1fd5d69826369e8835b013b51e4153734220585f4b43e6a96e3992417b15db5b5e3c97a4c90460c38fe";
let made = 0;

/** The parts of a server that a person needs. */
export interface ServerOfPeople {
  readonly url: string;
  readonly app: Pick<TestServer["app"], "db">;
}

export async function createTestPerson(server: ServerOfPeople, person: NewTestPerson = {}): Promise<TestPerson> {
  made += 1;
  const { email = `person-${made}@example.org`, isOperator: makesOperator = false } = person;
  const { db } = server.app;
  const personId = await insertPerson(db, { email, name: `Person ${made}` });
  const code = await mintCode(db, { personId, accountId: null, makesOperator, signsIn: true });
  const response = await auditedFetch(`${server.url}/manage/v1/welcome`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (response.status !== 200) throw new Error(`The test's person was not made: ${await response.text()}`);
  return personOf(server, cookiesOf(response));
}

/** A person who has set up a password. */
async function insertPerson(db: Queryable, { email, name }: { email: string; name: string }): Promise<string> {
  const [row] = await db.query<{ id: string }>(
    `with person as (
       insert into auth_users (id, name, email) values (promptd_new_id(), $1, lower($2)) returning id)
     insert into auth_logins (id, user_id, provider_id, account_id, password)
     select promptd_new_id(), id, 'credential', id::text, $3 from person returning user_id as id`,
    [name, email, PASSWORD_HASH],
  );
  return row?.id ?? "";
}

/** The person of a session cookie. */
export async function personOf(server: ServerOfPeople, cookie: string): Promise<TestPerson> {
  const client = clientOf(server, { cookie });
  const { person, accountId } = await client.send("getSession");
  const mine = clientOf(server, { cookie }, accountId);
  return {
    personId: person.personId,
    accountId,
    cookie,
    client: mine,
    token: async (scopes) => {
      const created = await mine.send("createToken", { body: { name: "test", scopes, expiresInDays: 1 } });
      return { tokenId: created.tokenId, token: created.token, client: tokenClient(server, created.token) };
    },
  };
}

export function tokenClient(server: Pick<ServerOfPeople, "url">, token: string): ManageClient {
  return createManageClient({ baseUrl: server.url, token, maxRetries: 0, fetch: auditedFetch });
}

export function clientOf(
  server: Pick<ServerOfPeople, "url">,
  headers: Record<string, string>,
  accountId?: string,
): ManageClient {
  const account = accountId === undefined ? {} : { [ACCOUNT_HEADER]: accountId };
  return createManageClient({
    baseUrl: server.url,
    maxRetries: 0,
    fetch: auditedFetch,
    headers: { ...headers, ...account },
  });
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** RFC 6238 with the usual values: HMAC-SHA1, 30 seconds, six digits. */
export function totpOf(secret: string): string {
  const bits = Array.from(secret, (letter) => BASE32.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const digest = createHmac("sha1", key).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 0x0f;
  return String((digest.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, "0");
}
