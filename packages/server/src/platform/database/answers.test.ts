import { expect, onTestFinished, test } from "vitest";
import { createTestDatabase } from "../../../test/support/test-database.ts";
import { createLog } from "../log.ts";
import { queryAnswers } from "./answers.ts";
import { openDatabase } from "./database.ts";

test("times become texts, and columns with a dot become members of a member, which is null if all of them are", async () => {
  const database = await createTestDatabase();
  const db = await openDatabase({ url: database.url, role: "answers", log: createLog("silent"), poolMax: 1 });
  onTestFinished(async () => {
    await db.close();
    await database.drop();
  });
  const answers = await queryAnswers(
    db,
    `select name, revision as "draft.revision", saved_at as "draft.savedAt", saved_by as "draft.savedBy"
     from (values ('a', 2, '2026-11-27T12:00:00Z'::timestamptz, null::text), (null, null, null, null))
       rows (name, revision, saved_at, saved_by)`,
  );
  expect(answers).toEqual([
    { name: "a", draft: { revision: 2, savedAt: "2026-11-27T12:00:00.000Z", savedBy: null } },
    { name: null, draft: null },
  ]);
});
