import { beforeEach, describe, expect, test } from "vitest";
import { useTestDatabase } from "../../../test/support/test-database.ts";
import { createAccount } from "../../accounts/index.ts";
import { systemClock } from "../../platform/clock.ts";
import type { Database } from "../../platform/database/database.ts";
import { createIdSource } from "../../platform/ids.ts";
import { createLog } from "../../platform/log.ts";
import { Problem } from "../../platform/problem.ts";
import { estimateBasis, refreshEstimates } from "./estimates.ts";
import type { PromptSource } from "../prompt-definition.ts";
import { parsePromptFile } from "../checks/parse-prompt-file.ts";
import { freezeAsDraft, type FrozenDraft } from "../../../test/prompts/frozen-draft.ts";
import {
  catalogue,
  parseOne,
  PENCIL_PORTRAIT,
  STORY_COVER,
  TEA_POEM,
  textPrompt,
} from "../../../test/prompts/prompt-fixtures.ts";
import { listSearchDocuments, republishPrompt, unpublishPrompt } from "./unpublish.ts";
import { publishPrompts } from "./publish.ts";
import { renderStep } from "../template/render-step.ts";
import { findLivePrompt, findVersion } from "../version-cache.ts";

const log = createLog("error");
const newId = createIdSource(systemClock);
let db: Database;
let authorId = "";
let otherId = "";

useTestDatabase((opened) => (db = opened.db), { log });
beforeEach(async () => {
  authorId = await newAccount();
  otherId = await newAccount();
});

function newAccount(): Promise<string> {
  const name = newId();
  return createAccount(db, newId, { email: `${name}@example.org`, plan: "none" });
}

/** A source with a unique title, so that tests of one file do not interfere. */
function fresh(file: string): PromptSource {
  const source = parseOne(file);
  return { ...source, title: `${source.title} ${newId()}`, slug: `${source.slug}-${newId().slice(-12)}` };
}

async function publish(source: PromptSource, { author = authorId } = {}) {
  const [published] = await publishPrompts(db, [source], { authorId: author, catalogue, newId });
  if (published === undefined) throw new Error("Nothing was published.");
  return published;
}

function freeze(text: string, promptId?: string): Promise<FrozenDraft> {
  return freezeAsDraft({ db, catalogue }, text, { accountId: authorId, promptId });
}

async function indexed(promptId: string): Promise<string[]> {
  const rows = await db.query<{ prompt_version_id: string }>(
    "select prompt_version_id from search_docs where prompt_id = $1",
    [promptId],
  );
  return rows.map((row) => row.prompt_version_id);
}

const codeOf = (error: unknown) => (error instanceof Problem ? error.code : String(error));

const liveVersion = async (id: string) => (await findLivePrompt(db, id))?.version ?? null;

describe("publishing", () => {
  test("the documentation's examples can be published, loaded, and rendered", async () => {
    for (const file of [TEA_POEM, PENCIL_PORTRAIT, STORY_COVER]) {
      const source = fresh(file);
      const published = await publish(source);
      const version = await liveVersion(published.promptVersionId);
      expect(version).toMatchObject({
        promptId: published.promptId,
        authorId,
        title: source.title,
        model: source.model,
      });
      expect(version?.definition).toEqual(source.definition);
      const values = {
        topic: "x",
        "Child's Age": "7",
        tone: "calm",
        hero: "x",
        "accessories/styling": "y",
        background: "",
      };
      if (version === null) throw new Error("The version is not live.");
      expect(renderStep(version, 0, values, {}).prompt).not.toContain("{{");
    }
  });

  test("inputs keep the author's order in the database", async () => {
    const file = textPrompt("{{ z }}{{ input['10'] }}{{ a }}", "inputs: { z: {}, '10': {}, a: {} }");
    const { promptVersionId } = await publish(fresh(file));
    const version = await liveVersion(promptVersionId);
    expect(version?.definition.inputs.map((input) => input.key)).toEqual(["z", "10", "a"]);
    expect(version?.config.textInputs["10"]?.position).toBe(1);
  });

  test("publishing the same slug again makes a new version, and the old version can still run", async () => {
    const source = fresh(TEA_POEM);
    const first = await publish(source);
    const second = await publish({ ...source, description: "Changed." });
    expect(second).toMatchObject({ promptId: first.promptId, slug: first.slug });
    expect(second.promptVersionId).not.toBe(first.promptVersionId);
    expect(await liveVersion(first.promptVersionId)).not.toBeNull();
    expect(await indexed(first.promptId)).toEqual([second.promptVersionId]);
  });

  test("the same slug of another author gets a number, and keeps it for the next version", async () => {
    const source = fresh(TEA_POEM);
    const mine = await publish(source);
    const theirs = await publish(source, { author: otherId });
    expect([mine.slug, theirs.slug]).toEqual([source.slug, `${source.slug}-2`]);
    expect(await publish(source, { author: otherId })).toMatchObject({ promptId: theirs.promptId, slug: theirs.slug });
  });

  test("an id identifies the prompt, whatever its new title", async () => {
    const first = await publish(fresh(TEA_POEM));
    const second = await publish({ ...fresh(PENCIL_PORTRAIT), promptId: first.promptId });
    expect([second.promptId, second.slug]).toEqual([first.promptId, first.slug]);
  });

  test("the prompt's old title is reported if only the slug made from the new title matched it", async () => {
    const source = fresh(TEA_POEM);
    const first = await publish(source);
    expect(first.replacedTitle).toBeNull();
    expect((await publish(source)).replacedTitle).toBeNull();
    await freeze(TEA_POEM, first.promptId);
    expect((await publish({ ...source, title: "Renamed" })).replacedTitle).toBe(source.title); // not the draft's title
    expect((await publish({ ...source, title: "Meant", slugGiven: true })).replacedTitle).toBeNull();
    expect((await publish({ ...source, title: "Meant too", promptId: first.promptId })).replacedTitle).toBeNull();
  });

  test("an explicit slug finds its prompt, even if the id is from another installation", async () => {
    const source = { ...fresh(TEA_POEM), slugGiven: true };
    const first = await publish(source);
    expect((await publish({ ...source, promptId: newId() })).promptId).toBe(first.promptId);
  });

  test("an id that is not the author's is ignored: the file makes a new prompt, and later updates it by its slug", async () => {
    const { promptId: foreign } = await publish(fresh(TEA_POEM), { author: otherId });
    for (const promptId of [foreign, newId()]) {
      const source = { ...fresh(TEA_POEM), promptId };
      const [first, again] = [await publish(source), await publish(source)];
      expect(first.promptId).not.toBe(promptId);
      expect([first.outcome, again.outcome, again.promptId]).toEqual(["created", "unchanged", first.promptId]);
    }
  });

  test("a file is published whole or not at all", async () => {
    const { promptId } = await publish(fresh(TEA_POEM));
    const source = fresh(TEA_POEM);
    const all = [source, { ...fresh(TEA_POEM), promptId }, { ...fresh(TEA_POEM), promptId }];
    await expect(publishPrompts(db, all, { authorId, catalogue, newId })).rejects.toThrow("refer to the same prompt");
    expect(await db.query("select 1 from prompts where own_slug = $1", [source.slug])).toEqual([]);
  });

  test("prompts with the same title in one batch are different prompts, and the same ones each time", async () => {
    const source = fresh(TEA_POEM);
    const others = ["Two.", "Three."].map((description) => ({ ...source, description }));
    const batch = [source, ...others];
    const first = await publishPrompts(db, batch, { authorId, catalogue, newId });
    expect(first.map(({ slug }) => slug)).toEqual([source.slug, `${source.slug}-2`, `${source.slug}-3`]);
    expect(new Set(first.map(({ promptId }) => promptId)).size).toBe(3);
    const again = await publishPrompts(db, batch, { authorId, catalogue, newId });
    expect(again).toEqual(first.map((one) => ({ ...one, outcome: "unchanged" })));
    // A source that names its prompt comes first, wherever it is.
    const [{ promptId } = { promptId: "" }] = first;
    const named = await publishPrompts(
      db,
      [
        { ...source, description: "New." },
        { ...source, promptId },
      ],
      {
        authorId,
        catalogue,
        newId,
      },
    );
    expect(named.map(({ slug, outcome }) => [slug, outcome])).toEqual([
      [`${source.slug}-2`, "changed"],
      [source.slug, "unchanged"],
    ]);
  });

  test.each(["promptId", "slug"] as const)(
    "two prompts with the same %s in one batch are rejected, with their titles",
    async (name) => {
      const [one, two] = [fresh(TEA_POEM), fresh(TEA_POEM)];
      const { promptId } = await publish(fresh(TEA_POEM));
      const same = name === "slug" ? { slug: one.slug, slugGiven: true } : { promptId };
      const both = [one, two].map((source) => ({ ...source, ...same }));
      const publishing = publishPrompts(db, both, { authorId, catalogue, newId });
      await expect(publishing).rejects.toThrow(`"${one.title}" and "${two.title}" refer to the same prompt`);
    },
  );

  test("an unchanged file makes no new version, and is reported as unchanged", async () => {
    for (const file of [TEA_POEM, PENCIL_PORTRAIT, STORY_COVER]) {
      const source = fresh(file);
      const first = await publish(source);
      const again = await publish(source);
      const changed = await publish({
        ...source,
        samples: { ...source.samples, outputs: [{ type: "text", data: "x" }] },
      });
      expect([first.outcome, again.outcome, changed.outcome]).toEqual(["created", "unchanged", "changed"]);
      expect(again.promptVersionId).toBe(first.promptVersionId);
      expect(changed.promptVersionId).not.toBe(first.promptVersionId);
      const versions = "select 1 from prompt_versions where prompt_id = $1";
      expect(await db.query(versions, [first.promptId])).toHaveLength(2);
    }
  });

  test("an unchanged file publishes an unpublished prompt again, also in search", async () => {
    const source = fresh(TEA_POEM);
    const { promptId, promptVersionId } = await publish(source);
    await unpublishPrompt(db, promptId);
    expect(await publish(source)).toMatchObject({ promptVersionId, outcome: "unchanged", isPublishedAgain: true });
    expect(await findLivePrompt(db, promptVersionId)).not.toBeNull();
    expect(await listSearchDocuments(db, [promptId])).toHaveLength(1);
  });

  test("two concurrent publishers of one slug make two versions of one prompt", async () => {
    const source = fresh(TEA_POEM);
    const changed = ["One.", "Two.", "Three."].map((description) => publish({ ...source, description }));
    const published = await Promise.all(changed);
    expect(new Set(published.map((each) => each.promptId)).size).toBe(1);
    const rows = await db.query<{ number: number }>(
      "select number from prompt_versions where prompt_id = $1 order by number",
      [published[0]?.promptId],
    );
    expect(rows.map((row) => row.number)).toEqual([1, 2, 3]);
  });

  test("more prompts than fit in one batch are published together, in order", async () => {
    const prompts = Array.from({ length: 1_101 }, (_, number) => ({
      title: `Bulk ${authorId} ${number}`,
      model: "sandbox/text",
      template: `Number ${number} of {{ thing }}.`,
    }));
    const sources = parsePromptFile(JSON.stringify({ promptd: 1, prompts }), catalogue);
    const published = await publishPrompts(db, sources, { authorId, catalogue, newId });
    expect(published.map((each) => each.title)).toEqual(prompts.map((prompt) => prompt.title));
    expect(new Set(published.map((each) => each.slug)).size).toBe(1_101);
    expect(await indexed(published.at(-1)?.promptId ?? "")).toEqual([published.at(-1)?.promptVersionId]);
  });

  test("a published version cannot be changed", async () => {
    const { promptVersionId } = await publish(fresh(TEA_POEM));
    for (const change of [
      "title = 'x'",
      "config = '{}'",
      "definition = '{}'",
      "published_at = null",
      "samples = '{}'",
    ]) {
      const update = db.query(`update prompt_versions set ${change} where id = $1`, [promptVersionId]);
      await expect(update).rejects.toThrow("cannot be changed");
    }
  });

  test("videos are published but not indexed, and a prompt that becomes a video prompt leaves the index", async () => {
    const video = textPrompt("A wave").replace("sandbox/text", "sandbox/video");
    const source = fresh(textPrompt("A wave"));
    const first = await publish(source);
    expect(await indexed(first.promptId)).toHaveLength(1);
    const second = await publish({ ...parseOne(video), title: source.title, slug: source.slug });
    expect(second.promptId).toBe(first.promptId);
    expect(await indexed(first.promptId)).toEqual([]);
    expect((await liveVersion(second.promptVersionId))?.modality).toBe("video");
  });
});

describe("drafts", () => {
  test("a draft's version has no number, and can be neither run nor found", async () => {
    const draft = await freeze(TEA_POEM);
    expect(await liveVersion(draft.promptVersionId)).toBeNull();
    expect(await indexed(draft.promptId)).toEqual([]);
    const numbers = await db.query("select number from prompt_versions where id = $1", [draft.promptVersionId]);
    expect(numbers).toEqual([{ number: null }]);
  });

  test("a draft does not replace the published version", async () => {
    const source = fresh(TEA_POEM);
    const first = await publish(source);
    await freeze(TEA_POEM.replace("Tea poem", "A draft nobody may see"), first.promptId);
    expect(await indexed(first.promptId)).toEqual([first.promptVersionId]);
    const rows = await db.query("select latest_version_id as id from prompts where id = $1", [first.promptId]);
    expect(rows).toEqual([{ id: first.promptVersionId }]);
  });

  test("a prompt with only drafts cannot be unpublished or republished", async () => {
    const draft = await freeze(TEA_POEM);
    expect(await unpublishPrompt(db, draft.promptId).catch(codeOf)).toBe("NOT_FOUND_ERROR");
    expect(await republishPrompt(db, draft.promptId).catch(codeOf)).toBe("NOT_FOUND_ERROR");
  });
});

describe("unpublishing", () => {
  test("removes every version and the index entry at once, and republishing restores them", async () => {
    const source = fresh(TEA_POEM);
    const first = await publish(source);
    const second = await publish(source);
    expect(await liveVersion(first.promptVersionId)).not.toBeNull(); // now it is in the cache

    await unpublishPrompt(db, first.promptId);
    expect(await liveVersion(first.promptVersionId)).toBeNull();
    expect(await liveVersion(second.promptVersionId)).toBeNull();
    expect(await indexed(first.promptId)).toEqual([]);

    await republishPrompt(db, first.promptId);
    expect(await liveVersion(first.promptVersionId)).not.toBeNull();
    expect(await indexed(first.promptId)).toEqual([second.promptVersionId]);
  });

  test("existing runs still find the version of an unpublished prompt", async () => {
    const { promptId, promptVersionId } = await publish(fresh(TEA_POEM));
    await unpublishPrompt(db, promptId);
    expect(await findVersion(db, promptVersionId)).toMatchObject({ promptVersionId });
  });

  test("and republishing are idempotent, and unknown prompts are not found", async () => {
    const { promptId } = await publish(fresh(TEA_POEM));
    for (const change of [unpublishPrompt, unpublishPrompt, republishPrompt, republishPrompt])
      await change(db, promptId);
    expect(await unpublishPrompt(db, newId()).catch(codeOf)).toBe("NOT_FOUND_ERROR");
  });

  test("a new version publishes an unpublished prompt again", async () => {
    const source = fresh(TEA_POEM);
    const first = await publish(source);
    await unpublishPrompt(db, first.promptId);
    await freeze(TEA_POEM, first.promptId);
    expect(await indexed(first.promptId)).toEqual([]);
    const second = await publish(source);
    expect(await liveVersion(second.promptVersionId)).not.toBeNull();
    expect(await indexed(first.promptId)).toEqual([second.promptVersionId]);
    const third = await publish(source);
    expect([first, second, third].map((one) => one.isPublishedAgain)).toEqual([false, true, false]);
  });

  test("ids are found in any case", async () => {
    const { promptVersionId } = await publish(fresh(TEA_POEM));
    expect(await liveVersion(promptVersionId.toUpperCase())).toMatchObject({ promptVersionId });
  });

  test("one object stands for one version, so its templates are parsed once", async () => {
    const { promptVersionId } = await publish(fresh(TEA_POEM));
    const found = await Promise.all([1, 2, 3].map(() => liveVersion(promptVersionId)));
    expect(new Set(found).size).toBe(1);
  });
});

test("estimates made with other prices are recomputed, once", async () => {
  const { promptVersionId } = await publish(fresh(TEA_POEM));
  const read = () =>
    db.query("select estimated_credits as n, estimate_basis as basis from prompt_versions where id = $1", [
      promptVersionId,
    ]);
  const before = await read();
  await db.query("update prompt_versions set estimated_credits = 999, estimate_basis = 'old' where id = $1", [
    promptVersionId,
  ]);
  expect(await refreshEstimates(db, catalogue)).toBe(1);
  expect(await read()).toEqual(before);
  expect(before).toMatchObject([{ basis: estimateBasis(catalogue) }]);
  expect(await refreshEstimates(db, catalogue)).toBe(0);
});
