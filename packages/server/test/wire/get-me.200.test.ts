/** GET /v1/me and GET /v1/me/credits (specification, "User", "Credits"). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { imagePrompt } from "../prompts/prompt-files.ts";
import { bodyOf, dataOf, get, startRun } from "./requests.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

describe("GET /v1/me", () => {
  test("answers exactly username, displayName and userFlags", async () => {
    const { client } = await server.createCaller({ username: "ada", displayName: "Ada L." });
    const { httpStatus, envelope } = await client.request({ method: "GET", path: "/v1/me" });
    expect(httpStatus).toBe(200);
    expect(envelope).toEqual({ status: "SUCCESS", data: { username: "ada", displayName: "Ada L.", userFlags: 1 } });
  });

  test("answers null for names that are not set", async () => {
    const { client } = await server.createCaller();
    expect(await client.me.get()).toMatchObject({ username: null, displayName: null });
  });

  test("is the same for every key of the account", async () => {
    const caller = await server.createCaller({ username: "grace" });
    const second = await server.createKey(caller.accountId);
    expect(await second.client.me.get()).toEqual(await caller.client.me.get());
  });

  describe("userFlags", () => {
    test("has bit 1 while the plan is active", async () => {
      const { client } = await server.createCaller();
      expect((await client.me.get()).userFlags & 1).toBe(1);
    });

    test("has no bit 1 without a plan if plans are not required", async () => {
      const open = await server.startAnother("api", { PROMPTD_PLANS: "off" });
      const { apiKey } = await server.createCaller({ plan: "none" });
      expect((await server.clientOf(apiKey, open.listenUrl ?? "").me.get()).userFlags & 1).toBe(0);
    });

    test("has bit 2 once the account has published a prompt", async () => {
      const caller = await server.createCaller();
      expect((await caller.client.me.get()).userFlags & 2).toBe(0);
      await server.publish(imagePrompt(), { authorId: caller.accountId });
      expect((await caller.client.me.get()).userFlags & 2).toBe(2);
    });

    test("has the bits that the operator set", async () => {
      const caller = await server.createCaller();
      await server.app.db.query("update accounts set user_flags = user_flags | 16 where id = $1", [caller.accountId]);
      expect((await caller.client.me.get()).userFlags).toBe(17);
    });
  });
});

describe("GET /v1/me/credits", () => {
  const creditsOf = async (client: Parameters<typeof get>[0]) => dataOf(await get(client, "/v1/me/credits"));

  test("answers exactly credits, the sum of all grants", async () => {
    const { client, accountId } = await server.createCaller({ credits: 480 });
    expect(await creditsOf(client)).toEqual({ credits: 480 });
    await server.grant(accountId, { amount: 20 });
    expect(await creditsOf(client)).toEqual({ credits: 500 });
  });

  test("is 0 for an account that never had any", async () => {
    const { client } = await server.createCaller({ credits: 0 });
    expect(await creditsOf(client)).toEqual({ credits: 0 });
  });

  test("counts what can be spent now, and not what runs hold", async () => {
    const { client } = await server.createCaller({ credits: 10 });
    const { promptVersionId } = await server.publish(imagePrompt({ body: "sandbox: delay=600000\nA square." }));
    const runId = await startRun(client, bodyOf(promptVersionId));
    expect(await creditsOf(client)).toEqual({ credits: 6 });
    await client.runs.cancel(runId);
    expect(await creditsOf(client)).toEqual({ credits: 10 });
  });

  test("counts active credits: expired credits do not count from the moment they expire", async () => {
    const { client, accountId } = await server.createCaller({ credits: 10 });
    await server.grant(accountId, { amount: 90, expiresInSeconds: 3_600 });
    expect(await creditsOf(client)).toEqual({ credits: 100 });
    await server.shiftTime(3_601);
    expect(await creditsOf(client)).toEqual({ credits: 10 });
    await server.shiftTime(0);
  });

  test("spends what expires first, so that nothing is lost unnecessarily", async () => {
    const { client, accountId } = await server.createCaller({ credits: 10 });
    await server.grant(accountId, { amount: 5, expiresInSeconds: 3_600 });
    const { promptVersionId } = await server.publish(imagePrompt());
    await client.runs.create(bodyOf(promptVersionId));
    await server.shiftTime(3_601);
    expect(await creditsOf(client)).toEqual({ credits: 10 });
    await server.shiftTime(0);
  });

  test("after everything above the ledger adds up", async () => {
    expect((await server.checkLedger()).mismatches).toEqual([]);
  });
});
