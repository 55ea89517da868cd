/** Odd responses of fal and Replicate to a picture order: what the run reports, that it ends, and what was ordered. */
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { DECLINED, sentenceFor } from "../../src/models/calls/caller-text.ts";
import type { FailureCause } from "../../src/models/providers/failure.ts";
import type { Database } from "../../src/platform/database/database.ts";
import { sleep } from "../../src/platform/resilience/deadline.ts";
import { createCaller } from "../support/model-caller-fixture.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { catalogue, entryOf } from "./adapter-rig.ts";
import { openAllProviders } from "./all-providers.ts";
import { json } from "./own-server.ts";
import { falImage, falQueued, PNG, replicatePrediction } from "./provider-answers.ts";

let db: Database;
useTestDatabase((opened) => (db = opened.db));

type Answer = (response: ServerResponse, url: string) => void;

const sends =
  (value: unknown, status = 200): Answer =>
  (response) =>
    json(response, value, status);
const html: Answer = (response) => response.setHeader("content-type", "text/html").end("<html>Welcome</html>");
const redirect: Answer = (response) => response.writeHead(302, { location: "https://login.example/" }).end();
const broken: Answer = (response) => response.destroy();
const huge: Answer = (response) =>
  response.writeHead(200, { "content-type": "application/json", "content-length": 100_000_000 }).write("{");

/** A picture, or the error message of the run. */
type Says = "picture" | FailureCause | "declined";

interface Case {
  readonly start?: Answer;
  readonly state?: Answer;
  readonly result?: Answer;
  readonly file?: Answer;
  readonly says: Says;
  /** How often its state is polled; "deadline": until nobody waits for it any longer. */
  readonly asked: number | "deadline";
  /** Orders for the picture; more than one only if the provider said that it accepted none. */
  readonly orders?: number;
}

const POLICY = { detail: [{ loc: ["body", "prompt"], msg: "flagged", type: "content_policy_violation" }] };
const flagged =
  (flags: unknown, name = "has_nsfw_concepts"): Answer =>
  (response, url) => {
    const { images, seed } = falImage(`${url}/files/1.png`);
    json(response, { images, seed, [name]: flags });
  };
const made =
  (images: unknown): Answer =>
  (response) =>
    json(response, { images });

const FAL: Readonly<Record<string, Case>> = {
  "an order answered by a web page": { start: html, says: "protocol", asked: 0 },
  "an order answered by a redirect": { start: redirect, says: "protocol", asked: 0 },
  "an order answered by null": { start: sends(null), says: "protocol", asked: 0 },
  "an order answered without addresses": { start: sends({ request_id: "1" }), says: "protocol", asked: 0 },
  "an order answered with an address elsewhere": {
    start: sends(falQueued("https://evil.example/requests/1")),
    says: "protocol",
    asked: 0,
  },
  "an order whose answer is huge": { start: huge, says: "too_large", asked: 0 },
  "an order whose connection breaks": { start: broken, says: "network", asked: 0 },
  "an order refused with 503": { start: sends({ detail: "busy" }, 503), says: "overloaded", asked: 0, orders: 3 },
  "an order for a model that is gone": { start: sends({ detail: "Not found" }, 404), says: "model_missing", asked: 0 },
  "an order that is declined": { start: sends(POLICY, 422), says: "declined", asked: 0 },
  "a state with an unknown word": { state: sends({ status: "PONDERING" }), says: "timeout", asked: "deadline" },
  "a state without a word": { state: sends({ queue_position: 0 }), says: "timeout", asked: "deadline" },
  "a state that is a number": { state: sends({ status: 7 }), says: "timeout", asked: "deadline" },
  "a state that is a web page": { state: html, says: "timeout", asked: "deadline" },
  "a state that redirects": { state: redirect, says: "timeout", asked: "deadline" },
  "a state in progress forever": { state: sends({ status: "IN_PROGRESS" }, 202), says: "timeout", asked: "deadline" },
  "a state that is 500 forever": { state: sends({ detail: "x" }, 500), says: "timeout", asked: "deadline" },
  "a state whose key is rejected forever": { state: sends({ detail: "x" }, 401), says: "timeout", asked: "deadline" },
  "a state of an unknown request": { state: sends({ detail: "x" }, 404), says: "job_failed", asked: 1 },
  "a state that is a bad request": { state: sends({ detail: "x" }, 400), says: "bad_request", asked: 1 },
  "a state that is huge": { state: huge, says: "too_large", asked: 1 },
  "a state that failed": {
    state: sends({ status: "COMPLETED", error: "x", error_type: "runner_error" }),
    says: "job_failed",
    asked: 1,
  },
  "a state that was declined": {
    state: sends({ status: "COMPLETED", error: "x", error_type: "content_policy_violation" }),
    says: "declined",
    asked: 1,
  },
  "a state of another content type": {
    state: (response) => response.setHeader("content-type", "text/plain").end('{"status":"COMPLETED"}'),
    says: "picture",
    asked: 1,
  },
  "a result without pictures": { result: sends({ seed: 1 }), says: "empty", asked: 1 },
  "a result with an empty list": { result: made([]), says: "empty", asked: 1 },
  "a result with null": { result: made([null]), says: "empty", asked: 1 },
  "a result without an address": { result: made([{ path: "1.png" }]), says: "image_unusable", asked: 3 },
  "a result with an invalid address": { result: made([{ url: "1.png" }]), says: "image_unusable", asked: 3 },
  "a result that is a list": { result: sends([]), says: "timeout", asked: "deadline" },
  "a result that is a web page": { result: html, says: "timeout", asked: "deadline" },
  "a result that redirects": { result: redirect, says: "timeout", asked: "deadline" },
  "a result that is gone": { result: sends({ detail: "x" }, 404), says: "job_failed", asked: 1 },
  "a result that is declined": { result: sends(POLICY, 422), says: "declined", asked: 1 },
  "a result that is an error": { result: sends({ detail: "x" }, 500), says: "job_failed", asked: 1 },
  "a result behind a proxy that fails": {
    result: (response) => response.writeHead(502).end("bad gateway"),
    says: "timeout",
    asked: "deadline",
  },
  "a result that is huge": { result: huge, says: "too_large", asked: 1 },
  "a flagged picture": { result: flagged([true]), says: "declined", asked: 1 },
  "a picture flagged without a list": { result: flagged(true), says: "declined", asked: 1 },
  "a picture flagged under the other name": {
    result: flagged([true], "nsfw_content_detected"),
    says: "declined",
    asked: 1,
  },
  "one picture with two flags, the second set": { result: flagged([false, true]), says: "declined", asked: 1 },
  "a picture with an empty list of flags": { result: flagged([]), says: "picture", asked: 1 },
  "a picture with flags that are null": { result: flagged(null), says: "picture", asked: 1 },
  "a picture with flags that are not set": { result: flagged([false, false]), says: "picture", asked: 1 },
  "a file that is gone": { file: sends({}, 404), says: "image_unusable", asked: 3 },
  "a file without bytes": { file: (response) => response.end(), says: "empty", asked: 1 },
  "a file that is huge": { file: huge, says: "too_large", asked: 1 },
};

const prediction =
  (status: unknown, output: unknown = null, error: string | null = null): Answer =>
  (response, url) =>
    json(response, { ...replicatePrediction(`${url}/v1/predictions/p1`, "", null, error), status, output });

const REPLICATE: Readonly<Record<string, Case>> = {
  "an order answered by a web page": { start: html, says: "protocol", asked: 0 },
  "an order answered by a redirect": { start: redirect, says: "protocol", asked: 0 },
  "an order answered without addresses": {
    start: sends({ id: "p1", status: "starting" }, 201),
    says: "protocol",
    asked: 0,
  },
  "an order whose answer is huge": { start: huge, says: "too_large", asked: 0 },
  "an order whose connection breaks": { start: broken, says: "network", asked: 0 },
  "an order refused with 503": { start: sends({ detail: "busy" }, 503), says: "overloaded", asked: 0, orders: 3 },
  "an order for a model that is gone": { start: sends({ detail: "Not found" }, 404), says: "model_missing", asked: 0 },
  "a state with an unknown word": { state: prediction("pondering"), says: "timeout", asked: "deadline" },
  "a state without a word": { state: sends({ id: "p1" }), says: "timeout", asked: "deadline" },
  "a state that is a web page": { state: html, says: "timeout", asked: "deadline" },
  "a state that redirects": { state: redirect, says: "timeout", asked: "deadline" },
  "a state in progress forever": { state: prediction("processing"), says: "timeout", asked: "deadline" },
  "a state that is 500 forever": { state: sends({ detail: "x" }, 500), says: "timeout", asked: "deadline" },
  "a state of an unknown request": { state: sends({ detail: "x" }, 404), says: "job_failed", asked: 1 },
  "a state that is huge": { state: huge, says: "too_large", asked: 1 },
  "a prediction that failed": { state: prediction("failed", null, "CUDA"), says: "job_failed", asked: 1 },
  "a prediction that failed without a message": { state: prediction("failed"), says: "job_failed", asked: 1 },
  "a prediction that was declined": { state: prediction("failed", null, "NSFW content"), says: "declined", asked: 1 },
  "a prediction that was canceled": { state: prediction("canceled"), says: "job_failed", asked: 1 },
  "a prediction that was aborted": { state: prediction("aborted"), says: "job_failed", asked: 1 },
  "an output that is null": { state: prediction("succeeded"), says: "empty", asked: 1 },
  "an output that is an empty list": { state: prediction("succeeded", []), says: "empty", asked: 1 },
  "an output that is an object": { state: prediction("succeeded", {}), says: "image_unusable", asked: 3 },
  "an output that is a number": { state: prediction("succeeded", 7), says: "image_unusable", asked: 3 },
  "an output that is not an address": { state: prediction("succeeded", "a picture"), says: "image_unusable", asked: 3 },
  "a file that is gone": { file: sends({}, 404), says: "image_unusable", asked: 3 },
};

interface Queue {
  readonly model: string;
  readonly cases: Readonly<Record<string, Case>>;
  /** As usual. */
  readonly start: Answer;
  readonly state: Answer;
  readonly isState: (path: string) => boolean;
}

const QUEUES: Readonly<Record<string, Queue>> = {
  fal: {
    model: "fal/flux-schnell",
    cases: FAL,
    start: (response, url) => json(response, falQueued(`${url}/fal-ai/flux/requests/1`)),
    state: sends({ status: "COMPLETED" }),
    isState: (path) => path.endsWith("/status"),
  },
  Replicate: {
    model: "replicate/flux-schnell",
    cases: REPLICATE,
    start: (response, url) => json(response, replicatePrediction(`${url}/v1/predictions/p1`, "starting", null), 201),
    state: (response, url) =>
      json(response, replicatePrediction(`${url}/v1/predictions/p1`, "succeeded", `${url}/files/1.png`)),
    isState: (path) => path.endsWith("/predictions/p1"),
  },
};

const usualResult: Answer = (response, url) => json(response, falImage(`${url}/files/1.png`));

async function order(queue: Queue, odd: Case) {
  const rig = await openAllProviders((request, response, url) => {
    if (request.method === "POST") (odd.start ?? queue.start)(response, url);
    else if (request.path.startsWith("/files/")) (odd.file ?? ((file) => file.end(PNG)))(response, url);
    else if (queue.isState(request.path)) (odd.state ?? queue.state)(response, url);
    else (odd.result ?? usualResult)(response, url);
  });
  const entry = entryOf(queue.model);
  const { call } = createCaller({
    db,
    adapter: rig.adapter,
    catalogue: { ...catalogue, find: () => entry, isEnabled: () => true },
    random: () => 0,
    // Often enough to reach every end, but not in a busy loop.
    wait: (_ms, signal) => sleep(10, signal),
  });
  const deadlineMs = performance.now() + (odd.asked === "deadline" ? 700 : 60_000);
  const outcome = await call({ model: queue.model, deadlineMs });
  const orders = rig.server.received.filter(({ method }) => method === "POST");
  const asked = rig.server.received.filter(({ method, path }) => method === "GET" && queue.isState(path)).length;
  return { outcome, orders, asked };
}

function said(says: Says): object {
  if (says === "picture") return { kind: "image" };
  return { kind: "failed", message: says === "declined" ? DECLINED : sentenceFor(says) };
}

describe.each(Object.entries(QUEUES))("a picture of %s", (_name, queue) => {
  test.each(Object.entries(queue.cases))("with %s ends its run, and is ordered once", async (_what, odd) => {
    const { outcome, orders, asked } = await order(queue, odd);
    expect(outcome).toMatchObject(said(odd.says));
    expect(orders).toHaveLength(odd.orders ?? 1);
    // By this, a provider that accepted an order and lost its response recognizes the order.
    expect(new Set(orders.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    expect(odd.asked === "deadline" && asked > 0 ? "deadline" : asked).toBe(odd.asked);
  });
});
