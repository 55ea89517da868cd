import { expect, test } from "vitest";
import type { ModelAdapter, ModelCall, ModelResult } from "../ai-sdk/model-adapter.ts";
import { loadCatalogue, requireEntry } from "../catalogue/catalogue.ts";
import { failure } from "../providers/failure.ts";
import { createTestCall } from "./direct-call.ts";

const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true });
const entry = requireEntry(catalogue, "sandbox/text");

function answering(result: ModelResult): { readonly adapter: ModelAdapter; readonly calls: ModelCall[] } {
  const calls: ModelCall[] = [];
  const callModel = (call: ModelCall) => {
    calls.push(call);
    return Promise.resolve(result);
  };
  return { adapter: { callModel } as unknown as ModelAdapter, calls };
}

test("a test call that fails is made once, and says the cause with the provider's status and code, never its text", async () => {
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

test("a test call that the model declines is no answer", async () => {
  const { adapter } = answering({ kind: "refused", usage: null });
  expect(await createTestCall(adapter)(entry)).toMatchObject({ isAnswered: false, cause: "refused" });
});
