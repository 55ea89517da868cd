/** Several keys for one provider: calls use them in turn, each fails independently, and a job stays with its key. */
import { describe, expect, test } from "vitest";
import type { Database } from "../../src/platform/database/database.ts";
import { createCaller, requestOf } from "../support/model-caller-fixture.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { callOf, catalogue, entryOf } from "./adapter-rig.ts";
import { openAllProviders, type Reply } from "./all-providers.ts";
import { json, type Received } from "./own-server.ts";
import { chatAnswer, replicatePrediction } from "./provider-answers.ts";

let db: Database;
useTestDatabase((opened) => (db = opened.db));

const chat = { ...entryOf("openai/gpt-5.2"), api: "chat" as const };
const keyOf = ({ headers }: Pick<Received, "headers">) => headers.authorization?.replace("Bearer ", "");

/** @param refused keys that get this response. */
async function open(refused: Readonly<Record<string, { readonly status: number; readonly code: string }>> = {}) {
  const reply: Reply = (request, response) => {
    const failure = refused[keyOf(request) ?? ""];
    if (failure === undefined) return json(response, chatAnswer());
    response.setHeader("retry-after", "30");
    json(response, { error: { code: failure.code, message: "no" } }, failure.status);
  };
  const rig = await openAllProviders(reply, { OPENAI_API_KEY: "first, second" });
  const { call } = createCaller({
    db,
    adapter: rig.adapter,
    catalogue: { ...catalogue, find: () => chat, isEnabled: () => true },
  });
  const used = () => rig.server.received.map(keyOf);
  return { call: () => call(requestOf({ model: chat.model })), used };
}

test("calls use the keys in turn", async () => {
  const { call, used } = await open();
  for (let made = 0; made < 4; made += 1) expect(await call()).toMatchObject({ kind: "text" });
  expect(used()).toEqual(["first", "second", "first", "second"]);
});

describe.each([
  ["is refused", { status: 401, code: "invalid_api_key" }],
  ["is empty", { status: 429, code: "insufficient_quota" }],
  ["is limited for half a minute", { status: 429, code: "rate_limit_exceeded" }],
])("a key that %s", (_what, failure) => {
  test("does not affect its runs: the other key is used at once, and alone from then on", async () => {
    const { call, used } = await open({ first: failure });
    for (let made = 0; made < 3; made += 1) expect(await call()).toMatchObject({ kind: "text" });
    expect(used()).toEqual(["first", "second", "second", "second"]);
  });
});

test("if all keys are rejected, the model's runs wait as with a single key", async () => {
  const failure = { status: 401, code: "invalid_api_key" };
  const { call, used } = await open({ first: failure, second: failure });
  expect(await call()).toMatchObject({
    kind: "failed",
    message: "The model provider is not available. Ask an operator of this server.",
  });
  expect(await call()).toMatchObject({ kind: "later" });
  expect(used()).toEqual(["first", "second"]);
});

test("a job is polled and canceled with the key that started it, which its stored name does not contain", async () => {
  const { adapter, signal, server } = await openAllProviders(
    (_request, response, url) =>
      json(response, replicatePrediction(`${url}/v1/predictions/p1`, "processing", null), 201),
    { REPLICATE_API_TOKEN: "first,second" },
  );
  const call = callOf(entryOf("replicate/flux-schnell"), { key: 1 });
  const started = await adapter.startJob(call, signal);
  if (started.kind !== "started") throw new Error("the job was not started");
  const { operation } = started;
  expect(JSON.stringify(operation)).not.toMatch(/first|second/);
  expect(await adapter.pollJob({ call: { ...call }, operation }, signal)).toEqual({ kind: "pending" });
  expect(await adapter.cancelJob({ entry: call.entry, operation }, signal)).toEqual({ kind: "canceled" });
  expect(server.received.map(keyOf)).toEqual(["second", "second", "second"]);
});
