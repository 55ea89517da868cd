import { afterEach, expect, test, vi } from "vitest";
import { entryOf } from "../../../test/providers/adapter-rig.ts";
import { openAllProviders } from "../../../test/providers/all-providers.ts";
import { json } from "../../../test/providers/own-server.ts";
import { replicatePrediction } from "../../../test/providers/provider-answers.ts";
import type { ModelAdapter, ModelCall, ModelResult } from "../ai-sdk/model-adapter.ts";
import { loadCatalogue, requireEntry } from "../catalogue/catalogue.ts";
import { failure } from "../providers/failure.ts";
import { sentenceFor } from "./caller-text.ts";
import { callDirectly, createTestCall } from "./direct-call.ts";

const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true });
const entry = requireEntry(catalogue, "sandbox/text");
afterEach(() => void vi.useRealTimers());

function answering(result: ModelResult): { readonly adapter: ModelAdapter; readonly calls: ModelCall[] } {
  const calls: ModelCall[] = [];
  const callModel = (call: ModelCall) => {
    calls.push(call);
    return Promise.resolve(result);
  };
  return { adapter: { callModel } as unknown as ModelAdapter, calls };
}

test("a test call that fails is made once, and reports the cause with the provider's status and code, never its text", async () => {
  const refused = failure("credentials", { retry: "safe", breaker: "opens", httpStatus: 401, code: "invalid_api_key" });
  const { adapter, calls } = answering(refused);
  expect(await createTestCall(adapter)(entry)).toMatchObject({
    model: "sandbox/text",
    isAnswered: false,
    costCredits: 0,
    text: null,
    cause: "credentials",
    httpStatus: 401,
    providerCode: "invalid_api_key",
  });
  expect(calls).toHaveLength(1);
});

test("a test call that the model declines does not count as answered", async () => {
  const { adapter } = answering({ kind: "refused", usage: null });
  expect(await createTestCall(adapter)(entry)).toMatchObject({ isAnswered: false, cause: "refused" });
});

/** A provider that never finishes an ordered picture. */
async function openSlowProvider() {
  const polled = Promise.withResolvers<void>();
  const { adapter, server } = await openAllProviders((request, response, url) => {
    if (request.method === "GET") polled.resolve();
    json(response, replicatePrediction(`${url}/v1/predictions/p1`, "processing", null), 201);
  });
  const last = () => {
    const { method, path } = server.received.at(-1) ?? {};
    return [method, path];
  };
  return { adapter, polled: polled.promise, last };
}

test("a picture that a test call gives up on is canceled at its provider, which would otherwise bill it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { adapter, polled, last } = await openSlowProvider();
  const call = createTestCall(adapter)(entryOf("replicate/flux-schnell"));
  await polled;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await call).toMatchObject({ isAnswered: false, costCredits: 0, cause: "timeout" });
  expect(last()).toEqual(["POST", "/v1/predictions/p1/cancel"]);
});

const REQUEST = { options: {}, instructions: "", prompt: "A fox", images: [], maxOutputTokens: null, item: 0 };

test("a picture that is never finished fails its test with a message, and is canceled at its provider", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { adapter, polled, last } = await openSlowProvider();
  const slow = entryOf("replicate/flux-schnell");
  const call = callDirectly(adapter, slow, REQUEST, new AbortController().signal);
  await polled;
  await vi.advanceTimersByTimeAsync(slow.limits.timeoutMs);
  expect(await call).toEqual({ kind: "failed", message: sentenceFor("timeout") });
  expect(last()).toEqual(["POST", "/v1/predictions/p1/cancel"]);
});

test("a picture whose author stops the test is canceled at its provider", async () => {
  const { adapter, polled, last } = await openSlowProvider();
  const author = new AbortController();
  const call = callDirectly(adapter, entryOf("replicate/flux-schnell"), REQUEST, author.signal);
  await polled;
  const stop = new Error("stopped");
  author.abort(stop);
  await expect(call).rejects.toBe(stop);
  expect(last()).toEqual(["POST", "/v1/predictions/p1/cancel"]);
});
