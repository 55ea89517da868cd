import { beforeEach, describe, expect, test } from "vitest";
import { useTestDatabase } from "../../test/support/test-database.ts";
import { catalogue, parseOne, TEA_POEM } from "../../test/prompts/prompt-fixtures.ts";
import { createAccount } from "../accounts/index.ts";
import { systemClock } from "../platform/clock.ts";
import type { Database } from "../platform/database/database.ts";
import { createIdSource } from "../platform/ids.ts";
import { createLog } from "../platform/log.ts";
import { Problem } from "../platform/problem.ts";
import type { PromptSource } from "./prompt-definition.ts";
import { addUses } from "./prompts-store.ts";
import { unpublishPrompt } from "./publishing/unpublish.ts";
import { publishPrompts } from "./publishing/publish.ts";
import { voteForPrompt } from "./votes-store.ts";

const newId = createIdSource(systemClock);
let db: Database;
let authorId = "";

useTestDatabase((opened) => (db = opened.db), { log: createLog("error") });
beforeEach(async () => {
  authorId = await newAccount();
});

function newAccount(): Promise<string> {
  return createAccount(db, newId, { email: `${newId()}@example.org`, plan: "none" });
}

function newPrompt(): PromptSource {
  return { ...parseOne(TEA_POEM), title: `Tea ${newId()}`, slug: `tea-${newId().slice(-12)}` };
}

async function publish(source: PromptSource) {
  const [published] = await publishPrompts(db, [source], { authorId, catalogue, newId });
  if (published === undefined) throw new Error("Nothing was published.");
  return published;
}

const codeOf = (error: unknown) => (error instanceof Problem ? error.code : String(error));

describe("votes and uses", () => {
  const votesOf = async (promptId: string) =>
    (await db.query<{ n: number }>("select up_votes as n from prompts where id = $1", [promptId]))[0]?.n;

  test("an account votes once, however often it tries, and can withdraw its vote", async () => {
    const { promptId } = await publish(newPrompt());
    const voters = await Promise.all(Array.from({ length: 8 }, newAccount));
    await Promise.all([...voters, ...voters].map((voter) => voteForPrompt(db, voter, promptId, "up")));
    expect(await votesOf(promptId)).toBe(8);
    expect(await voteForPrompt(db, voters[0] ?? "", promptId, "none")).toBe(7);
    expect(await voteForPrompt(db, voters[0] ?? "", promptId, "none")).toBe(7);
    const rows = await db.query("select 1 from prompt_votes where prompt_id = $1", [promptId]);
    expect(rows).toHaveLength(7);
  });

  test("an unpublished prompt cannot be voted for", async () => {
    const { promptId } = await publish(newPrompt());
    await unpublishPrompt(db, promptId);
    expect(await voteForPrompt(db, authorId, promptId, "up").catch(codeOf)).toBe("NOT_FOUND_ERROR");
  });

  test("the uses of all versions add up in their prompt, and unknown versions are ignored", async () => {
    const source = newPrompt();
    const first = await publish(source);
    const second = await publish({ ...source, description: "Another." });
    const counts = new Map([
      [first.promptVersionId, 3],
      [second.promptVersionId, 4],
      [newId(), 9],
    ]);
    await db.tx((tx) => addUses(tx, counts));
    await db.tx((tx) => addUses(tx, new Map([[first.promptVersionId, 1]])));
    await db.tx((tx) => addUses(tx, new Map()));
    expect(await db.query("select uses from prompts where id = $1", [first.promptId])).toEqual([{ uses: 8 }]);
  });
});
