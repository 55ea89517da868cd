/** GET /v1/prompts/publish (specification, "Search published prompts"). How well it ranks is measured elsewhere. */
import type { SearchRow } from "@promptd/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { voteForPrompt } from "../../src/prompts/votes-store.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { imagePrompt, promptFile, textPrompt } from "../prompts/prompt-files.ts";
import { bodyOf, dataOf, errorOf, get, issuesOf, postRun } from "./requests.ts";

let server: TestServer;
let caller: TestCaller;

/** Seconds that all clocks are ahead. */
let ahead = 0;

beforeAll(async () => {
  server = await startTestServer({ clock: { nowMs: () => Date.now() + ahead * 1_000 } });
  caller = await server.createCaller();
});
afterAll(() => server.close());

const search = async (q: string) => (await caller.client.prompts.search(q)).rows;
const titles = async (q: string) => (await search(q)).map(({ title }) => title);

async function find(q: string, promptId: string): Promise<SearchRow> {
  const row = (await search(q)).find((each) => each.promptId === promptId);
  if (row === undefined) throw new Error(`"${q}" does not find the prompt.`);
  return row;
}

describe("a row", () => {
  test("has exactly the specified members", async () => {
    const { promptId, promptVersionId, slug, title } = await server.publish(
      textPrompt({ title: "Walrus biography", slug: "walrus-biography", description: "The life of a walrus." }),
    );
    const row = await find("walrus", promptId);
    expect(row).toEqual({
      promptId,
      promptVersionId,
      slug,
      title,
      description: "The life of a walrus.",
      model: 1,
      modality: 0,
      estimatedCredits: 1,
      uses: 0,
      upVotes: 0,
      publishedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      samples: { inputs: { textInputs: {}, imageInputs: [] }, outputs: [] },
      configs: (await caller.client.prompts.get(promptId)).config,
    });
  });

  test("of an image prompt has modality 1, of a free one estimatedCredits 0, without a description an empty one", async () => {
    const image = await server.publish(imagePrompt({ title: "Narwhal painting" }));
    const free = await server.publish(
      promptFile({ title: "Narwhal haiku", model: "sandbox/text-free", description: "" }),
    );
    expect(await find("narwhal", image.promptId)).toMatchObject({ modality: 1, model: 3, estimatedCredits: 4 });
    expect(await find("narwhal", free.promptId)).toMatchObject({ modality: 0, estimatedCredits: 0, description: "" });
  });

  test("is enough to run the prompt", async () => {
    const { promptId } = await server.publish(textPrompt({ title: "Okapi facts" }));
    const { configs, promptVersionId } = await find("okapi", promptId);
    const textInputs = Object.fromEntries(Object.keys(configs.textInputs).map((key) => [key, "stripes"]));
    expect((await postRun(caller.client, bodyOf(promptVersionId, textInputs))).httpStatus).toBe(200);
  });

  test("shows the author's samples", async () => {
    const fields = [
      "inputs: { topic: {} }",
      "samples:",
      "  - inputs: { topic: tea }",
      "    images: []",
      "    outputs: [ { type: text, data: A poem about tea. } ]",
    ].join("\n");
    const { promptId } = await server.publish(promptFile({ title: "Quokka verse", fields, body: "{{ topic }}" }));
    expect((await find("quokka", promptId)).samples).toEqual({
      inputs: { textInputs: { topic: "tea" }, imageInputs: [] },
      outputs: [{ type: "text", data: "A poem about tea." }],
    });
  });

  test("never contains the template, the instructions, or the text behind an option", async () => {
    const fields = ["inputs: { tone: { options: { Calm: HIDDEN-CHOICE } } }", "instructions: HIDDEN-INSTRUCTIONS"].join(
      "\n",
    );
    const { promptId } = await server.publish(
      promptFile({ title: "Platypus memo", fields, body: "HIDDEN-TEMPLATE {{ tone }}" }),
    );
    const answers = [
      await get(caller.client, "/v1/prompts/publish?q=platypus"),
      await get(caller.client, "/v1/prompts/publish?q=hidden-template"),
      await get(caller.client, `/v1/prompts/${promptId}`),
    ];
    expect(answers[0]?.text).toContain("Platypus");
    for (const { text } of answers) expect(text).not.toContain("HIDDEN");
  });

  test("counts the runs of all versions in uses, in any state", async () => {
    const { accountId: authorId } = await server.createCaller({ credits: 0 });
    const slug = "axolotl-report";
    const make = (body: string) => promptFile({ slug, title: "Axolotl report", body });
    const first = await server.publish(make("One."), { authorId });
    const second = await server.publish(make("sandbox: refuse\nTwo."), { authorId });
    await postRun(caller.client, bodyOf(first.promptVersionId));
    await postRun(caller.client, bodyOf(second.promptVersionId));
    // Uses are counted every few seconds, of runs at least 15 seconds old.
    ahead = 20;
    await server.shiftTime(ahead);
    await expect.poll(async () => (await find("axolotl", first.promptId)).uses).toBe(2);
  });

  test("counts the votes in upVotes, one per account", async () => {
    const { promptId } = await server.publish(promptFile({ title: "Dugong ballad" }));
    const voters = [await server.createCaller(), await server.createCaller()];
    for (const { accountId } of [...voters, ...voters]) await voteForPrompt(server.app.db, accountId, promptId, "up");
    expect((await find("dugong", promptId)).upVotes).toBe(2);
  });

  test("is of the latest published version", async () => {
    const { accountId: authorId } = await server.createCaller({ credits: 0 });
    const slug = "pangolin";
    const first = await server.publish(promptFile({ slug, title: "Pangolin one" }), { authorId });
    const second = await server.publish(promptFile({ slug, title: "Pangolin two" }), { authorId });
    await server.freezeDraft(promptFile({ slug, title: "Pangolin draft" }), { authorId, promptId: first.promptId });
    expect(await find("pangolin", first.promptId)).toMatchObject({
      title: "Pangolin two",
      promptVersionId: second.promptVersionId,
    });
    expect(await titles("pangolin")).toEqual(["Pangolin two"]);
  });
});

describe("what is found", () => {
  test("is found as soon as it is published, and gone as soon as it is unpublished", async () => {
    const { promptId } = await server.publish(promptFile({ title: "Cassowary" }));
    expect(await titles("cassowary")).toEqual(["Cassowary"]);
    await server.unpublish(promptId);
    expect(await titles("cassowary")).toEqual([]);
    await server.republish(promptId);
    expect(await titles("cassowary")).toEqual(["Cassowary"]);
  });

  test("is neither a video nor a draft", async () => {
    await server.publish(promptFile({ title: "Kakapo film", model: "sandbox/video" }));
    await server.freezeDraft(promptFile({ title: "Kakapo draft" }));
    await server.publish(promptFile({ title: "Kakapo text" }));
    expect(await titles("kakapo")).toEqual(["Kakapo text"]);
  });

  test("is at most 20 rows", async () => {
    for (let i = 0; i < 25; i += 1) await server.publish(promptFile({ title: `Lemur number ${i}` }));
    expect(await search("lemur")).toHaveLength(20);
  });

  test("is an empty list if nothing matches, with no other member", async () => {
    const answer = await get(caller.client, "/v1/prompts/publish?q=xyzzyplugh");
    expect(dataOf(answer)).toEqual({ rows: [] });
  });

  test("ranks the best fit first, and finds by description too", async () => {
    await server.publish(promptFile({ title: "Letters", description: "Write to a manatee about the sea." }));
    await server.publish(promptFile({ title: "Manatee" }));
    expect(await titles("manatee")).toEqual(["Manatee", "Letters"]);
  });
});

describe("q", () => {
  test.each(["", "?q=", "?q=%20%20", "?q=%09%0A", "?q=%E3%80%80"])(
    "missing or blank (%s) is 422 required",
    async (query) => {
      const answer = await get(caller.client, `/v1/prompts/publish${query}`);
      expect(answer.httpStatus).toBe(422);
      expect(issuesOf(answer)).toEqual([
        {
          path: ["query", "q"],
          code: "required",
          message: "q is required. Provide 1 to 200 characters to search for.",
        },
      ]);
    },
  );

  test("is trimmed before it is measured: 200 code points and blanks around them are legal", async () => {
    const q = `  ${"🍵".repeat(200)}\u3000\n`;
    expect((await get(caller.client, `/v1/prompts/publish?q=${encodeURIComponent(q)}`)).httpStatus).toBe(200);
  });

  test("over 200 code points is 422 too_long", async () => {
    const answer = await get(caller.client, `/v1/prompts/publish?q=${encodeURIComponent("🍵".repeat(201))}`);
    expect(issuesOf(answer)).toEqual([
      { path: ["query", "q"], code: "too_long", message: "q must have at most 200 characters, got 201." },
    ]);
  });

  test("is measured in NFC", async () => {
    const q = "e\u0301".repeat(200);
    expect((await get(caller.client, `/v1/prompts/publish?q=${encodeURIComponent(q)}`)).httpStatus).toBe(200);
  });

  test("finds composed letters by decomposed ones", async () => {
    await server.publish(promptFile({ title: "Caf\u00e9 menu" }));
    expect(await titles("cafe\u0301")).toContain("Caf\u00e9 menu");
  });

  test("with U+0000 is 422 invalid_text; other control characters count as blanks", async () => {
    const answer = await get(caller.client, "/v1/prompts/publish?q=a%00b");
    expect(issuesOf(answer)).toMatchObject([{ path: ["query", "q"], code: "invalid_text" }]);
    await server.publish(promptFile({ title: "Wombat diary" }));
    expect(await titles("wombat\u0007\tdiary")).toContain("Wombat diary");
  });

  test.each(["q=%ff", "q=%", "q=a&q=b", "q=%ed%a0%80"])("%s is 422", async (query) => {
    expect((await get(caller.client, `/v1/prompts/publish?${query}`)).httpStatus).toBe(422);
  });

  test("decodes + as a blank", async () => {
    await server.publish(promptFile({ title: "Tapir weather" }));
    const answer = await get(caller.client, "/v1/prompts/publish?q=tapir+weather");
    expect((dataOf(answer) as { rows: SearchRow[] }).rows[0]?.title).toBe("Tapir weather");
  });

  test.each(["%", "_", "'", '"', "\\", "a & b | !c", "(((", ":*", "<->", "select 1;--", "🍵", "ぽ", "-", "*", "NULL"])(
    "%s is only text to search for",
    async (q) => {
      expect(Array.isArray(await search(q))).toBe(true);
    },
  );

  test("limit and cursors are unknown here and ignored", async () => {
    const answer = await get(caller.client, "/v1/prompts/publish?q=tapir&limit=1&startingAfter=x");
    expect(answer.httpStatus).toBe(200);
    expect(answer.headers.get("x-ignored")).toBe("limit, startingAfter");
  });
});

test("PUBLISH in upper case is not a search but a prompt id that is not a UUID", async () => {
  const answer = await get(caller.client, "/v1/prompts/PUBLISH?q=tea");
  expect(errorOf(answer).message).toBe('promptId must be a UUID, got "PUBLISH".');
});
