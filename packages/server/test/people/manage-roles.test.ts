/**
 * Who may do what, for every endpoint of the management API, generated from its contract: a new endpoint is tested here
 * automatically, and refused before any of its input is read.
 */
import type { EndpointEntry, Role, Scope } from "@promptd/contract";
import { MANAGE_ENDPOINTS } from "@promptd/contract/manage";
import { MANAGE_EXAMPLES } from "@promptd/contract/manage/examples";
import { ACCOUNT_HEADER } from "@promptd/contract/manage";
import { API_PREFIXES, SCOPES } from "@promptd/contract";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ownEndpoint } from "../../src/http/endpoint.ts";
import { createRouter } from "../../src/http/request/router.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { auditedFetch } from "../files/audited-fetch.ts";
import { clientOf, createTestPerson, type TestPerson } from "./people-fixture.ts";

interface Who {
  readonly headers: Readonly<Record<string, string>>;
}

let server: TestServer;
let stranger: TestPerson;
let operator: TestPerson;
let owner: TestPerson;
let member: TestPerson;
const who: Record<string, Who> = {};
const tokens = new Map<string, string>();
/** The member's token for the account that somebody else owns. */
const tokensOfMember = new Map<string, string>();

beforeAll(async () => {
  server = await startTestServer({ httpLimits: { failedAdmissionsPerSecond: 10_000 } });
  [owner, member, stranger, operator] = await Promise.all([
    createTestPerson(server),
    createTestPerson(server),
    createTestPerson(server),
    createTestPerson(server, { isOperator: true }),
  ]);
  const { apiKey } = await server.createCaller();
  const session = (person: TestPerson, accountId: string): Who => ({
    headers: { cookie: person.cookie, [ACCOUNT_HEADER]: accountId },
  });
  who["anonymous"] = { headers: {} };
  who["apiKey"] = { headers: { authorization: `Bearer ${apiKey}` } };
  who["member"] = session(member, owner.accountId);
  who["owner"] = session(owner, owner.accountId);
  who["operator"] = session(operator, operator.accountId);
  who["elsewhere"] = session(stranger, owner.accountId);
  for (const scope of SCOPES) tokens.set(scope, (await operator.token([scope])).token);
});
beforeEach(() => join());
afterAll(() => server.close());

/** One of the endpoints is for leaving, which also revokes the member's tokens. */
async function join(): Promise<void> {
  const text = `insert into account_members (account_id, person_id, role) values ($1, $2, 'member')
    on conflict do nothing returning person_id`;
  const joined = await server.app.db.query(text, [owner.accountId, member.personId]);
  if (joined.length === 0) return;
  const there = clientOf(server, { cookie: member.cookie }, owner.accountId);
  for (const scope of SCOPES.filter((each) => each !== "operator")) {
    const { token } = await there.send("createToken", { body: { name: scope, scopes: [scope], expiresInDays: 1 } });
    tokensOfMember.set(scope, token);
  }
}

const LEVELS: Readonly<Record<Role, number>> = { member: 0, owner: 1, operator: 2 };
const entries: readonly (readonly [string, EndpointEntry])[] = Object.entries(MANAGE_ENDPOINTS);
const closed = entries.filter(([, { auth }]) => auth !== "none");
const kindsOf = ({ auth }: EndpointEntry): readonly string[] => [auth].flat();

/** The endpoint's example, with ids that belong to nobody. */
async function send(name: string, { headers }: Who): Promise<Response> {
  const {
    method,
    path,
    headers: listed = [],
  } = MANAGE_ENDPOINTS[name as keyof typeof MANAGE_ENDPOINTS] as EndpointEntry;
  const example: { parameters?: Record<string, string | number>; bodies?: Record<string, unknown> } =
    MANAGE_EXAMPLES[name as keyof typeof MANAGE_EXAMPLES];
  const filled = path.replace(/:(\w+)/g, (_, one: string) =>
    encodeURIComponent(String(example.parameters?.[one] ?? "x")),
  );
  const own = Object.fromEntries(
    listed.flatMap((one) =>
      example.parameters?.[one.name] === undefined ? [] : [[one.name, String(example.parameters[one.name])]],
    ),
  );
  const [body] = Object.values(example.bodies ?? {});
  return auditedFetch(server.url + filled, {
    method,
    headers: { ...own, ...headers, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** Admitted: the result does not matter, as long as there is a response. */
const isAllowed = ({ status }: Response) => {
  expect(status === 429 || status >= 500, `${status} says nothing of roles`).toBe(false);
  return status !== 401;
};
const reasonOf = async (response: Response) =>
  ((await response.json()) as { data: { reason?: string } | null }).data?.reason;

test("only these endpoints are open to everyone; each has its own tests", () => {
  const open = entries.filter(([, { auth }]) => auth === "none").map(([name]) => name);
  expect(open).toEqual([
    "getFeatures",
    "welcome",
    "confirmEmailChange",
    "beginPasskeySignIn",
    "signInWithPasskey",
    "acceptInvitation",
  ]);
});

test("every endpoint that accepts tokens names a scope, and every endpoint a role, but for the session itself", () => {
  const lax = closed.filter(
    ([, entry]) => entry.role === undefined || (kindsOf(entry).includes("token") && !entry.scope),
  );
  expect(lax.map(([name]) => name)).toEqual(["getSession"]);
});

test("a server does not start with an endpoint of an API that the contract does not list, and that is not tested here", () => {
  const stray = ownEndpoint({ method: "GET", path: "/manage/v1/stray", handle: async () => ({ data: {} }) });
  expect(() => createRouter([stray], API_PREFIXES)).toThrow("/manage/v1/stray is not in the contract");
});

describe.each(closed)("%s", (name, entry) => {
  test("is closed to anonymous callers and to API keys, and says which credential it accepts", async () => {
    const anonymous = await send(name, who["anonymous"] as Who);
    expect([anonymous.status, await reasonOf(anonymous)]).toEqual([401, "SIGN_IN_REQUIRED"]);
    const key = await send(name, who["apiKey"] as Who);
    expect([key.status, await reasonOf(key)]).toEqual([401, "WRONG_CREDENTIAL"]);
  });

  test("is open to the role it names, and to no lower role", async () => {
    const needed = entry.role === undefined ? -1 : LEVELS[entry.role];
    const roles = ["member", "owner", "operator"] as const;
    const allowed = await Promise.all(roles.map(async (role) => isAllowed(await send(name, who[role] as Who))));
    expect(allowed).toEqual(roles.map((role) => LEVELS[role] >= needed));
  });

  test("is open only to a token with its scope", async () => {
    const takesTokens = kindsOf(entry).includes("token");
    const allowed = await Promise.all(
      SCOPES.map(async (scope: Scope) => {
        const headers = { authorization: `Bearer ${tokens.get(scope) ?? ""}` };
        return [scope, isAllowed(await send(name, { headers }))] as const;
      }),
    );
    const expected = SCOPES.map((scope) => [
      scope,
      takesTokens && (entry.scope === undefined || entry.scope === scope),
    ]);
    expect(allowed).toEqual(expected);
  });

  test("gives a member's token no more access than the member has", async () => {
    const takesTokens = kindsOf(entry).includes("token") && (entry.role ?? "member") === "member";
    for (const [scope, token] of tokensOfMember) {
      const allowed = isAllowed(await send(name, { headers: { authorization: `Bearer ${token}` } }));
      expect([scope, allowed]).toEqual([scope, takesTokens && (entry.scope === undefined || entry.scope === scope)]);
    }
  });

  test("shows a person from another account the same as for an account that does not exist", async () => {
    const foreign = await send(name, who["elsewhere"] as Who);
    const absentId = "019a2b10-7a44-7e90-8b1d-5c2f9e7d3b18";
    const absent = await send(name, { headers: { cookie: stranger.cookie, [ACCOUNT_HEADER]: absentId } });
    const texts = [await foreign.text(), await absent.text()];
    expect([foreign.status, texts[0]?.replaceAll(owner.accountId, absentId)]).toEqual([absent.status, texts[1]]);
    expect(foreign.status).toBe(404);
  });
});
