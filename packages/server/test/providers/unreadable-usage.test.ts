/** Responses with unreadable token counts: they are paid for, so they are delivered all the same. */
import { describe, expect, test } from "vitest";
import type { CatalogueEntry } from "../../src/models/catalogue/catalogue.ts";
import { callOf, entryOf } from "./adapter-rig.ts";
import { openAllProviders } from "./all-providers.ts";
import { json } from "./own-server.ts";
import { chatAnswer, geminiAnswer, messagesAnswer, openaiImages, responsesAnswer, TEXT } from "./provider-answers.ts";

type Members = Record<string, unknown>;

interface Interface {
  readonly entry: CatalogueEntry;
  readonly answer: Members;
  /** Where the response has its counts. */
  readonly usage: "usage" | "usageMetadata";
  readonly input: string;
  readonly output: string;
  /** Counts with an additional list or object of counts. */
  readonly details: string;
  /** The same response as a stream. */
  readonly events: (usage: unknown) => readonly unknown[];
}

const chatEvents = (usage: unknown) => [
  { ...chatChunk({ role: "assistant", content: TEXT }), usage: null },
  { ...chatChunk({}), choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage },
];
function chatChunk(delta: object) {
  return {
    id: "1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, finish_reason: null }],
  };
}

const INTERFACES: Readonly<Record<string, Interface>> = {
  "OpenAI Responses": {
    entry: entryOf("openai/gpt-5.2"),
    answer: responsesAnswer(),
    usage: "usage",
    input: "input_tokens",
    output: "output_tokens",
    details: "input_tokens_details",
    events: (usage) => {
      const { output, ...response } = responsesAnswer();
      const item = { type: "message", id: "msg_1", role: "assistant" };
      return [
        { type: "response.created", response: { ...response, output: [], status: "in_progress", usage: null } },
        { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
        { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: TEXT },
        { type: "response.output_item.done", output_index: 0, item: output[0] },
        { type: "response.completed", response: { ...response, output, usage } },
      ];
    },
  },
  "OpenAI chat": {
    entry: { ...entryOf("openai/gpt-5.2"), api: "chat" },
    answer: chatAnswer(),
    usage: "usage",
    input: "prompt_tokens",
    output: "completion_tokens",
    details: "prompt_tokens_details",
    events: chatEvents,
  },
  "a compatible server": {
    entry: {
      ...entryOf("openai/gpt-5.2"),
      provider: "home",
      api: "chat",
      server: { baseURL: "https://models.example/v1" },
    },
    answer: chatAnswer(),
    usage: "usage",
    input: "prompt_tokens",
    output: "completion_tokens",
    details: "prompt_tokens_details",
    events: chatEvents,
  },
  Anthropic: {
    entry: entryOf("anthropic/claude-haiku-4-5"),
    answer: messagesAnswer(),
    usage: "usage",
    input: "input_tokens",
    output: "output_tokens",
    details: "iterations",
    events: (usage) => {
      const { content: _, stop_reason: __, ...message } = messagesAnswer();
      return [
        { type: "message_start", message: { ...message, content: [], stop_reason: null, usage } },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: TEXT } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage },
        { type: "message_stop" },
      ];
    },
  },
  Gemini: {
    entry: entryOf("google/gemini-2.5-flash"),
    answer: geminiAnswer(),
    usage: "usageMetadata",
    input: "promptTokenCount",
    output: "candidatesTokenCount",
    details: "promptTokensDetails",
    events: (usageMetadata) => [{ ...geminiAnswer(), usageMetadata }],
  },
};

/** What replaces the counts, and what is known about them; null: everything is estimated. */
const USAGES: readonly [what: string, usage: (one: Interface) => unknown, known: object | null, isNoted: boolean][] = [
  ["words", ({ input, output }) => ({ [input]: "many", [output]: "few" }), null, true],
  ["lists and objects", ({ input, output }) => ({ [input]: [11], [output]: { count: 5 } }), null, true],
  ["negative", ({ input, output }) => ({ [input]: -11, [output]: -5 }), null, true],
  ["null", ({ input, output }) => ({ [input]: null, [output]: null }), null, false],
  ["left out", () => ({}), null, false],
  ["a word in place of all", () => "unknown", null, true],
  ["a list in place of all", () => [], null, true],
  ["fractions", ({ input, output }) => ({ [input]: 10.2, [output]: 4.5 }), { inputTokens: 11, outputTokens: 5 }, false],
  ["texts", ({ input, output }) => ({ [input]: "11", [output]: " 5 " }), { inputTokens: 11, outputTokens: 5 }, false],
  [
    "right, beside a word for their parts",
    ({ input, output, details }) => ({ [input]: 11, [output]: 5, [details]: "none" }),
    { inputTokens: 11, outputTokens: 5 },
    true,
  ],
];

describe.each(Object.entries(INTERFACES))("a text of %s", (_name, one) => {
  const cases = USAGES.flatMap(([what, usage, known, isNoted]) =>
    [false, true].map((isFollowed) => ({ what, usage: usage(one), known, isNoted, isFollowed })),
  );

  test.each(cases)("whose counts are $what is delivered (followed: $isFollowed)", async (given) => {
    const { adapter, signal, warned } = await openAllProviders((_request, response) => {
      if (!given.isFollowed) return json(response, { ...one.answer, [one.usage]: given.usage });
      const events = one.events(given.usage).map((event) => `data: ${JSON.stringify(event)}\n\n`);
      response.writeHead(200, { "content-type": "text/event-stream" }).end(events.join(""));
    });
    const onText = given.isFollowed ? () => {} : null;
    const result = await adapter.callModel(callOf(one.entry, { onText }), signal);
    expect(result).toMatchObject({
      kind: "text",
      text: TEXT,
      usage: given.known === null ? { isEstimated: true, inputTokens: 9, outputTokens: 4 } : given.known,
    });
    const notes = warned.mock.calls.filter(([, message]) => /unreadable token counts/.test(String(message)));
    expect(notes).toHaveLength(given.isNoted ? 1 : 0);
  });
});

test.each([
  ["openai/gpt-image-2", { ...openaiImages(), usage: { input_tokens: "x", output_tokens: [], total_tokens: null } }],
  ["google/gemini-nano-banana-2.1", { ...geminiAnswer({ isImage: true }), usageMetadata: { promptTokenCount: "x" } }],
])("a picture of %s whose tokens are words is delivered, and counted as a picture", async (model, answer) => {
  const { send } = await openAllProviders((_request, response) => json(response, answer));
  expect(await send(model)).toMatchObject({ kind: "image", usage: { images: 1 } });
});

test("a response from Anthropic without any counts is delivered", async () => {
  const { usage: _, ...answer } = messagesAnswer();
  const { send } = await openAllProviders((_request, response) => json(response, answer));
  expect(await send("anthropic/claude-haiku-4-5")).toMatchObject({ kind: "text", usage: { isEstimated: true } });
});

test("an answer that only quotes counts is unchanged", async () => {
  const text = '{"usage": {"input_tokens": "many"}}';
  const { send, warned } = await openAllProviders((_request, response) => json(response, responsesAnswer({ text })));
  expect(await send("openai/gpt-5.2")).toMatchObject({ kind: "text", text, usage: { inputTokens: 11 } });
  expect(warned).not.toHaveBeenCalled();
});
