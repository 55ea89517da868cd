import { expect, test } from "vitest";
import { cancelRequestOf } from "./cancel-request.ts";
import { resolvePlace } from "./provider-endpoint.ts";

const placeOf = (provider: string) =>
  resolvePlace({ provider, server: null }, (name) => (/_(KEY|TOKEN)$/.test(name) ? "k" : null));
const cancel = (provider: string, operation: Parameters<typeof cancelRequestOf>[1]) => {
  const request = cancelRequestOf(provider, operation, placeOf(provider));
  return request === null ? null : [request.method, request.url.href, request.authorization];
};

test("a job is canceled below the address of its state, as its provider documents", () => {
  expect(cancel("replicate", { getUrl: "https://api.replicate.com/v1/predictions/p1" })).toEqual([
    "POST",
    "https://api.replicate.com/v1/predictions/p1/cancel",
    "Bearer k",
  ]);
  const canceled = ["PUT", "https://queue.fal.run/fal-ai/luma/requests/1/cancel", "Key k"];
  expect(cancel("fal", { responseUrl: "https://queue.fal.run/fal-ai/luma/requests/1" })).toEqual(canceled);
  expect(cancel("fal", { responseUrl: "https://queue.fal.run/fal-ai/luma/requests/1/response" })).toEqual(canceled);
});

test.each([
  ["replicate", { getUrl: "https://elsewhere.example/v1/predictions/p1" }],
  ["fal", { responseUrl: "http://queue.fal.run/requests/1" }],
  ["fal", { responseUrl: "not an address" }],
  ["fal", null],
  ["fal", [1]],
  ["replicate", { getUrl: 7 }],
  ["google", { operationName: "models/veo/operations/1" }],
] as const)("the key of %s goes nowhere for %j", (provider, operation) => {
  expect(cancel(provider, operation)).toBeNull();
});
