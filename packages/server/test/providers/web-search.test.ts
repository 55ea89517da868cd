/** What a model that may search the web is sent, for every such catalogue model, and what its searches cost. */
import { describe, expect, test } from "vitest";
import type { CatalogueEntry } from "../../src/models/catalogue/catalogue.ts";
import { resolveMapping } from "../../src/models/catalogue/catalogue.ts";
import type { ModelCall } from "../../src/models/ai-sdk/model-adapter.ts";
import { nanoCredits } from "../../src/credits/index.ts";
import { ratesOf } from "../../src/models/pricing/price-plan.ts";
import { NO_USAGE } from "../../src/models/pricing/usage.ts";
import type { Transport } from "../../src/models/providers/transport.ts";
import { callOf, catalogue, createRig, entryOf } from "./adapter-rig.ts";
import { ELSEWHERE } from "./all-providers.ts";
import { chatAnswer, geminiAnswer, messagesAnswer, responsesAnswer } from "./provider-answers.ts";

const PAGE = "https://example.org/tea";
const TITLE = "Tea [and] rain";

/** An OpenAI response after so many searches, plus a failed search and an opened page, which are not billed. */
function openaiAnswer(searches: number) {
  const { output, ...rest } = responsesAnswer();
  const calls = Array.from({ length: searches }, (_, at) => ({
    type: "web_search_call",
    id: `ws_${at}`,
    status: "completed",
    action: { type: "search", query: "tea", queries: ["tea", "rain"] },
  }));
  const opened = { type: "web_search_call", id: "ws_p", status: "completed", action: { type: "open_page", url: PAGE } };
  const failed = {
    ...opened,
    id: "ws_f",
    status: "failed",
    action: { type: "search", query: "tea", queries: ["tea"] },
  };
  const annotations = [{ type: "url_citation", url: PAGE, title: TITLE, start_index: 0, end_index: 1 }];
  const message = { ...output[0], content: [{ ...output[0]?.content[0], annotations }] };
  return { ...rest, output: [...calls, ...(searches === 0 ? [] : [opened, failed]), message] };
}

function claudeAnswer(searches: number) {
  const answer = messagesAnswer();
  const found = [{ type: "web_search_result", url: PAGE, title: TITLE, encrypted_content: "x", page_age: null }];
  const calls = Array.from({ length: searches }, (_, at) => [
    { type: "server_tool_use", id: `srv_${at}`, name: "web_search", input: { query: "tea" } },
    { type: "web_search_tool_result", tool_use_id: `srv_${at}`, content: found },
  ]).flat();
  const citation = {
    type: "web_search_result_location",
    url: PAGE,
    title: TITLE,
    encrypted_index: "x",
    cited_text: "t",
  };
  const texts = [
    { type: "text", text: "A short " },
    { type: "text", text: "answer.", citations: [citation] },
  ];
  const usage = { ...answer.usage, server_tool_use: { web_search_requests: searches } };
  const before = searches === 0 ? [] : [{ type: "text", text: "Let me look." }];
  return { ...answer, content: [...before, ...calls, ...texts], usage };
}

function googleAnswer(searches: number) {
  const { candidates = [], ...rest } = geminiAnswer();
  const groundingMetadata =
    searches === 0
      ? {}
      : {
          webSearchQueries: Array.from({ length: searches }, (_, at) => `query ${at}`),
          groundingChunks: [{ web: { uri: PAGE, title: TITLE } }],
        };
  return { ...rest, candidates: candidates.map((candidate) => ({ ...candidate, groundingMetadata })) };
}

function answerOf(url: URL, searches: number): object {
  if (url.pathname.endsWith("/chat/completions")) return chatAnswer();
  if (url.pathname.endsWith("/messages")) return claudeAnswer(searches);
  return url.pathname.endsWith(":generateContent") ? googleAnswer(searches) : openaiAnswer(searches);
}

function transportInto(bodies: string[], searches: number): Transport {
  return {
    fetchWithin: () => async (input, init) => {
      if (typeof init?.body === "string") bodies.push(init.body);
      return Response.json(answerOf(new URL(input instanceof Request ? input.url : input), searches));
    },
    fetchFile: async () => {
      throw new Error("nothing is fetched here");
    },
    close: async () => {},
  };
}

interface Sending {
  readonly searches?: number;
  readonly settings?: Record<string, string>;
  readonly change?: Partial<ModelCall>;
}

async function send(entry: CatalogueEntry, { searches = 0, settings = {}, change = {} }: Sending = {}) {
  const bodies: string[] = [];
  const { adapter, warned } = createRig(settings, { connect: () => transportInto(bodies, searches) });
  const call = callOf(entry, { webSearch: { sources: false }, ...change });
  const result = await adapter.callModel(call, new AbortController().signal);
  const body = JSON.parse(bodies[0] ?? "null") as Record<string, unknown>;
  return { body, result, sent: bodies.length, warnings: warned.mock.calls.map(([facts]) => facts) };
}

const searching = catalogue.entries.filter(
  ({ status, provider, webSearch }) => status !== "retired" && provider !== "sandbox" && webSearch !== undefined,
);

test("models of OpenAI, Anthropic, and Google search the web", () => {
  expect(new Set(searching.map(({ provider }) => provider))).toEqual(new Set(["openai", "anthropic", "google"]));
});

/** The provider's own tool, and nothing that would make it ask us to run a tool. */
const TOOLS: Readonly<Record<string, (searchesMax: number) => object>> = {
  openai: (max) => ({ tools: [{ type: "web_search" }], max_tool_calls: max, store: false }),
  anthropic: (max) => ({ tools: [{ type: "web_search_20250305", name: "web_search", max_uses: max }] }),
  google: () => ({ tools: [{ googleSearch: {} }] }),
};

test.each(searching.map((entry) => [entry.model, entry] as const))(
  "%s is sent its provider's search, limited where possible, and no search if not requested",
  async (_name, entry) => {
    const { body, result, warnings } = await send(entry);
    expect(warnings).toEqual([]);
    expect(result).toMatchObject({ kind: "text", usage: { searches: 0 } });
    expect(body).toMatchObject(TOOLS[entry.provider]?.(entry.webSearch?.searchesMax ?? 0) ?? {});
    const without = await send(entry, { change: { webSearch: undefined } });
    expect(without.body).not.toHaveProperty("tools");
    expect(without.body).not.toHaveProperty("max_tool_calls");
    expect(without.result.usage).not.toHaveProperty("searches");
  },
);

const ONE_OF_EACH = ["openai/gpt-5.2", "anthropic/claude-haiku-4-5", "google/gemini-3.6-flash"];

describe.each(ONE_OF_EACH)("a search by %s", (model) => {
  const entry = entryOf(model);

  test.each([0, 1, 2])("is charged as often as its provider says: %i times", async (searches) => {
    const { result } = await send(entry, { searches });
    expect(result.usage).toMatchObject({ searches });
    const rates = ratesOf(entry, resolveMapping(entry, {}));
    const used = result.usage ?? NO_USAGE;
    const perSearch = nanoCredits(rates, used) - nanoCredits(rates, { ...used, searches: 0 });
    expect(Number(perSearch) / 1e9).toBeCloseTo(searches * Number(entry.webSearch?.pricePerSearch), 6);
  });

  test("shows only in the answer's text, unless its author asks for sources", async () => {
    const plain = await send(entry, { searches: 1 });
    expect(plain.result).toMatchObject({ kind: "text", text: expect.not.stringContaining(PAGE) as string });
    const { result } = await send(entry, { searches: 1, change: { webSearch: { sources: true } } });
    const list = `A short answer.\n\nSources:\n\n- [Tea \\[and\\] rain](${PAGE})`;
    expect(result).toMatchObject({ kind: "text", text: expect.stringMatching(/rain\]\(https:[^)]+\)$/) as string });
    expect(result.kind === "text" && result.text.endsWith(list)).toBe(true);
  });
});

test("a follower of a run reads the same text, including its sources", async () => {
  const pieces: string[] = [];
  const change = { webSearch: { sources: true }, onText: (text: string) => void pieces.push(text) };
  const { result } = await send(entryOf("sandbox/text"), { change });
  expect(result).toMatchObject({ kind: "text", text: pieces.join(""), usage: { searches: 1 } });
  expect(pieces.at(-1)).toBe("\n\nSources:\n\n- [Sandbox source 1](https://sandbox.example/1)");
});

test("text that a model wrote before searching is a separate paragraph", async () => {
  const { result } = await send(entryOf("anthropic/claude-haiku-4-5"), { searches: 1 });
  expect(result).toMatchObject({ text: "Let me look.\n\nA short answer." });
});

test("a Gemini model that is billed per prompt costs one search, however many it makes", async () => {
  const { result } = await send(entryOf("google/gemini-2.5-flash"), { searches: 4 });
  expect(result.usage).toMatchObject({ searches: 1 });
});

describe("a schema combined with a search", () => {
  const outputSchema = {
    type: "object",
    properties: { a: { type: "string" } },
    required: ["a"],
    additionalProperties: false,
  };

  test.each(
    searching.filter(({ webSearch }) => webSearch?.withSchema === true).map((entry) => [entry.model, entry] as const),
  )("is sent to %s together with the search", async (_name, entry) => {
    const { body, warnings } = await send(entry, { change: { outputSchema } });
    expect(warnings).toEqual([]);
    expect(body).toHaveProperty("tools");
    expect(JSON.stringify(body)).toMatch(/json_schema|responseSchema|responseJsonSchema|application\/json/);
  });
});

describe("a model that cannot search the web", () => {
  test.each([
    ["has no terms for it", "xai/grok-4.7", {}],
    ["is OpenAI's at another address", "openai/gpt-5.2", { OPENAI_BASE_URL: ELSEWHERE }],
  ])("is not called, since its answer would look as if it had searched: it %s", async (_name, model, settings) => {
    const { result, sent } = await send(entryOf(model), { settings });
    expect(sent).toBe(0);
    expect(result).toMatchObject({
      kind: "failed",
      retry: "never",
      sentence: "The model cannot search the web on this server.",
    });
  });
});
