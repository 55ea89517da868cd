/** Runs, credits, and the marketplace for people: the same runs as under /v1, with more detail. */
import type { ListManagedRunsQuery } from "@promptd/contract/manage";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/promptd-process.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { createTestPerson, type TestPerson } from "./people-fixture.ts";
import { codeOf } from "./page-requests.ts";

const ECHO = `---
promptd: 1
title: Echo for people
model: sandbox/text
tags: [echo]
inputs: { ask: {} }
maxOutputTokens: 1000
---
The secret words of the author.

{{ ask }}
`;

const FAILING = ECHO.replace("Echo for people", "Failing for people").replace(
  "The secret",
  "sandbox: error=400\nThe secret",
);

let server: TestServer;
let ada: TestPerson;
let operator: TestPerson;
let promptVersionId: string;
let slug: string;
let promptId: string;
beforeAll(async () => {
  server = await startTestServer({ environment: { PROMPTD_SIGN_UP_PLAN: "pro", PROMPTD_SIGN_UP_CREDITS: "1000" } });
  const published = await server.publish(ECHO);
  ({ promptVersionId, slug, promptId } = published);
  ada = await createTestPerson(server);
  operator = await createTestPerson(server, { isOperator: true });
});
afterAll(() => server.close());

const run = (who: TestPerson, ask: string, headers: Record<string, string> = {}, version = promptVersionId) =>
  who.client.call("createRun", {
    body: { promptVersionId: version, inputs: { textInputs: { ask } } },
    headers,
  });

/** The end of a call is written a moment after the end of its run, which does not wait for it. */
async function withEndedCall(runId: string, person = ada) {
  const read = () => person.client.send("getRun", { params: { runId } });
  let detail = await read();
  await until(async () => {
    detail = await read();
    return detail.timeline.some(({ event, outcome }) => event === "call" && outcome !== null);
  });
  return detail;
}

describe("a person's run", () => {
  test("is created once per Idempotency-Key, and shown with inputs, timeline, receipt, and request id", async () => {
    const first = await run(ada, "hello", { "idempotency-key": "one" });
    const again = await run(ada, "hello", { "idempotency-key": "one" });
    expect([again.data, again.headers.get("idempotent-replayed")]).toEqual([first.data, "true"]);
    const detail = await withEndedCall(first.data.runId);
    expect(detail).toMatchObject({
      runStatus: "succeeded",
      slug,
      promptId,
      inputs: { textInputs: { ask: "hello" }, images: 0 },
      outputs: first.data.outputs,
      keyId: null,
      requestId: first.headers.get("x-request-id"),
      receipt: { charged: first.data.tokens },
    });
    expect(detail.timeline.map(({ event, outcome }) => [event, outcome])).toEqual([
      ["created", null],
      ["started", null],
      ["call", "succeeded"],
      ["finished", "succeeded"],
    ]);
    const [, , call, end] = detail.timeline;
    expect(Date.parse(call?.endedAt ?? "")).toBeLessThanOrEqual(Date.parse(end?.at ?? ""));
    const { held, charged, givenBack } = detail.receipt;
    expect(held).toBe(charged + givenBack);
    expect(JSON.stringify({ ...detail, outputs: [] })).not.toContain("secret words");
  });

  test("shows the tokens that the usage counts for it, from its first model call on", async () => {
    const person = await createTestPerson(server);
    const { runId } = (await run(person, "hello")).data;
    const { receipt } = await withEndedCall(runId, person);
    const { rows } = await person.client.send("getUsage", { query: {} });
    const [{ inputTokens, outputTokens }] = rows as [(typeof rows)[number]];
    expect(inputTokens).toBeGreaterThan(0);
    expect(receipt).toMatchObject({ inputTokens, outputTokens });
    await server.app.db.query("delete from provider_calls where run_id = $1", [runId]);
    const old = await person.client.send("getRun", { params: { runId } });
    expect(old.receipt).toMatchObject({ inputTokens: null, outputTokens: null });
  });

  test("with several attempts was started by its first attempt and finished by its last", async () => {
    const { runId } = (await run(ada, "again")).data;
    await server.app.db.query("update runs set attempt = 3 where id = $1", [runId]);
    const { timeline } = await ada.client.send("getRun", { params: { runId } });
    expect(timeline).toMatchObject([{ event: "created" }, { event: "started", attempt: 1 }, {}, { attempt: 3 }]);
  });

  test("is found by each filter, and not by another value", async () => {
    const failing = await server.publish(FAILING);
    const failed = await run(ada, "x", {}, failing.promptVersionId);
    const { runId } = failed.data;
    const detail = await ada.client.send("getRun", { params: { runId } });
    expect(detail.runStatus).toBe("failed");
    const found = async (query: ListManagedRunsQuery) => {
      const { rows } = await ada.client.send("listRuns", { query: { limit: 50, ...query } });
      return rows.some((row) => row.runId === runId);
    };
    const sentence = detail.error ?? "";
    const requestId = failed.headers.get("x-request-id") ?? "";
    const hits = [
      { status: "failed" as const },
      { promptId: failing.promptId },
      { model: "sandbox/text" },
      { requestId },
    ];
    const misses = [
      { status: "queued" as const },
      { promptId: runId },
      { model: "sandbox/image" },
      { requestId: runId },
    ];
    expect(await Promise.all([...hits, { error: sentence.slice(2, 12).toUpperCase() }].map(found))).not.toContain(
      false,
    );
    expect(await Promise.all([...misses, { error: "no such words" }, { keyId: runId }].map(found))).not.toContain(true);
  });

  test("created with an API key shows the key and its version number", async () => {
    const key = await server.createKey(ada.accountId);
    const { runId } = await key.client.runs.createAndWait({
      promptVersionId,
      inputs: { textInputs: { ask: "by key" } },
    });
    const { rows } = await ada.client.send("listRuns", { query: { keyId: key.keyId } });
    expect(rows.map((row) => [row.runId, row.keyId])).toEqual([[runId, key.keyId]]);
    const keys = await ada.client.send("listKeys");
    const name = keys.rows.find(({ keyId }) => keyId === key.keyId)?.name ?? "";
    const shown = await ada.client.send("getRun", { params: { runId } });
    expect([shown.version, shown.keyName]).toEqual([1, name]);
    const found = await operator.client.send("getInstallationRun", { params: { runId } });
    expect([found.version, found.keyName]).toEqual([1, name]);
  });

  test("is listed in pages without gaps, forward and backward", async () => {
    for (let i = 0; i < 3; i += 1) await run(ada, `page ${i}`);
    const all = (await ada.client.send("listRuns", { query: { limit: 50 } })).rows.map((row) => row.runId);
    const [first, second, third] = all;
    const next = await ada.client.send("listRuns", { query: { limit: 1, startingAfter: first } });
    const back = await ada.client.send("listRuns", { query: { limit: 1, endingBefore: third } });
    expect([next.rows[0]?.runId, next.hasMore, back.rows[0]?.runId, back.hasMore]).toEqual([
      second,
      true,
      second,
      true,
    ]);
  });

  test("is exported with all other matching runs, as JSON lines and as CSV, and only for its own account", async () => {
    const made = await createTestPerson(server);
    const started = await Promise.all(["one", "=two", "three"].map((ask) => run(made, ask)));
    const { promptVersionId: failing } = await server.publish(FAILING);
    const failed = await run(made, "four", {}, failing);
    const read = async (query: string, who = made) => {
      const path = `/manage/v1/runs/export${query}`;
      const { httpStatus, text } = await who.client.request({ method: "GET", path });
      return { httpStatus, text, lines: text.split(/\r?\n/).filter((line) => line !== "") };
    };
    const all = await read("");
    const { rows } = await made.client.send("listRuns");
    expect(all.lines.map((line) => JSON.parse(line))).toEqual(rows);
    expect(rows).toHaveLength(started.length + 1);
    const csv = await read("?format=csv&status=failed");
    expect(csv.lines.map((line) => line.split(",")[0])).toEqual(["runId", failed.data.runId]);
    expect((await read(`?promptId=${promptId}`)).lines).toHaveLength(started.length);
    expect((await read("?format=xml")).httpStatus).toBe(422);
    expect((await read("", operator)).text).not.toContain(failed.data.runId);
    const { client: token } = await made.token(["credits:read"]);
    expect((await token.request({ method: "GET", path: "/manage/v1/runs/export" })).httpStatus).toBe(401);
  });

  test("does not exist for anybody else, whether to see, follow, or cancel it", async () => {
    const { data } = await run(ada, "mine");
    const { runId } = data;
    const codes = await Promise.all([
      codeOf(operator.client.send("getRun", { params: { runId } })),
      codeOf(operator.client.send("cancelRun", { params: { runId } })),
    ]);
    expect(codes).toEqual(["NOT_FOUND_ERROR", "NOT_FOUND_ERROR"]);
    const follow = ({ cookie }: TestPerson) =>
      fetch(`${server.url}/manage/v1/runs/${runId}/events`, { headers: { cookie } });
    const [own, foreign] = [await follow(ada), await follow(operator)];
    expect([own.status, foreign.status]).toEqual([200, 404]);
    await own.body?.cancel();
  });

  test("in an account that is not the personal one is followed by address alone, as EventSource does", async () => {
    const member = await createTestPerson(server);
    await server.app.db.query("insert into account_members (account_id, person_id, role) values ($1, $2, 'member')", [
      ada.accountId,
      member.personId,
    ]);
    const { data } = await run(ada, "shared");
    const follow = ({ cookie }: TestPerson, query: string) =>
      fetch(`${server.url}/manage/v1/runs/${data.runId}/events${query}`, { headers: { cookie } });
    const ofAccount = `?account=${ada.accountId}`;
    expect((await follow(member, "")).status).toBe(404);
    const followed = await follow(member, ofAccount);
    expect([followed.status, await followed.text()]).toEqual([200, expect.stringContaining("event: done")]);
    expect((await follow(operator, ofAccount)).status).toBe(404);
    expect((await follow(member, "?account=mine")).status).toBe(400);
    const cancel = await fetch(`${server.url}/manage/v1/runs/${data.runId}/cancel${ofAccount}`, {
      method: "POST",
      headers: { cookie: member.cookie },
    });
    expect(cancel.status).toBe(400); // a write needs the header itself
  });

  test("needs a plan, as under /v1", async () => {
    await server.endPlan(operator.accountId);
    expect(await codeOf(run(operator, "no plan"))).toBe("PAYMENT_REQUIRED_ERROR");
    expect(await codeOf(operator.client.send("listRuns"))).toBe("SUCCESS");
  });
});

describe("credits", () => {
  test("and the journal add up, and journal rows name the prompts of their runs", async () => {
    await run(ada, "journal");
    const credits = await ada.client.send("getCredits");
    const { rows, hasMore } = await ada.client.send("listJournal", { query: { limit: 3 } });
    expect([rows[0]?.kind === "release" || rows[0]?.kind === "capture", hasMore]).toEqual([true, true]);
    expect(rows[0]?.creditsAfter).toBe(credits.available);
    expect(rows[0]?.title).toBe("Echo for people");
    const rest = await ada.client.send("listJournal", { query: { limit: 50, startingAfter: rows[2]?.entryId } });
    expect(rest.rows.at(-1)).toMatchObject({ kind: "grant", amount: 1_000, reason: "given at sign-up", title: null });
  });
});

test("the marketplace can be searched as under /v1 and listed without a query, and shows a prompt by its slug", async () => {
  const found = await ada.client.send("searchMarketplace", { query: { q: "echo people" } });
  expect(found.rows.map((row) => row.slug)).toContain(slug);
  const listed = await ada.client.send("searchMarketplace", { query: { sort: "newest" } });
  expect(listed.rows.map((row) => row.slug)).toContain(slug);
  const prompt = await ada.client.send("getMarketplacePrompt", { params: { slug } });
  expect(prompt).toMatchObject({ promptVersionId, tags: ["echo"] });
  expect(JSON.stringify(prompt)).not.toContain("secret words");
  expect(await codeOf(ada.client.send("getMarketplacePrompt", { params: { slug: "nothing" } }))).toBe(
    "NOT_FOUND_ERROR",
  );
});

test("an operator sees workers, queue, failures by cause, and models", async () => {
  const system = await operator.client.send("getSystem");
  expect(system.workers).toHaveLength(1);
  expect(system.failures.length).toBeGreaterThan(0);
  expect(system.storage.databaseBytes).toBeGreaterThan(1_000_000);
  const { models } = await ada.client.send("listModels");
  expect(models.find(({ model }) => model === "sandbox/text")).toMatchObject({ enabled: true, modality: "text" });
});
