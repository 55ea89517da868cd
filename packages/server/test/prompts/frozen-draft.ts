import type { Catalogue } from "../../src/models/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Database } from "../../src/platform/database/database.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { createDraft, freezeDraft, saveDraft } from "../../src/prompts/own/drafts.ts";

const newId = createIdSource(systemClock);

/** A prompt and the version of it that a test run of its draft executes. */
export interface FrozenDraft {
  readonly promptId: string;
  readonly promptVersionId: string;
}

/** Saves a file as the draft of a new prompt, or of one that is published, and freezes it as its first test run does. */
export async function freezeAsDraft(
  { db, catalogue }: { readonly db: Database; readonly catalogue: Catalogue },
  text: string,
  { accountId, promptId }: { readonly accountId: string; readonly promptId?: string | undefined },
): Promise<FrozenDraft> {
  const options = { db, catalogue, newId, holdMaxCredits: 10_000 };
  const author = { accountId, personId: null };
  if (promptId !== undefined) await saveDraft(author, promptId, { source: text, revision: 0 }, options);
  const drafted = promptId ?? (await createDraft(author, text, options));
  const frozen = await freezeDraft(author, { promptId: drafted, revision: 1, model: null }, options);
  return { promptId: drafted, promptVersionId: frozen.promptVersionId };
}
