/** Tests each part of each provider with an example; a provider without a row here fails. */
import { describe, expect, test } from "vitest";
import { MODALITIES, type Modality } from "@promptd/contract";
import { systemClock } from "../../platform/clock.ts";
import { SERVICE_KEYS } from "../../platform/config/service-keys.ts";
import { SETTINGS } from "../../platform/config/settings.ts";
import { resolveEndpoint } from "./provider-endpoint.ts";
import { ALL_PROVIDERS, BUILT_IN_PROVIDERS, LOCAL_PROVIDER, providerOf, RESERVED_NAMES } from "./all-providers.ts";
import { classifyAnswer, classifyJobFailure } from "./failure.ts";
import { makes, type CancelRequest, type Meaning, type ModelSource } from "./provider.ts";

type Make = (source: ModelSource) => Promise<unknown>;

interface Example {
  readonly makes: readonly (Modality | "embeddings")[];
  /** Who receives the key when no address is set. */
  readonly origins: readonly string[];
  /** How the provider reports each failure, and with which status. */
  readonly says: readonly (readonly [status: number, words: string, meaning: Meaning])[];
  readonly declinesJob: string | null;
  /** A response that hides a refusal from the SDK, and its modality. */
  readonly hiddenRefusal: { readonly modality: Modality; readonly status: number; readonly body: unknown } | null;
  readonly cancels: readonly { readonly operation: unknown; readonly request: readonly string[] | string | null }[];
}

const NOTHING_TO_CANCEL: Example["cancels"] = [];

const EXAMPLES: Readonly<Record<string, Example>> = {
  sandbox: {
    makes: ["text", "image", "video"],
    origins: [],
    says: [],
    declinesJob: null,
    hiddenRefusal: null,
    cancels: [{ operation: { v: 1 }, request: "not-needed" }],
  },
  openai: {
    makes: ["text", "image", "embeddings"],
    origins: ["https://api.openai.com/v1"],
    says: [
      [400, '{"error":{"code":"moderation_blocked"}}', "declined"],
      [429, '{"error":{"code":"insufficient_quota"}}', "quota"],
      [400, '{"error":{"code":"string_above_max_length"}}', "tooLong"],
      [404, '{"error":{"code":"model_not_found"}}', "noModel"],
    ],
    declinesJob: null,
    hiddenRefusal: null,
    cancels: NOTHING_TO_CANCEL,
  },
  anthropic: {
    makes: ["text"],
    origins: ["https://api.anthropic.com/v1"],
    says: [
      [400, '{"error":{"message":"Output blocked by content filtering policy"}}', "declined"],
      [400, '{"error":{"message":"Your credit balance is too low to access the API"}}', "quota"],
      [400, '{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}', "tooLong"],
    ],
    declinesJob: null,
    hiddenRefusal: null,
    cancels: NOTHING_TO_CANCEL,
  },
  google: {
    makes: ["text", "image", "video", "embeddings"],
    origins: ["https://generativelanguage.googleapis.com/v1beta"],
    says: [
      [400, '{"error":{"details":[{"reason":"API_KEY_INVALID"}]}}', "badKey"],
      [
        400,
        '{"error":{"message":"The input token count (9) exceeds the maximum number of tokens allowed"}}',
        "tooLong",
      ],
    ],
    declinesJob: "violates our usage guidelines",
    hiddenRefusal: { modality: "image", status: 200, body: { candidates: [{ finishReason: "IMAGE_SAFETY" }] } },
    cancels: NOTHING_TO_CANCEL,
  },
  fal: {
    makes: ["image", "video"],
    origins: ["https://fal.run", "https://queue.fal.run"],
    says: [
      [422, '{"detail":[{"type":"content_policy_violation"}]}', "declined"],
      [403, '{"detail":"User is locked. Reason: Exhausted balance."}', "quota"],
    ],
    declinesJob: "sensitive content",
    hiddenRefusal: null,
    cancels: [
      {
        operation: { responseUrl: "https://queue.fal.run/fal-ai/luma/requests/1" },
        request: ["PUT", "https://queue.fal.run/fal-ai/luma/requests/1/cancel", "Key k"],
      },
      {
        operation: { responseUrl: "https://queue.fal.run/fal-ai/luma/requests/1/response" },
        request: ["PUT", "https://queue.fal.run/fal-ai/luma/requests/1/cancel", "Key k"],
      },
      {
        operation: { responseUrl: "x", cancelUrl: "https://queue.fal.run/fal-ai/luma/requests/1/cancel" },
        request: ["PUT", "https://queue.fal.run/fal-ai/luma/requests/1/cancel", "Key k"],
      },
      { operation: { responseUrl: "x", cancelUrl: "https://elsewhere.example/cancel" }, request: null },
      { operation: { responseUrl: "http://queue.fal.run/requests/1" }, request: null },
      { operation: { responseUrl: "not an address" }, request: null },
      { operation: null, request: null },
      { operation: [1], request: null },
    ],
  },
  replicate: {
    makes: ["image", "video"],
    origins: ["https://api.replicate.com/v1"],
    says: [],
    declinesJob: "Prediction failed: flagged as sensitive (E005)",
    hiddenRefusal: null,
    cancels: [
      {
        operation: { getUrl: "https://api.replicate.com/v1/predictions/p1" },
        request: ["POST", "https://api.replicate.com/v1/predictions/p1/cancel", "Bearer k"],
      },
      { operation: { getUrl: "https://elsewhere.example/v1/predictions/p1" }, request: null },
      { operation: { getUrl: 7 }, request: null },
    ],
  },
  compatible: {
    makes: ["text", "image", "embeddings"],
    origins: ["https://api.openai.com/v1"],
    says: [
      [403, '{"error":{"metadata":{"flagged_input":"…"}}}', "declined"],
      [400, `{"error":{"message":"This model's maximum context length is 8192 tokens"}}`, "tooLong"],
      [400, '{"error":{"code":"Arrearage"}}', "quota"],
      [400, '{"error":{"code":"model_not_supported"}}', "noModel"],
    ],
    declinesJob: null,
    hiddenRefusal: null,
    cancels: NOTHING_TO_CANCEL,
  },
};

const CAUSES: Readonly<Record<Meaning, unknown>> = {
  declined: { kind: "refused" },
  quota: { cause: "quota" },
  badKey: { cause: "credentials" },
  tooLong: { cause: "too_long" },
  noModel: { cause: "model_missing" },
};

const secret = (name: string) => (/_(KEY|TOKEN)$/.test(name) ? "k" : null);
const endpointOf = (provider: string) => resolveEndpoint({ provider, server: null }, secret);

test("every provider has an example here, and there are no other examples", () => {
  expect(Object.keys(EXAMPLES).sort()).toEqual(ALL_PROVIDERS.map(({ id }) => id).sort());
});

test("every key and address that a provider's settings name is listed, and every listed address belongs to a provider", () => {
  const settings = ALL_PROVIDERS.flatMap((provider) => provider.settings ?? []);
  expect(settings.filter(({ key }) => !Object.hasOwn(SERVICE_KEYS, key))).toEqual([]);
  const listed = Object.keys(SETTINGS).filter((name) => name.endsWith("_BASE_URL"));
  expect([...new Set(settings.map(({ baseUrl }) => baseUrl))].sort()).toEqual(listed.sort());
});

test("a name that is not built in belongs to an OpenAI-compatible server", () => {
  expect(providerOf("home").id).toBe("compatible");
  expect(RESERVED_NAMES.has(LOCAL_PROVIDER)).toBe(true);
  expect(BUILT_IN_PROVIDERS.every(({ id }) => RESERVED_NAMES.has(id) && providerOf(id).id === id)).toBe(true);
});

describe.each(ALL_PROVIDERS.map((provider) => [provider.id, provider, EXAMPLES[provider.id]] as const))(
  "%s",
  (id, provider, example) => {
    if (example === undefined) throw new Error(`no example of ${id}`);

    test("supports what it names, and nothing else", async () => {
      const made = MODALITIES.filter((modality) => makes(provider, modality));
      expect([...made, ...(provider.embeddings === null ? [] : ["embeddings"])].sort()).toEqual(
        [...example.makes].sort(),
      );
      const call = {
        model: id,
        instructions: "",
        prompt: "",
        authorsText: null,
        images: [],
        itemIndex: 0,
        callNumber: 1,
      };
      const source: ModelSource = {
        provider: id,
        providerModel: "a-model",
        endpoint: endpointOf(id),
        clock: systemClock,
        fetch: () => Promise.reject(new Error("nothing is asked yet")),
        call: { ...call, maxOutputTokens: 10 },
      };
      const factories: (Make | null | undefined)[] = MODALITIES.map((modality) => provider.models[modality]);
      for (const make of factories.concat(provider.embeddings?.model).filter((each) => each != null)) {
        expect(await make(source)).toMatchObject({ specificationVersion: "v4" });
      }
    });

    test("sends its key only to its own addresses", () => {
      const { origins, apiKey } = endpointOf(id);
      expect(origins).toEqual(example.origins);
      expect(apiKey).toBe(provider.settings === null ? null : "k");
    });

    test("reports failures in words that are understood", () => {
      for (const [httpStatus, body, meaning] of example.says) {
        expect(classifyAnswer({ httpStatus, headers: {}, body }, 0)).toMatchObject(CAUSES[meaning] as object);
        expect(provider.failures.answers[meaning]).toBeDefined();
      }
      const meanings = Object.keys(provider.failures.answers);
      expect(new Set(example.says.map(([, , meaning]) => meaning)).size).toBeGreaterThanOrEqual(
        meanings.length - (id === "google" ? 1 : 0), // the words of its quota are told apart in failure.test.ts
      );
      expect(classifyJobFailure(example.declinesJob ?? "a policy, as some model's author says").kind).toBe("refused");
    });

    test("reveals a refusal hidden in a response, and leaves other responses alone", async () => {
      expect(provider.refusals === null).toBe(example.hiddenRefusal === null);
      if (provider.refusals === null || example.hiddenRefusal === null) return;
      const { modality, status, body } = example.hiddenRefusal;
      expect(provider.refusals.modalities).toContain(modality);
      const shown = await provider.refusals.read(Response.json(body, { status }));
      expect(shown.ok).toBe(false);
      expect(await shown.text()).toContain("content_policy_violation");
      const usual = await provider.refusals.read(Response.json({ done: false }));
      expect([usual.status, await usual.json()]).toEqual([200, { done: false }]);
    });

    test("cancels a started job as documented, and sends its key nowhere else", () => {
      const shown = (request: CancelRequest | string | null) =>
        request === null || typeof request === "string"
          ? request
          : [request.method, request.url.href, request.authorization];
      expect(provider.cancel === null).toBe(example.cancels.length === 0);
      for (const { operation, request } of example.cancels) {
        expect(shown(provider.cancel?.({ operation, endpoint: endpointOf(id) }) ?? null)).toEqual(request);
      }
    });
  },
);
