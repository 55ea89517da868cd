import { beforeEach, expect, test } from "vitest";
import { createAccount } from "../../src/accounts/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Database } from "../../src/platform/database/database.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { createLog } from "../../src/platform/log.ts";
import {
  listSearchDocuments,
  listSearchedVersions,
  type PublishedPrompt,
  publishPrompts,
  unpublishPrompt,
} from "../../src/prompts/index.ts";
import { freezeAsDraft } from "../prompts/frozen-draft.ts";
import { catalogue, parseOne, TEA_POEM } from "../prompts/prompt-fixtures.ts";
import { createSearch, indexDocuments, removeDocument, type Search } from "../../src/search/index.ts";
import { documentOf } from "./search-fixture.ts";
import { useTestDatabase } from "../support/test-database.ts";

let db: Database;
let authorId = "";
let search: Search;
const newId = createIdSource(systemClock);
const errors: unknown[] = [];
useTestDatabase((opened) => (db = opened.db));
beforeEach(async () => {
  await db.query(
    "truncate search_docs, search_postings, search_terms, search_vocab, search_embeddings, search_changes",
  );
  await db.query("update prompts set unpublished_at = promptd_now()");
  authorId = await createAccount(db, newId, { email: `${newId()}@example.org`, plan: "none" });
  errors.length = 0;
  const log = Object.assign(createLog("silent").child({}), { error: (fields: unknown) => void errors.push(fields) });
  search = createSearch({
    db,
    log,
    clock: systemClock,
    published: { listVersions: listSearchedVersions, listDocuments: listSearchDocuments },
  });
  return () => search.close();
});

async function publish(title: string, promptId: string | null = null): Promise<PublishedPrompt> {
  const source = { ...parseOne(TEA_POEM), title, description: "", tags: [], slug: `s-${newId()}` };
  const [published] = await publishPrompts(db, [{ ...source, promptId }], { authorId, catalogue, newId });
  if (published === undefined) throw new Error("Nothing was published.");
  return published;
}

const runTick = async (name: string) => {
  await search.ticks.find((tick) => tick.name === name)?.run();
};
const indexed = async () => db.query("select prompt_version_id as version, title from search_docs order by title");

test("the audit finds nothing in a correct index, and changes nothing", async () => {
  const tea = await publish("Xylozant polish");
  await freezeAsDraft({ db, catalogue }, TEA_POEM.replace("Tea poem", "Xylozant draft"), { accountId: authorId });
  const taken = await publish("Taken back");
  await unpublishPrompt(db, taken.promptId);
  const before = await db.query("select * from search_docs");
  await runTick("search-audit");
  expect(await db.query("select * from search_docs")).toEqual(before);
  expect(await indexed()).toEqual([{ version: tea.promptVersionId, title: "Xylozant polish" }]);
  expect(errors).toEqual([]);
});

test("the audit removes what is not published, and adds the latest text of what is", async () => {
  const gone = await publish("Gone prompt");
  const renamed = await publish("Sauce maker");
  const lost = await publish("Lost prompt");
  const latest = await publish("Gravy maker", renamed.promptId);
  await unpublishPrompt(db, gone.promptId);
  const forged = (prompt: PublishedPrompt, title: string) => ({ ...documentOf(1, title), ...prompt, title });
  await db.tx(async (tx) => {
    await indexDocuments(tx, [forged(gone, "Gone prompt"), forged(renamed, "Sauce maker"), documentOf(7, "Nobody's")]);
    await removeDocument(tx, lost.promptId);
  });
  await runTick("search-audit");
  expect(await indexed()).toEqual([
    { version: latest.promptVersionId, title: "Gravy maker" },
    { version: lost.promptVersionId, title: "Lost prompt" },
  ]);
  expect(errors).toEqual([{ removed: 2, written: 2 }]);
  expect(await search.find("gone prompt", 20)).not.toContain(gone.promptId);
});

test("the audit compares a catalogue with several pages", async () => {
  const count = 1_100;
  const source = { ...parseOne(TEA_POEM), description: "", tags: [] };
  const sources = Array.from({ length: count }, (_, i) => ({ ...source, title: `Tea ${i}`, slug: `tea-${i}` }));
  const published = await publishPrompts(db, sources, { authorId, catalogue, newId });
  await db.tx((tx) => removeDocument(tx, published[count - 1]?.promptId ?? ""));
  await db.tx((tx) =>
    indexDocuments(tx, [documentOf(1, "Before all"), documentOf(2, "After all", { promptId: LAST })]),
  );
  await runTick("search-audit");
  expect(await indexed()).toHaveLength(count);
  expect(errors).toEqual([{ removed: 2, written: 1 }]);
});
const LAST = "ffffffff-ffff-7fff-bfff-ffffffffffff";
