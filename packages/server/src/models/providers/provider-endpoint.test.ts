import { describe, expect, test } from "vitest";
import { compatibleEndpoint, resolveEndpoint } from "./provider-endpoint.ts";

const secretOf =
  (environment: Record<string, string>) =>
  (name: string): string | null =>
    environment[name] ?? null;

describe("a model that was found at OPENAI_BASE_URL", () => {
  const entry = { provider: "compatible", server: { baseURL: "https://openrouter.ai/api/v1" } };

  test("gets OPENAI_API_KEY, but only at that address", () => {
    const endpoint = resolveEndpoint(
      entry,
      secretOf({ OPENAI_BASE_URL: "https://openrouter.ai/api/v1/", OPENAI_API_KEY: "sk-or" }),
    );
    expect(endpoint).toMatchObject({ apiKey: "sk-or", origins: ["https://openrouter.ai/api/v1"] });
  });

  test.each([
    ["has no OPENAI_BASE_URL", {}],
    ["has another one", { OPENAI_BASE_URL: "http://127.0.0.1:11434" }],
    ["has OpenAI's own", { OPENAI_BASE_URL: "https://api.openai.com/v1" }],
  ])("gets no key from a process that %s: another process found it", (_name, environment) => {
    expect(resolveEndpoint(entry, secretOf({ ...environment, OPENAI_API_KEY: "sk-real" })).apiKey).toBeNull();
  });
});

test("OpenAI's own address is not a compatible server, however it is written", () => {
  for (const address of ["https://api.openai.com", "https://API.openai.com/v1/", "http://api.openai.com:80/v2"]) {
    expect(compatibleEndpoint(secretOf({ OPENAI_BASE_URL: address }))).toBeNull();
  }
  expect(compatibleEndpoint(secretOf({}))).toBeNull();
});

test("an unknown provider gets neither an address nor a key", () => {
  expect(resolveEndpoint({ provider: "unheard-of", server: null }, () => "sk-real")).toMatchObject({
    apiKey: null,
    origins: [],
  });
});
