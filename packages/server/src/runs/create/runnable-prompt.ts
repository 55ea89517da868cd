import type { CreateRunBody } from "@promptd/contract";
import type { Catalogue } from "../../models/index.ts";
import { describePublicId, findFrozen, findGoneModel, findLivePrompt, type LivePrompt } from "../../prompts/index.ts";
import type { Database } from "../../platform/database/database.ts";
import { notFound, Problem } from "../../platform/problem.ts";

/** @param options `isTest`: the version is a frozen draft of the account. @throws Problem 404 or 410. */
export async function getRunnablePrompt(
  { accountId, body: { promptVersionId } }: { accountId: string; body: Pick<CreateRunBody, "promptVersionId"> },
  {
    db,
    catalogue,
    isTest = false,
  }: { readonly db: Database; readonly catalogue: Catalogue; readonly isTest?: boolean },
): Promise<LivePrompt> {
  const prompt = isTest ? await findFrozen(db, accountId, promptVersionId) : await findLivePrompt(db, promptVersionId);
  if (prompt === null)
    throw notFound("published prompt version", promptVersionId, await describePublicId(db, promptVersionId));
  const gone = findGoneModel(prompt.version.definition.steps, catalogue);
  if (gone === null) return prompt;
  const data = { reason: "MODEL_RETIRED" as const, model: gone.model };
  throw new Problem("GONE_ERROR", `${gone.why} Use a newer version of the prompt.`, { data });
}
