import { promptVersionSchema, searchResultSchema } from "@promptd/contract/schemas";
import type { SearchRow } from "@promptd/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useTestDatabase } from "../../test/support/test-database.ts";
import { createAccount } from "../accounts/index.ts";
import type { RequestContext } from "../http/endpoint.ts";
import type { Catalogue } from "../models/index.ts";
import { systemClock } from "../platform/clock.ts";
import type { Database } from "../platform/database/database.ts";
import { createIdSource } from "../platform/ids.ts";
import { createLog } from "../platform/log.ts";
import { Problem } from "../platform/problem.ts";
import { createSearch, type Search } from "../search/index.ts";
import type { PromptSource } from "./prompt-definition.ts";
import { freezeAsDraft } from "../../test/prompts/frozen-draft.ts";
import {
  catalogue,
  parseOne,
  PENCIL_PORTRAIT,
  STORY_COVER,
  TEA_POEM,
  textPrompt,
} from "../../test/prompts/prompt-fixtures.ts";
import { promptsRoutes } from "./prompts-routes.ts";
import { unpublishPrompt } from "./publishing/unpublish.ts";
import { publishPrompts } from "./publishing/publish.ts";

const log = createLog("error");
const newId = createIdSource(systemClock);
const context: RequestContext = {
  caller: { accountId: "", keyId: "" },
  address: "",
  requestId: "",
  arrivedAtMs: 0,
  header: () => null,
  ignore: () => {},
  nameRun: () => {},
  releaseBody: () => {},
  onGone: () => {},
};

let db: Database;
let search: Search;
let authorId = "";

useTestDatabase((opened) => (db = opened.db), { log });
beforeAll(async () => {
  search = createSearch({ db, log, clock: systemClock });
  authorId = await createAccount(db, newId, { email: "author@example.org", plan: "none" });
});
afterAll(() => search.close());

function routes(models: Catalogue = catalogue) {
  const { searchPrompts, getPrompt, getPromptVersion } = promptsRoutes({
    db,
    catalogue: models,
    search,
    sampleUrl: ({ fileId }) => `/files/${fileId}`,
    chargesAuthors: false,
  });
  const body = undefined;
  return {
    search: async (q: string): Promise<readonly SearchRow[]> => {
      const { data } = await searchPrompts({ params: {}, query: { q }, body }, context);
      return searchResultSchema.parse(data).rows;
    },
    prompt: async (promptId: string, versionId?: string) =>
      promptVersionSchema.parse((await getPrompt({ params: { promptId }, query: { versionId }, body }, context)).data),
    version: async (promptVersionId: string) =>
      promptVersionSchema.parse(
        (await getPromptVersion({ params: { promptVersionId }, query: {}, body }, context)).data,
      ),
  };
}

/** The catalogue after this model was retired. */
function withoutModel(retired: string): Catalogue {
  const find: Catalogue["find"] = (model) => {
    const entry = catalogue.find(model);
    return entry === null || model !== retired ? entry : { ...entry, status: "retired" };
  };
  return { ...catalogue, find };
}

async function publish(source: PromptSource) {
  const [published] = await publishPrompts(db, [source], { authorId, catalogue, newId });
  if (published === undefined) throw new Error("Nothing was published.");
  return published;
}

function named(file: string, title: string): PromptSource {
  return { ...parseOne(file), title, slug: title.toLowerCase().replaceAll(" ", "-") };
}

/** What the caller sees of a failure, except the requested id. */
async function refusal(answer: Promise<unknown>, ...ids: string[]): Promise<string> {
  const error = await answer.then(
    () => new Error("It was answered."),
    (cause: unknown) => cause,
  );
  if (!(error instanceof Problem)) return String(error);
  const bytes = JSON.stringify([error.httpStatus, error.code, error.message, error.data, error.headers]);
  return ids.reduce((text, id) => text.replaceAll(id, "<id>"), bytes);
}

describe("GET /v1/prompts/publish", () => {
  test("a row has everything needed to run the prompt, and its config is the prompt's", async () => {
    const published = await publish({ ...named(PENCIL_PORTRAIT, "Zebra portrait"), tags: ["stripes"] });
    const rows = await routes().search("zebra stripes");
    const config = (await routes().prompt(published.promptId)).config;
    expect(rows[0]).toMatchObject({
      promptId: published.promptId,
      promptVersionId: published.promptVersionId,
      title: "Zebra portrait",
      description: "Turns a photo into a pencil drawing.",
      slug: "zebra-portrait",
      model: catalogue.find("sandbox/image")?.index,
      modality: 1,
      uses: 0,
      upVotes: 0,
      samples: { inputs: { textInputs: {}, imageInputs: [] }, outputs: [] },
    });
    expect(rows[0]?.configs).toEqual(config);
    expect(rows[0]?.estimatedCredits).toBeGreaterThan(0);
  });

  test("a new version replaces the old one in the results at once", async () => {
    await publish(named(TEA_POEM, "Quokka poem"));
    const second = await publish({ ...named(TEA_POEM, "Quokka poem"), description: "About wombats." });
    expect((await routes().search("wombats"))[0]?.promptVersionId).toBe(second.promptVersionId);
    expect((await routes().search("quokka poem")).filter((row) => row.title === "Quokka poem")).toHaveLength(1);
  });

  test("drafts, unpublished prompts, and videos are not found", async () => {
    await freezeAsDraft({ db, catalogue }, TEA_POEM.replace("Tea poem", "Okapi draft"), { accountId: authorId });
    const { promptId } = await publish(named(TEA_POEM, "Okapi poem"));
    await publish(named(textPrompt("x").replace("sandbox/text", "sandbox/video"), "Okapi video"));
    // Search also finds prompts with a similar meaning, including other animals.
    const found = async () =>
      (await routes().search("okapi")).map((row) => row.title).filter((title) => /Okapi/.test(title));
    expect(await found()).toEqual(["Okapi poem"]);
    await unpublishPrompt(db, promptId);
    expect(await found()).toEqual([]);
  });

  test("a prompt whose model was retired is left out of the results but still readable", async () => {
    const { promptId } = await publish(named(TEA_POEM, "Narwhal poem"));
    const retired = withoutModel("sandbox/text");
    expect(await routes().search("narwhal")).toHaveLength(1);
    expect(await routes(retired).search("narwhal")).toEqual([]);
    expect((await routes(retired).prompt(promptId)).promptId).toBe(promptId);
  });

  test("retired prompts that match better do not push out those that can be run", async () => {
    const free = TEA_POEM.replace("sandbox/text", "sandbox/text-free");
    const better = Array.from({ length: 60 }, (_, number) => ({ ...named(free, "Gecko"), slug: `gecko-${number}` }));
    const others = Array.from({ length: 25 }, (_, number) => named(TEA_POEM, `Poem of a gecko and ${number} leaves`));
    await publishPrompts(db, [...better, ...others], { authorId, catalogue, newId });
    expect(new Set((await routes().search("gecko")).map((row) => row.title))).toEqual(new Set(["Gecko"]));
    const rows = await routes(withoutModel("sandbox/text-free")).search("gecko");
    expect(rows).toHaveLength(20);
    expect(rows.every((row) => row.title.startsWith("Poem of a gecko"))).toBe(true);
  });

  test("at most 20 rows are returned", async () => {
    const sources = Array.from({ length: 25 }, (_, number) => named(TEA_POEM, `Tapir poem ${number}`));
    await publishPrompts(db, sources, { authorId, catalogue, newId });
    expect(await routes().search("tapir poem")).toHaveLength(20);
  });

  test("no match is an empty list", async () => {
    expect(await routes().search("xqzvwk")).toEqual([]);
  });
});

describe("reading a prompt", () => {
  test("returns the latest published version, or exactly the requested one", async () => {
    const first = await publish(named(TEA_POEM, "Ibex poem"));
    const second = await publish(named(TEA_POEM, "Ibex poem"));
    const { prompt, version } = routes();
    expect((await prompt(first.promptId)).promptVersionId).toBe(second.promptVersionId);
    expect((await prompt(first.promptId, first.promptVersionId)).promptVersionId).toBe(first.promptVersionId);
    expect(await version(first.promptVersionId)).toEqual(await prompt(first.promptId, first.promptVersionId));
    expect((await version(first.promptVersionId.toUpperCase())).promptVersionId).toBe(first.promptVersionId);
    expect((await prompt(first.promptId)).publishedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test("videos are readable", async () => {
    const file = textPrompt("x").replace("sandbox/text", "sandbox/video");
    const { promptId } = await publish(named(file, "Emu video"));
    expect((await routes().prompt(promptId)).config).toMatchObject({ modality: "video", output: { type: "video" } });
  });

  test("absent, draft, and unpublished prompts and versions get identical responses", async () => {
    const { prompt, version } = routes();
    const draft = await freezeAsDraft({ db, catalogue }, TEA_POEM, { accountId: authorId });
    const gone = await publish(named(TEA_POEM, "Gnu gone"));
    await unpublishPrompt(db, gone.promptId);
    const random = newId();
    const absent = await refusal(prompt(random), random);
    expect(absent).toBe('[404,"NOT_FOUND_ERROR","No published prompt has the id <id>.",null,{}]');
    expect(await refusal(prompt(draft.promptId), draft.promptId)).toBe(absent);
    expect(await refusal(prompt(gone.promptId), gone.promptId)).toBe(absent);
    expect(await refusal(prompt(gone.promptId, gone.promptVersionId), gone.promptId)).toBe(absent);
    const noVersion = await refusal(version(random), random);
    expect(noVersion).toBe('[404,"NOT_FOUND_ERROR","No published prompt version has the id <id>.",null,{}]');
    expect(await refusal(version(draft.promptVersionId), draft.promptVersionId)).toBe(noVersion);
    expect(await refusal(version(gone.promptVersionId), gone.promptVersionId)).toBe(noVersion);
  });

  test("another prompt's version, a draft, and an unknown version of a published prompt get identical responses", async () => {
    const { prompt } = routes();
    const one = await publish(named(TEA_POEM, "Kudu one"));
    const two = await publish(named(TEA_POEM, "Kudu two"));
    const draft = await freezeAsDraft({ db, catalogue }, TEA_POEM, { accountId: authorId, promptId: one.promptId });
    const random = newId();
    const absent = await refusal(prompt(one.promptId, random), random);
    expect(absent).toContain("No published version of this prompt has the id <id>.");
    for (const id of [two.promptVersionId, draft.promptVersionId])
      expect(await refusal(prompt(one.promptId, id), id)).toBe(absent);
  });
});

test("no response contains the template, instructions, option texts, or a step's text", async () => {
  const secrets = ["two-line poem", "Never give advice", "slow and quiet", "five sentences", "no lettering", "{{"];
  const tea = await publish(named(TEA_POEM, "Secret tea"));
  const cover = await publish(named(STORY_COVER, "Secret cover"));
  const { prompt, version, search: find } = routes();
  const answers = await Promise.all([
    ...[tea, cover].flatMap((each) => [prompt(each.promptId), version(each.promptVersionId)]),
    find("secret tea cover"),
  ]);
  expect(JSON.stringify(answers)).toContain("Secret tea");
  for (const secret of secrets) expect(JSON.stringify(answers)).not.toContain(secret);
});

test("a search for words of the template finds nothing", async () => {
  await publish(named(textPrompt("Mention the xylophagous beetle to {{ name }}."), "Plain title"));
  expect(await routes().search("xylophagous")).toEqual([]);
});
