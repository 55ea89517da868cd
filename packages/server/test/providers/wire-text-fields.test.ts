/** Authors' settings, messages, and schemas as sent to each provider, for every text model in the catalogue. */
import { describe, expect, test } from "vitest";
import type { CatalogueEntry } from "../../src/models/catalogue/catalogue.ts";
import type { ModelCall } from "../../src/models/ai-sdk/model-adapter.ts";
import { featuresOf } from "../../src/models/index.ts";
import type { Transport } from "../../src/models/providers/transport.ts";
import { callOf, catalogue, createRig, entryOf } from "./adapter-rig.ts";
import { acceptedSettings } from "./capture.ts";
import { chatAnswer, geminiAnswer, messagesAnswer, responsesAnswer } from "./provider-answers.ts";

function transportInto(bodies: string[]): Transport {
  return {
    fetchWithin: () => async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      if (typeof init?.body === "string") bodies.push(init.body);
      if (url.pathname.endsWith("/chat/completions")) return Response.json(chatAnswer());
      if (url.pathname.endsWith("/messages")) return Response.json(messagesAnswer());
      if (url.pathname.endsWith(":generateContent")) return Response.json(geminiAnswer({ isImage: false }));
      return Response.json(responsesAnswer());
    },
    fetchFile: async () => {
      throw new Error("nothing is fetched here");
    },
    close: async () => {},
  };
}

async function send(entry: CatalogueEntry, change: Partial<ModelCall>) {
  const bodies: string[] = [];
  const { adapter, warned } = createRig({}, { connect: () => transportInto(bodies) });
  await adapter.callModel(callOf(entry, change), new AbortController().signal);
  const body = JSON.parse(bodies[0] ?? "null") as Record<string, unknown>;
  return { body, text: JSON.stringify(body), warnings: warned.mock.calls.map(([facts]) => facts) };
}

const texts = catalogue.entries.filter(
  ({ status, modality, provider }) => status !== "retired" && modality === "text" && provider !== "sandbox",
);

describe.each(texts.map((entry) => [entry.model, entry] as const))("%s", (_name, entry) => {
  test("is sent every setting that publishing accepts, and the SDK drops none", async () => {
    const settings = acceptedSettings(entry);
    const { text, warnings } = await send(entry, { settings });
    expect(warnings).toEqual([]);
    for (const value of Object.values(settings).flat()) expect(text).toContain(JSON.stringify(value));
  });

  test("is sent no setting that publishing refuses", async () => {
    const settings = { temperature: 0.25, topP: 0.75, seed: 4_711, stop: ["THE END"] };
    const accepted = acceptedSettings(entry);
    const { text, warnings } = await send(entry, { settings: featuresOf(entry)?.both === false ? accepted : settings });
    expect(warnings).toEqual([]);
    for (const [name, value] of Object.entries(settings))
      expect(text.includes(JSON.stringify([value].flat()[0]))).toBe(Object.hasOwn(accepted, name));
  });

  test("is sent messages in turns before the prompt, and a schema in the form it supports", async () => {
    const messages = [
      { role: "user" as const, text: "Example question." },
      { role: "assistant" as const, text: "Example answer." },
    ];
    const outputSchema = {
      type: "object",
      properties: { verdict: { type: "string" } },
      required: ["verdict"],
      additionalProperties: false,
    };
    const { text, warnings } = await send(entry, { messages, outputSchema });
    expect(warnings).toEqual([]);
    const order = ["Example question.", "Example answer.", "Describe a tea label."].map((part) => text.indexOf(part));
    expect(order.every((at, index) => at > (order[index - 1] ?? 0))).toBe(true);
    expect(text).toContain("verdict");
    expect(text.includes("must fit this JSON Schema")).toBe(featuresOf(entry)?.schema === "prompted");
  });
});

describe("a schema", () => {
  const open = { type: "object", properties: { a: { type: "string" } } };
  const closed = { ...open, required: ["a"], additionalProperties: false };

  test.each([
    ["that allows other fields is not sent in OpenAI's strict mode", open, false],
    ["that allows no other fields is", closed, true],
  ])("%s", async (_name, outputSchema, strict) => {
    const { body } = await send(entryOf("openai/gpt-5.2"), { outputSchema });
    expect(body["text"]).toMatchObject({ format: { type: "json_schema", strict, schema: open } });
  });

  test("goes to Gemini as its response schema", async () => {
    const { body } = await send(entryOf("google/gemini-2.5-flash"), { outputSchema: closed });
    expect(body["generationConfig"]).toMatchObject({ responseMimeType: "application/json" });
  });

  test("that an answer did not match is requested once more, with the answer and its problem", async () => {
    const correction = { answer: "Sure!", problem: "it is not JSON" };
    const { body } = await send(entryOf("xai/grok-4.7"), { outputSchema: closed, correction });
    const messages = (body["messages"] as { role: string; content: unknown }[]).slice(-3);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(JSON.stringify(messages)).toContain("it is not JSON");
  });
});
