/**
 * Anything that belongs to another account gets the same bytes as something that does not exist, at every endpoint of
 * the management API that names something in its path, generated from its contract.
 */
import type { EndpointEntry } from "@promptd/contract";
import { ACCOUNT_HEADER, MANAGE_ENDPOINTS } from "@promptd/contract/manage";
import { MANAGE_EXAMPLES } from "@promptd/contract/manage/examples";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditedFetch } from "../files/audited-fetch.ts";
import { textPrompt } from "../prompts/prompt-files.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { createTestPerson, type TestPerson } from "./people-fixture.ts";

const ABSENT = "019a2b10-7a44-7e90-8b1d-5c2f9e7d3b18";
/** Names that everyone may know. */
const LABEL = "production";

let server: TestServer;
let stranger: TestPerson;
/** Something of the owner's for each path parameter. */
let owned: ReadonlyMap<string, string>;

beforeAll(async () => {
  server = await startTestServer({
    environment: { PROMPTD_SIGN_UP_PLAN: "pro", PROMPTD_WEBHOOK_PRIVATE_ADDRESSES: "on" },
  });
  const owner = await createTestPerson(server);
  stranger = await createTestPerson(server);
  owned = new Map(Object.entries(await ownSomething(owner)));
});
afterAll(() => server.close());

async function ownSomething(owner: TestPerson): Promise<Record<string, string>> {
  const { client, personId } = owner;
  const { keyId } = await client.send("createKey", { body: { name: "key" } });
  const { tokenId } = await owner.token(["runs:read"]);
  const invited = { email: "invited@example.org", role: "member" } as const;
  const { invitationId } = await client.send("createInvitation", { body: invited });
  const { published } = await client.send("publishPromptFile", { body: { source: textPrompt() } });
  const [{ promptId, promptVersionId } = { promptId: "", promptVersionId: "" }] = published;
  const params = { promptId };
  await client.send("saveDraft", { params, body: { source: textPrompt(), revision: 0 } });
  await client.send("setLabel", { params: { promptId, label: LABEL }, body: { promptVersionId } });
  const { runId } = await client.send("createTestRun", {
    params,
    body: { revision: 1, inputs: { textInputs: { topic: "tea" } } },
  });
  const { webhookId } = await client.send("createWebhook", {
    body: { url: "http://127.0.0.1:9/", events: ["run.finished"] },
  });
  const { deliveryId } = await client.send("testWebhook", { params: { webhookId } });
  const [passkey] = await server.app.db.query<{ id: string }>(
    `insert into auth_passkeys (id, user_id, name, public_key, credential_id, counter, device_type, backed_up)
     values (gen_random_uuid(), $1, 'passkey', 'key', 'credential', 0, 'singleDevice', false) returning id`,
    [personId],
  );
  const passkeyId = passkey?.id ?? "";
  const sessionId = (await client.send("listSessions")).rows[0]?.sessionId ?? "";
  const ofPerson = { personId, tokenId, passkeyId, sessionId };
  return { ...ofPerson, keyId, invitationId, promptId, promptVersionId, runId, webhookId, deliveryId };
}

const entries: readonly (readonly [string, EndpointEntry])[] = Object.entries(MANAGE_ENDPOINTS);
/** The marketplace belongs to everyone, and an operator sees all accounts. */
const ofAccounts = entries.filter(([, { path, role }]) => /:(?!slug)/.test(path) && role !== "operator");

/** Status, headers, and body of a response, without what differs between any two responses. */
async function answerTo(name: string, idOf: (parameter: string) => string): Promise<unknown> {
  const { method, path } = MANAGE_ENDPOINTS[name as keyof typeof MANAGE_ENDPOINTS] as EndpointEntry;
  const example: { bodies?: Record<string, unknown> } = MANAGE_EXAMPLES[name as keyof typeof MANAGE_EXAMPLES];
  const [body] = Object.values(example.bodies ?? {});
  const filled = path.replace(/:(\w+)/g, (_, one: string) => (one === "label" ? LABEL : idOf(one)));
  const answer = await auditedFetch(server.url + filled, {
    method,
    headers: {
      cookie: stranger.cookie,
      [ACCOUNT_HEADER]: stranger.accountId,
      "content-type": "application/json",
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const own = new Set(["x-request-id", "date", "ratelimit"]);
  const headers = [...answer.headers].filter(([header]) => !own.has(header));
  const text = [...owned.values()].reduce((shown, id) => shown.replaceAll(id, ABSENT), await answer.text());
  return { status: answer.status, headers, text };
}

describe("another account", () => {
  test.each(ofAccounts)("sees the same at %s as for something that does not exist", async (name) => {
    const foreign = await answerTo(name, (parameter) => owned.get(parameter) ?? `no ${parameter} is owned`);
    expect(foreign).toEqual(await answerTo(name, () => ABSENT));
    expect(foreign).toMatchObject({ status: 404 });
  });
});
