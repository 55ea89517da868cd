import { describe, expect, test } from "vitest";
import { readLeniently, withoutThought } from "./lenient-answers.ts";

const chat = (content: unknown) => ({ id: "1", choices: [{ index: 0, message: { role: "assistant", content } }] });
const read = async (body: unknown) => (await readLeniently(Response.json(body))).json();

describe("an error inside a response with status 200", () => {
  test.each([
    ["with its own status", { error: { code: 429, message: "slow down" } }, 429],
    ["with a status as a string", { error: { code: "404", message: "no such model" } }, 404],
    ["with a code that is not a status", { error: { code: "overloaded", message: "busy" } }, 502],
    ["as a sentence", { error: "model is loading" }, 502],
    [
      "in its choice",
      { choices: [{ finish_reason: "error", error: { code: 503, message: "upstream" }, message: { content: "A" } }] },
      503,
    ],
  ])("is an error: %s", async (_name, body, status) => {
    const answer = await readLeniently(Response.json(body));
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { message: expect.any(String) } });
  });

  test("keeps the delay that it names", async () => {
    const body = { error: { code: 429, message: "slow down" } };
    const answer = await readLeniently(Response.json(body, { headers: { "retry-after": "7" } }));
    expect(answer.headers.get("retry-after")).toBe("7");
  });

  test("is not an error if the member is empty, or part of the answer's text", async () => {
    const body = { ...chat('The key "error" is missing.'), error: null };
    expect(await read(body)).toEqual(body);
  });

  test("is left to the SDK if the response is not JSON", async () => {
    const answer = await readLeniently(new Response('{"error": '));
    expect([answer.status, await answer.text()]).toEqual([200, '{"error": ']);
  });
});

describe("a model's visible thoughts", () => {
  test.each([
    ["<think>\nFrost? Frost.\n</think>\n\nFrost writes.", "Frost writes."],
    ["  <think></think>Frost writes.", "Frost writes."],
    ["Frost? Frost.\n</think>\n\nFrost writes.", "Frost writes."],
    ["<think>It never ended", ""],
    ["Frost writes.", "Frost writes."],
    ["Write <think>why</think> around a thought.", "Write <think>why</think> around a thought."],
    ["Close it with `</think>` and go on.", "Close it with `</think>` and go on."],
  ])("%j is answered as %j", async (given, text) => {
    expect(withoutThought(given)).toBe(text);
    expect(await read(chat(given))).toEqual(chat(text));
  });

  const events = (pieces: readonly string[]) =>
    [
      ...pieces.map((content) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
      { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    ]
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .join("") + "data: [DONE]\n\n";

  /** Three bytes at a time, so that lines, tags, and characters are cut anywhere. */
  async function streamed(pieces: readonly string[]): Promise<string> {
    const bytes = new TextEncoder().encode(events(pieces));
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (let at = 0; at < bytes.length; at += 3) controller.enqueue(bytes.slice(at, at + 3));
        controller.close();
      },
    });
    const answer = await readLeniently(new Response(body, { headers: { "content-type": "text/event-stream" } }));
    const text = await answer.text();
    expect(text).toContain("data: [DONE]");
    const data = text.split("\n").flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6))] : []));
    return data.map((event) => event.choices[0].delta.content ?? "").join("");
  }

  test.each([
    [["<thi", "nk>Fro", "st?</th", "ink>\n\n", "Früh", " frost."], "Früh frost."],
    [["Frost ", "writes."], "Frost writes."],
    [["<th"], "<th"],
    [["<", "b>bold</b>"], "<b>bold</b>"],
    [["<think>It never ended"], ""],
  ])("are removed from a stream of %j", async (pieces, text) => {
    expect(await streamed(pieces)).toBe(text);
  });
});
