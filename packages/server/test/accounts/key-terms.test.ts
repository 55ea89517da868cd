/** What an API key may do and until when, over HTTP: changes apply to the next request to any process. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createApiKey, getApiKeyByName, revokeApiKey, rollApiKey, updateApiKey } from "../../src/accounts/index.ts";
import { isoTime, systemClock } from "../../src/platform/clock.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { imagePrompt } from "../prompts/prompt-files.ts";
import { bodyOf, errorOf, get, issueLines, postRun, runOf } from "../wire/requests.ts";

const newId = createIdSource(systemClock);
let server: TestServer;
let otherUrl = "";
beforeAll(async () => {
  server = await startTestServer();
  otherUrl = (await server.startAnother("api")).listenUrl ?? "";
});
afterAll(() => server.close());

describe("a key that has expired", () => {
  test("gets 401 from every process from that moment on, and its requests are not counted", async () => {
    const { accountId } = await server.createCaller();
    const expiresAt = isoTime(Date.now() + 3_600_000);
    const { client, apiKey } = await server.createKey(accountId, { expiresAt });
    expect((await get(client, "/v1/me")).httpStatus).toBe(200);
    await server.shiftTime(3_600);
    try {
      for (const url of [server.url, otherUrl]) {
        const answer = await get(server.clientOf(apiKey, url), "/v1/me");
        expect([answer.httpStatus, errorOf(answer).message]).toEqual([
          401,
          `This API key expired on ${expiresAt.slice(0, 16).replace("T", " at ")} UTC. Create a new one, or ask the account's owner for one.`,
        ]);
        expect(answer.headers.get("x-ratelimit-remaining")).toBeNull();
      }
    } finally {
      await server.shiftTime(0);
    }
  });
});

test("an expired key becomes valid again only while the account has fewer than 20 others", async () => {
  const { accountId } = await server.createCaller(); // with its own key
  const { keyId } = await server.createKey(accountId, { expiresAt: isoTime(Date.now() - 1_000) });
  const renew = () => updateApiKey(server.app.db, { accountId, keyId }, { expiresAt: null });
  const more = [];
  for (let i = 0; i < 19; i += 1) more.push(await server.createKey(accountId, {}));
  await expect(renew()).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
  const shown = await getApiKeyByName(server.app.db, keyId);
  expect(shown.state).toBe("expired");
  await revokeApiKey(server.app.db, more[0]?.keyId ?? "");
  expect((await renew())?.state).toBe("valid");
});

describe("a key with a monthly cap", () => {
  test("gets 402 from every process, with its own reason, what is left, and the day on which it works again", async () => {
    const { accountId } = await server.createCaller();
    const { keyId, apiKey } = await server.createKey(accountId, { monthlyCap: 5 });
    const { promptVersionId } = await server.publish(imagePrompt());
    const [one, other] = [server.clientOf(apiKey), server.clientOf(apiKey, otherUrl)];
    expect(runOf(await postRun(one, bodyOf(promptVersionId)))).toMatchObject({ tokens: 4 });
    const now = new Date();
    const opensAt = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1));
    for (const client of [one, other]) {
      const answer = await postRun(client, bodyOf(promptVersionId));
      expect(answer.httpStatus).toBe(402);
      expect(errorOf(answer)).toEqual({
        status: "PAYMENT_REQUIRED_ERROR",
        message: `This run needs 4 credits, but this API key may spend only 1 more this month. Its monthly cap resets on ${opensAt.toISOString().slice(0, 10)} (UTC).`,
        data: { reason: "KEY_CAP_REACHED", required: 4, left: 1, opensAt: opensAt.toISOString() },
      });
      expect((await get(client, "/v1/me/credits")).httpStatus).toBe(200); // it reads as before
    }
    await updateApiKey(server.app.db, { accountId, keyId }, { monthlyCap: 8 });
    expect((await postRun(other, bodyOf(promptVersionId))).httpStatus).toBe(200);
  });

  test("joins the run of an idempotency key even if its cap is reached", async () => {
    const { accountId } = await server.createCaller();
    const { client } = await server.createKey(accountId, { monthlyCap: 4 });
    const body = bodyOf((await server.publish(imagePrompt())).promptVersionId);
    const first = await postRun(client, body, { "idempotency-key": "once" });
    const again = await postRun(client, body, { "idempotency-key": "once" });
    expect([again.httpStatus, runOf(again).runId]).toEqual([200, runOf(first).runId]);
  });
});

describe("a key that is limited to prompts", () => {
  test("runs these, gets a 422 with the reason for others, and can read everything else", async () => {
    const { accountId } = await server.createCaller();
    const [mine, other] = [await server.publish(imagePrompt()), await server.publish(imagePrompt())];
    const { keyId, client } = await server.createKey(accountId, { promptIds: [mine.promptId] });
    expect((await postRun(client, bodyOf(mine.promptVersionId))).httpStatus).toBe(200);
    const refused = await postRun(client, bodyOf(other.promptVersionId));
    expect([refused.httpStatus, issueLines(refused)]).toEqual([422, ["not_allowed body.promptVersionId"]]);
    expect(errorOf(refused).message).toContain("The owner of this API key limited it to other prompts");
    expect((await get(client, `/v1/prompts/${other.promptId}`)).httpStatus).toBe(200);
    await updateApiKey(server.app.db, { accountId, keyId }, { promptIds: [other.promptId] });
    expect((await postRun(client, bodyOf(other.promptVersionId))).httpStatus).toBe(200);
  });

  test("gets the same 404 as every other key for a prompt that is not published", async () => {
    const { accountId, client } = await server.createCaller();
    const mine = await server.publish(imagePrompt());
    const hidden = await server.publish(imagePrompt());
    await server.unpublish(hidden.promptId);
    const limited = await server.createKey(accountId, { promptIds: [mine.promptId] });
    const [one, other] = [
      await postRun(limited.client, bodyOf(hidden.promptVersionId)),
      await postRun(client, bodyOf(hidden.promptVersionId)),
    ];
    expect([one.httpStatus, errorOf(one)]).toEqual([404, errorOf(other)]);
  });
});

describe("a key that is rolled", () => {
  test("is replaced by a new key with the same terms, and is valid for the chosen time and not a moment longer", async () => {
    const { accountId } = await server.createCaller();
    const old = await server.createKey(accountId, { name: "ci", monthlyCap: 50 });
    const rolled = await rollApiKey(server.app.db, newId, old, 600);
    const fresh = server.clientOf(rolled?.apiKey ?? "");
    expect(await getApiKeyByName(server.app.db, rolled?.keyId ?? "")).toMatchObject({
      accountId,
      name: "ci",
      monthlyCap: 50,
      expiresAt: null,
    });
    const statuses = async () => [
      (await get(old.client, "/v1/me")).httpStatus,
      (await get(fresh, "/v1/me")).httpStatus,
    ];
    expect(await statuses()).toEqual([200, 200]);
    await server.shiftTime(601);
    expect(await statuses()).toEqual([401, 200]);
    await server.shiftTime(0);
  });

  test("with no overlap ends now, also if the account has the maximum number of keys", async () => {
    const { accountId } = await server.createCaller();
    for (let i = 0; i < 18; i += 1) await server.createKey(accountId);
    const old = await server.createKey(accountId);
    await expect(server.createKey(accountId)).rejects.toThrow("20 valid keys, the maximum");
    await expect(rollApiKey(server.app.db, newId, old, 60)).rejects.toThrow("20 valid keys, the maximum");
    expect((await get(old.client, "/v1/me")).httpStatus).toBe(200); // the refused roll has changed nothing
    await rollApiKey(server.app.db, newId, old, 0);
    expect((await get(old.client, "/v1/me")).httpStatus).toBe(401);
  });

  test("keeps an earlier expiry, and an expired or revoked key is not rolled", async () => {
    const { accountId } = await server.createCaller();
    const expiresAt = isoTime(Date.now() + 5_000);
    const old = await server.createKey(accountId, { expiresAt });
    expect((await rollApiKey(server.app.db, newId, old, 600))?.oldKeyExpiresAt).toEqual(expiresAt);
    await updateApiKey(server.app.db, old, { expiresAt: isoTime(Date.now() - 1_000) });
    await expect(rollApiKey(server.app.db, newId, old, 600)).rejects.toThrow("has expired");
    await server.revokeKey(old.keyId);
    await expect(rollApiKey(server.app.db, newId, old, 600)).rejects.toThrow(/revoked on \d{4}-\d\d-\d\d/);
    await expect(updateApiKey(server.app.db, old, { name: "other" })).rejects.toThrow(/revoked on/);
  });

  test("cannot be rolled again: its next key would expire with it", async () => {
    const { accountId, keyId } = await server.createCaller();
    const [first, again] = await Promise.allSettled(
      [1, 2].map(() => rollApiKey(server.app.db, newId, { accountId, keyId }, 600)),
    ).then((both) => both.toSorted((a) => (a.status === "fulfilled" ? -1 : 1)));
    const next = first?.status === "fulfilled" ? first.value : null;
    expect(String(again?.status === "rejected" && again.reason)).toContain("was already rolled");
    expect(await rollApiKey(server.app.db, newId, { accountId, keyId: next?.keyId ?? "" }, 600)).not.toBeNull();
  });

  test("belongs to one account: another account has no such key", async () => {
    const [one, other] = [await server.createCaller(), await server.createCaller()];
    const foreign = { accountId: other.accountId, keyId: one.keyId };
    expect(await rollApiKey(server.app.db, newId, foreign, 0)).toBeNull();
    expect(await updateApiKey(server.app.db, foreign, { name: "mine" })).toBeNull();
    expect((await get(one.client, "/v1/me")).httpStatus).toBe(200);
  });
});

describe("a key is revoked", () => {
  const byName = (name: string) => revokeApiKey(server.app.db, name);

  test("by its id, by its display form, or by the key itself", async () => {
    const { accountId } = await server.createCaller();
    const keys = [];
    for (let i = 0; i < 4; i += 1) keys.push(await server.createKey(accountId));
    const [one, two, three, four] = keys;
    await byName((one?.keyId ?? "").toUpperCase());
    await byName(`${two?.apiKey.slice(0, 8)}…${two?.apiKey.slice(-4)}`);
    await byName(`${three?.apiKey.slice(0, 8)}...${three?.apiKey.slice(-4)}`);
    await byName(four?.apiKey ?? "");
    for (const { client } of keys) expect((await get(client, "/v1/me")).httpStatus).toBe(401);
  });

  test("not by a name that several keys or none have", async () => {
    const one = await server.createCaller();
    const other = await server.createKey(one.accountId);
    await server.app.db.query("update api_keys set display = 'pd_same0…9999' where id in ($1, $2)", [
      one.keyId,
      other.keyId,
    ]);
    await expect(byName("pd_same0…9999")).rejects.toThrow(new RegExp(`${one.keyId} .*${other.keyId}`));
    await expect(byName("pd_none0…9999")).rejects.toThrow("No API key has this display form");
    await expect(byName(newId())).rejects.toThrow("No API key has the id");
    expect((await get(other.client, "/v1/me")).httpStatus).toBe(200);
  });
});

test("expired and revoked keys do not count among the twenty that an account may have", async () => {
  const { accountId } = await server.createCaller();
  const past = isoTime(Date.now() - 1_000);
  for (let i = 0; i < 20; i += 1) {
    await createApiKey(server.app.db, newId, { accountId, name: "old", expiresAt: past });
  }
  const { client } = await server.createKey(accountId);
  expect((await get(client, "/v1/me")).httpStatus).toBe(200);
});
