/** Pictures that a provider makes in a queue: whatever happens to a poll, no second picture is ordered. */
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { sentenceFor } from "../../src/models/calls/caller-text.ts";
import type { Database } from "../../src/platform/database/database.ts";
import { createCaller, requestOf } from "../support/model-caller-fixture.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { catalogue, entryOf } from "./adapter-rig.ts";
import { openAllProviders } from "./all-providers.ts";
import { json } from "./own-server.ts";
import { falImage, falQueued, PNG, replicatePrediction } from "./provider-answers.ts";

let db: Database;
useTestDatabase((opened) => (db = opened.db));

type Answer = (response: ServerResponse, url: string) => void;
const busy: Answer = (response) => json(response, { detail: "busy" }, 503);
const limited: Answer = (response) => json(response, { detail: "slow down" }, 429);
const broken: Answer = (response) => response.destroy();
const locked: Answer = (response) =>
  json(response, { detail: "User is locked. Reason: Exhausted balance. Top up at fal.ai." }, 403);
const refused: Answer = (response) => json(response, { detail: "Invalid token." }, 401);
const garbled: Answer = (response) => response.setHeader("content-type", "application/json").end('{"status":');

interface Queue {
  readonly model: string;
  readonly start: Answer;
  readonly pending: Answer;
  readonly done: Answer;
}

const QUEUES: Readonly<Record<string, Queue>> = {
  fal: {
    model: "fal/flux-schnell",
    start: (response, url) => json(response, falQueued(`${url}/fal-ai/flux/requests/1`)),
    pending: (response) => json(response, { status: "IN_PROGRESS" }, 202),
    done: (response) => json(response, { status: "COMPLETED" }),
  },
  Replicate: {
    model: "replicate/flux-schnell",
    start: (response, url) => json(response, replicatePrediction(`${url}/v1/predictions/p1`, "starting", null), 201),
    pending: (response, url) => json(response, replicatePrediction(`${url}/v1/predictions/p1`, "processing", null)),
    done: (response, url) =>
      json(response, replicatePrediction(`${url}/v1/predictions/p1`, "succeeded", `${url}/files/1.png`)),
  },
};

/** A provider that answers each poll as the test says; the last answer repeats. */
async function open({ model, start }: Queue, states: readonly Answer[]) {
  let asked = 0;
  const rig = await openAllProviders((request, response, url) => {
    if (request.method === "POST") return start(response, url);
    if (request.path.startsWith("/files/")) return void response.end(PNG);
    if (request.path.endsWith("/requests/1")) return json(response, falImage(`${url}/files/1.png`));
    states[Math.min(asked, states.length - 1)]?.(response, url);
    asked += 1;
  });
  const entry = entryOf(model);
  const { call, caller } = createCaller({
    db,
    adapter: rig.adapter,
    catalogue: { ...catalogue, find: () => entry, isEnabled: () => true },
  });
  const orders = () => rig.server.received.filter(({ method }) => method === "POST").length;
  return { call, caller, orders, entry };
}

describe.each(Object.entries(QUEUES))("a picture of %s", (_name, queue) => {
  test("whose state cannot be polled is waited for, and ordered once", async () => {
    const { call, orders } = await open(queue, [busy, limited, broken, garbled, queue.pending, queue.done]);
    expect(await call({ model: queue.model })).toMatchObject({ kind: "image" });
    expect(orders()).toBe(1);
  });

  test("is not ordered with another key or model if its account is locked while it is generated", async () => {
    const { call, orders } = await open(queue, [locked, refused, queue.pending, queue.done]);
    const fallback = ["fal/flux-dev", "replicate/flux-dev"];
    expect(await call({ model: queue.model, fallback })).toMatchObject({ kind: "image", model: queue.model });
    expect(orders()).toBe(1);
  });

  test("that another attempt of its run ordered is polled, not ordered again", async () => {
    const asked = Promise.withResolvers<void>();
    const pending: Answer = (response, url) => {
      asked.resolve();
      queue.pending(response, url);
    };
    const { call, orders } = await open(queue, [pending, queue.done]);
    const request = requestOf({ model: queue.model });
    const crash = new AbortController();
    const first = call({ ...request, attempt: 1 }, crash.signal);
    await asked.promise;
    crash.abort(new Error("the worker is gone"));
    await expect(first).rejects.toThrow("the worker is gone");
    expect(await call({ ...request, attempt: 2 })).toMatchObject({ kind: "image" });
    expect(orders()).toBe(1);
  });
});

test("a picture that is finished in an unknown format fails after three polls, and is ordered once", async () => {
  const of = (output: unknown): Answer => {
    return (response, url) =>
      json(response, { ...replicatePrediction(`${url}/v1/predictions/p1`, "succeeded", null), output });
  };
  const queue = QUEUES["Replicate"] as Queue;
  const { call, orders } = await open(queue, [of({ image: "https://example.org/1.png" })]);
  expect(await call({ model: queue.model })).toMatchObject({ kind: "failed", message: sentenceFor("image_unusable") });
  expect(orders()).toBe(1);
  const fal = QUEUES["fal"] as Queue;
  const rig = await openAllProviders((request, response, url) => {
    if (request.method === "POST") return fal.start(response, url);
    if (request.path.endsWith("/status")) return fal.done(response, url);
    json(response, { images: [{ path: "1.png" }] });
  });
  const entry = entryOf(fal.model);
  const { call: callFal } = createCaller({
    db,
    adapter: rig.adapter,
    catalogue: { ...catalogue, find: () => entry, isEnabled: () => true },
  });
  expect(await callFal({ model: fal.model })).toMatchObject({ message: sentenceFor("image_unusable") });
});

test("a truncated result from fal is requested again", async () => {
  const answers = ['{"images":', null];
  const rig = await openAllProviders((request, response, url) => {
    if (request.method === "POST") return json(response, falQueued(`${url}/fal-ai/flux/requests/1`));
    if (request.path.startsWith("/files/")) return void response.end(PNG);
    if (request.path.endsWith("/status")) return json(response, { status: "COMPLETED" });
    const cut = answers.shift() ?? null;
    if (cut === null) return json(response, falImage(`${url}/files/1.png`));
    response.setHeader("content-type", "application/json").end(cut);
  });
  const entry = entryOf("fal/flux-schnell");
  const found = { ...catalogue, find: () => entry, isEnabled: () => true };
  const { call } = createCaller({ db, adapter: rig.adapter, catalogue: found });
  expect(await call({ model: entry.model })).toMatchObject({ kind: "image" });
});
