import type { Queryable } from "../../platform/database/database.ts";
import type { PromptDefinition } from "../prompt-definition.ts";

export interface StaleEstimate {
  readonly id: string;
  readonly model: string;
  readonly definition: PromptDefinition;
}

/** Latest versions whose estimate was made from other prices. */
export function listStaleEstimates(db: Queryable, basis: string, limit: number): Promise<StaleEstimate[]> {
  const text = `select v.id, v.model, v.definition from prompts p join prompt_versions v on v.id = p.latest_version_id
    where v.estimate_basis <> $1 order by v.id limit $2`;
  return db.query<StaleEstimate>(text, [basis, limit]);
}

export async function setEstimates(
  db: Queryable,
  basis: string,
  estimates: readonly { readonly id: string; readonly credits: number }[],
): Promise<void> {
  const text = `update prompt_versions v set estimated_credits = new.credits, estimate_basis = $1
    from unnest($2::uuid[], $3::int[]) new (id, credits) where v.id = new.id`;
  await db.query(text, [basis, estimates.map((each) => each.id), estimates.map((each) => each.credits)]);
}
