/** What pages need around runs: prices before a run, marketplace pages, and what an operator sees of all accounts. */
import type { EndpointEntry } from "@promptd/contract";
import { MANAGE_ENDPOINTS } from "@promptd/contract/manage";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditCommand } from "../../src/people/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { createLog } from "../../src/platform/log.ts";
import { until } from "../support/promptd-process.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { createTestPerson, type TestPerson } from "./people-fixture.ts";
import { codeOf } from "./page-requests.ts";

const prompt = (title: string, model = "sandbox/text", rest = "", body = "Say {{ ask }}.") => `---
promptd: 1
title: ${title}
model: ${model}
tags: [paged]
inputs: { ask: { maxLength: 9000 } }
${rest}---
${body}
`;

let server: TestServer;
let ada: TestPerson;
let operator: TestPerson;
let versionId: string;
beforeAll(async () => {
  server = await startTestServer({ environment: { PROMPTD_SIGN_UP_PLAN: "pro", PROMPTD_SIGN_UP_CREDITS: "1000" } });
  ({ promptVersionId: versionId } = await server.publish(prompt("Priced words")));
  ada = await createTestPerson(server);
  operator = await createTestPerson(server, { isOperator: true });
});
afterAll(() => server.close());

const bodyOf = (ask: string, promptVersionId = versionId) => ({ promptVersionId, inputs: { textInputs: { ask } } });
const runOf = (promptVersionId: string) => ada.client.call("createRun", { body: bodyOf("x", promptVersionId) });

describe("a quote", () => {
  test("equals the hold of the run, rises with its texts, and leaves no row in the audit log", async () => {
    const short = await ada.client.send("quoteRun", { body: bodyOf("x") });
    const long = await ada.client.send("quoteRun", { body: bodyOf("long ".repeat(1_500)) });
    const { data } = await runOf(versionId);
    const { receipt } = await ada.client.send("getRun", { params: { runId: data.runId } });
    expect(short.hold).toBe(receipt.held);
    expect(long.hold ?? 0).toBeGreaterThan(short.hold ?? 0);
    expect(short.estimate).toBeLessThanOrEqual(short.hold ?? 0);
    const audit = await operator.client.send("listAudit", { query: { limit: 50 } });
    expect(audit.rows.map(({ action }) => action)).not.toContain("quoteRun");
  });

  test("needs no image, and refuses inputs that a run would refuse", async () => {
    const image = await server.publish(
      "---\npromptd: 1\ntitle: Quoted stamp\nmodel: sandbox/image\nimages: [{ label: Photo }]\n---\nA stamp.\n",
    );
    const quoted = await ada.client.send("quoteRun", { body: { promptVersionId: image.promptVersionId, inputs: {} } });
    expect(quoted.hold).toBeGreaterThan(0);
    expect(await codeOf(ada.client.send("quoteRun", { body: { promptVersionId: versionId, inputs: {} } }))).toBe(
      "VALIDATION_ERROR",
    );
    expect(await codeOf(ada.client.send("quoteRun", { body: bodyOf("x", ada.accountId) }))).toBe("NOT_FOUND_ERROR");
  });
});

describe("the marketplace", () => {
  test.each(["popular", "newest", "price"] as const)("is read in pages without gaps, by %s", async (sort) => {
    for (const title of ["Page one", "Page two", "Page three"]) await server.publish(prompt(title));
    const whole = await ada.client.send("searchMarketplace", { query: { sort, tag: "paged" } });
    const slugs: string[] = [];
    let startingAfter: string | undefined;
    for (let isMore = true; isMore;) {
      const page = await ada.client.send("searchMarketplace", {
        query: { sort, tag: "paged", limit: 1, startingAfter },
      });
      slugs.push(...page.rows.map(({ slug }) => slug));
      startingAfter = page.rows.at(-1)?.promptId;
      isMore = page.hasMore;
    }
    expect(slugs).toEqual(whole.rows.map(({ slug }) => slug));
    expect(new Set(slugs).size).toBeGreaterThanOrEqual(4);
  });

  test("pages search results in their order", async () => {
    const q = "page";
    const whole = await ada.client.send("searchMarketplace", { query: { q } });
    const [first] = whole.rows;
    const rest = await ada.client.send("searchMarketplace", { query: { q, startingAfter: first?.promptId } });
    expect(rest.rows.map(({ slug }) => slug)).toEqual(whole.rows.slice(1).map(({ slug }) => slug));
  });

  test("is narrowed by modality, model and tag, and shows videos", async () => {
    await server.publish("---\npromptd: 1\ntitle: A small clip\nmodel: sandbox/video\n---\nA clip.\n");
    const slugs = async (query: { modality?: "video" | "text"; model?: string; tag?: string }) =>
      (await ada.client.send("searchMarketplace", { query })).rows.map(({ slug }) => slug);
    expect(await slugs({ modality: "video" })).toEqual(["a-small-clip"]);
    expect(await slugs({ model: "sandbox/video" })).toEqual(["a-small-clip"]);
    expect(await slugs({ tag: "paged" })).not.toContain("a-small-clip");
    expect(await slugs({ tag: "no such tag" })).toEqual([]);
    const shown = await ada.client.send("getMarketplacePrompt", { params: { slug: "a-small-clip" } });
    expect(shown.configs.modality).toBe("video");
  });

  test("rejects a cursor that is not a listed prompt", async () => {
    const query = { startingAfter: ada.accountId };
    expect(await codeOf(ada.client.send("searchMarketplace", { query }))).toBe("VALIDATION_ERROR");
  });
});

describe("an operator", () => {
  test("finds a failed run of any account by run, request, cause, model, and account, without its content", async () => {
    const failing = await server.publish(
      prompt("Fails at once", "sandbox/text", "", "sandbox: error=400\nThe secret words. {{ ask }}"),
    );
    const failed = await runOf(failing.promptVersionId);
    const { runId } = failed.data;
    const requestId = failed.headers.get("x-request-id") ?? "";
    const read = () => operator.client.send("getInstallationRun", { params: { runId } });
    await until(async () => (await read()).calls.every(({ outcome }) => outcome !== null));
    const run = await read();
    expect(run).toMatchObject({ runStatus: "failed", accountId: ada.accountId, requestId });
    expect(run.calls.length).toBeGreaterThan(0);
    const cause = run.cause ?? "";
    expect(cause).toBe("bad_request");
    const found = async (query: { id?: string; cause?: string; model?: string; accountId?: string }) =>
      (await operator.client.send("listInstallationRuns", { query })).rows.map((row) => row.runId);
    const hits = [{ id: runId }, { id: requestId }, { cause }, { accountId: ada.accountId, model: "sandbox/text" }];
    for (const query of hits) expect(await found(query)).toContain(runId);
    for (const query of [{ id: ada.accountId }, { cause: "nothing" }, { accountId: operator.accountId }]) {
      expect(await found(query)).not.toContain(runId);
    }
    expect(JSON.stringify(run)).not.toContain("secret words");
    expect(run).not.toHaveProperty("inputs");
    expect(run).not.toHaveProperty("outputs");
    const { rows } = await operator.client.send("listModelHealth");
    const health = rows.find(({ model }) => model === "sandbox/text");
    expect(health?.failed).toBeGreaterThan(0);
    expect(health?.lastFailure).not.toBeNull();
    expect(health?.history.reduce((sum, bar) => sum + bar.calls, 0)).toBe(health?.calls);
  });

  test("sees an account with its credits and members", async () => {
    const { accountId } = ada;
    const account = await operator.client.send("getAccount", { params: { accountId } });
    expect(account).toMatchObject({ accountId, plan: "pro", credits: { frozen: null } });
    expect(account.members.map(({ personId }) => personId)).toEqual([ada.personId]);
    const { rows } = await operator.client.send("listAccounts", { query: { q: accountId } });
    expect(rows.map(({ available }) => available)).toEqual([account.credits.available]);
    const absent = { accountId: versionId };
    expect(await codeOf(operator.client.send("getAccount", { params: absent }))).toBe("NOT_FOUND_ERROR");
  });
});

describe("a model that an operator switches off", () => {
  const model = "sandbox/text-free";

  test("is in no list, fails runs without a charge, and says who did it, until it is switched on again", async () => {
    const { promptVersionId } = await server.publish(prompt("Switched words", model));
    const { client: caller } = await server.createCaller();
    const rowOf = async () => (await ada.client.send("listModels")).models.find((row) => row.model === model);
    const offered = async () => (await caller.resources.get()).resources.models.map((row) => row.model).includes(model);
    const off = await operator.client.send("switchModel", { body: { model, isOff: true } });
    expect(off).toMatchObject({ model, enabled: false, isOff: true });
    expect([await rowOf(), await offered()]).toMatchObject([{ enabled: false, isOff: true }, false]);
    const { runId } = (await runOf(promptVersionId)).data;
    expect(await ada.client.send("getRun", { params: { runId } })).toMatchObject({
      runStatus: "failed",
      receipt: { charged: 0 },
    });
    const on = await operator.client.send("switchModel", { body: { model, isOff: false } });
    expect([on, await offered()]).toMatchObject([{ enabled: true, isOff: false }, true]);
    expect((await runOf(promptVersionId)).data).toMatchObject({ runStatus: "succeeded" });
    const { rows } = await operator.client.send("listAudit", { query: { action: "switchModel", limit: 50 } });
    expect(rows.filter(({ subject }) => subject === model)).toHaveLength(2);
    expect(await codeOf(operator.client.send("switchModel", { body: { model: "no/model", isOff: true } }))).toBe(
      "NOT_FOUND_ERROR",
    );
  });
});

describe("a test call", () => {
  const call = (model: string, who: TestPerson = operator) => who.client.send("testModel", { body: { model } });

  test("shows how a model answers and what its provider accepts, charges nobody, and is in the audit log", async () => {
    const before = await operator.client.send("getCredits");
    const text = await call("sandbox/text");
    expect(text).toMatchObject({ isAnswered: true, cause: null, pictureBytes: null });
    expect(text.text).not.toBe("");
    expect(text.costCredits).toBeGreaterThan(0);
    expect((await call("sandbox/image")).pictureBytes).toBeGreaterThan(0);
    expect(await operator.client.send("getCredits")).toEqual(before);
    const { rows } = await operator.client.send("listAudit", { query: { action: "testModel", limit: 50 } });
    expect(new Set(rows.map(({ subject }) => subject))).toEqual(new Set(["sandbox/image", "sandbox/text"]));
  });

  test("is not possible for a model without a key, or for a video model", async () => {
    expect(await codeOf(call("openai/gpt-5.2"))).toBe("VALIDATION_ERROR");
    expect(await codeOf(call("sandbox/video"))).toBe("VALIDATION_ERROR");
    expect(await codeOf(call("no/model"))).toBe("NOT_FOUND_ERROR");
    expect(await codeOf(call("sandbox/text", ada))).not.toBe("SUCCESS");
  });
});

test("the audit log names what was changed, and can be filtered by words", async () => {
  const { keyId } = await ada.client.send("createKey", { body: { name: "night-shift" } });
  const prompts = ["Log one", "Log two"].map((title) => ({ title, model: "sandbox/text", template: "Go." }));
  await ada.client.send("publishPromptFile", { body: { source: JSON.stringify({ promptd: 1, prompts }) } });
  const named = async (action: string) => {
    const { rows } = await operator.client.send("listAudit", { query: { action, personId: ada.personId, limit: 1 } });
    return rows.map(({ subject, subjectName }) => [subject, subjectName])[0];
  };
  expect(await named("Create key")).toEqual([keyId, "night-shift"]);
  expect(await named("createKey")).toEqual([keyId, "night-shift"]);
  const { runId } = (await runOf(versionId)).data;
  expect(await named("create run")).toEqual([runId, expect.any(String)]);
  expect((await named("publish prompt file"))?.[1]).toBe("Log one, Log two");
});

test("an account's audit log includes what operators did to it, by its ID or by its address, and nothing about others", async () => {
  const lin = await createTestPerson(server, { email: "lin-of-the-log@example.org" });
  const params = { accountId: lin.accountId };
  await lin.client.send("createKey", { body: { name: "own" } });
  await operator.client.send("setPlan", { params, body: { plan: "none" } });
  await operator.client.call("grantCredits", {
    body: { account: lin.accountId, amount: 5 },
    headers: { "Idempotency-Key": "of-the-log" },
  });
  await operator.client.send("setPlan", { params: { accountId: ada.accountId }, body: { plan: "pro" } });
  const command = { name: "admin credits grant", subject: "Lin-of-the-log@example.org" };
  await auditCommand(Promise.resolve(), {
    db: server.app.db,
    log: createLog("silent"),
    newId: createIdSource(systemClock),
    command,
  });
  const { rows } = await operator.client.send("listAudit", { query: { accountId: lin.accountId, reads: "without" } });
  const actions = rows.map(({ action }) => action);
  expect(actions.toSorted()).toEqual(["admin credits grant", "createKey", "grantCredits", "setPlan"]);
});

test("an operator learns that an invited person already exists, and sees the invitation until it is accepted", async () => {
  const email = "here-already@example.org";
  const known = await createTestPerson(server, { email });
  const { link, hasPerson } = await operator.client.send("invitePerson", { body: { email, credits: 7 } });
  const fresh = await operator.client.send("invitePerson", { body: { email: "not-here-already@example.org" } });
  expect([hasPerson, fresh.hasPerson]).toEqual([true, false]);
  const listed = async () =>
    (await operator.client.send("listPersonInvitations", { query: { q: "here-already" } })).rows.map(
      (row) => [row.email, row.hasPerson] as const,
    );
  expect(await listed()).toEqual([
    ["not-here-already@example.org", false],
    [email, true],
  ]);
  await known.client.send("joinAccount", { body: { code: link?.split("#")[1] ?? "" } });
  expect(await listed()).toEqual([["not-here-already@example.org", false]]);
});

test("only an operator can read which image host failed, and why", async () => {
  const source = "---\npromptd: 1\ntitle: Far stamp\nmodel: sandbox/image\nimages: [{ label: Photo }]\n---\nA stamp.\n";
  const { promptVersionId } = await server.publish(source);
  const imageInputs = [{ type: "url" as const, url: "https://no-such-host.invalid/secret-path.png" }];
  const body = { promptVersionId, inputs: { imageInputs } };
  const { data } = await ada.client.call("createRun", { body });
  const params = { runId: data.runId };
  const { cause, causeDetail } = await operator.client.send("getInstallationRun", { params });
  expect([cause, causeDetail]).toEqual([
    "image_unusable",
    expect.stringMatching(/^Image 1: no-such-host\.invalid: \w/),
  ]);
  expect(causeDetail).not.toContain("secret-path");
  const own = await ada.client.send("getRun", { params });
  expect(own.error).toBe("The image at position 1 could not be fetched.");
  expect(JSON.stringify(own)).not.toContain(causeDetail);
});

test("an operator's reads of a single account, run, or deletion are in the audit log, while lists are not", async () => {
  const reader = await createTestPerson(server, { isOperator: true });
  const entries: [string, EndpointEntry][] = Object.entries(MANAGE_ENDPOINTS);
  const reads = entries.filter(
    ([, { method, role, path }]) => method === "GET" && role === "operator" && path.includes("/:"),
  );
  expect(reads.map(([name]) => name)).toContain("getInstallationRun");
  const lists = entries.filter(
    ([, { method, role, path }]) => method === "GET" && role === "operator" && !path.includes("/:"),
  );
  for (const [, { path }] of [...reads, ...lists]) {
    await reader.client.request({ method: "GET", path: path.replaceAll(/:\w+/g, reader.accountId) });
  }
  const { rows } = await reader.client.send("listAudit", { query: { personId: reader.personId } });
  const left = rows.filter(({ actor }) => actor !== "none").map(({ action, subject }) => `${action} ${subject}`);
  expect(left.toSorted()).toEqual(reads.map(([name]) => `${name} ${reader.accountId}`).toSorted());
});
