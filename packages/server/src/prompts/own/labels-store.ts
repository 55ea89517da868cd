/** SQL for labels (migration 0021). */
import type { PromptLabel } from "@promptd/contract/manage";
import type { Queryable, Tx } from "../../platform/database/database.ts";

export async function listLabels(db: Queryable, promptId: string): Promise<PromptLabel[]> {
  return db.query<PromptLabel>(
    `select l.label, l.prompt_version_id as "promptVersionId", v.number as version
     from prompt_labels l join prompt_versions v on v.id = l.prompt_version_id where l.prompt_id = $1 order by l.label`,
    [promptId],
  );
}

/** Locks the prompt's row, since its labels are counted afterwards. False: it has no published version with this id. */
export async function upsertLabel(
  tx: Tx,
  promptId: string,
  { label, promptVersionId }: Pick<PromptLabel, "label" | "promptVersionId">,
): Promise<boolean> {
  await tx.query("select 1 from prompts where id = $1 for no key update", [promptId]);
  const text = `insert into prompt_labels (prompt_id, label, prompt_version_id)
    select v.prompt_id, $2, v.id from prompt_versions v
    where v.prompt_id = $1 and v.id = $3 and v.published_at is not null
    on conflict (prompt_id, label) do update set prompt_version_id = excluded.prompt_version_id, set_at = promptd_now()
    returning 1`;
  return (await tx.query(text, [promptId, label, promptVersionId])).length > 0;
}

/** False: the prompt has no such label. */
export async function deleteLabelRow(db: Queryable, promptId: string, label: string): Promise<boolean> {
  const text = "delete from prompt_labels where prompt_id = $1 and label = $2 returning 1";
  return (await db.query(text, [promptId, label])).length > 0;
}
