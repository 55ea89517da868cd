/** SQL for the usage that authors see of their prompts: by version and day, for all callers, without their names. */
import type { PromptUsageRow, RecentUseOfPrompt } from "@promptd/contract/manage";
import type { Queryable } from "../../platform/database/database.ts";
import type { ReportSpan } from "./usage-store.ts";

const SUMS = `sum(runs)::bigint as runs, sum(runs - failed - excused)::bigint as succeeded, sum(failed)::bigint as failed,
  sum(credits)::bigint as credits`;
/** The last `$2` days, including today (UTC). */
const IS_RECENT = "day > (promptd_now() at time zone 'UTC')::date - $2::int";

/** Usage of these prompts; prompts without usage are omitted. */
export async function findUsageOfPrompts(
  db: Queryable,
  promptIds: readonly string[],
  days: number,
): Promise<Map<string, RecentUseOfPrompt>> {
  const text = `select prompt_id as id, ${SUMS} from version_use_of_all
    where prompt_id = any ($1::uuid[]) and ${IS_RECENT} group by prompt_id`;
  return toMap(await db.query<RecentUseOfPrompt & { readonly id: string }>(text, [promptIds, days]));
}

/** Usage of the versions of a prompt; versions without usage are omitted. */
export async function findUsageOfVersions(
  db: Queryable,
  promptId: string,
  days: number,
): Promise<Map<string, RecentUseOfPrompt>> {
  const text = `select prompt_version_id as id, ${SUMS} from version_use_of_all
    where prompt_id = $1 and ${IS_RECENT} group by prompt_version_id`;
  return toMap(await db.query<RecentUseOfPrompt & { readonly id: string }>(text, [promptId, days]));
}

function toMap(rows: readonly (RecentUseOfPrompt & { readonly id: string })[]): Map<string, RecentUseOfPrompt> {
  return new Map(rows.map(({ id, ...use }) => [id, use]));
}

/** Oldest day first, then the newest version. */
export function listVersionUse(
  db: Queryable,
  promptId: string,
  { from, to, rowsMax }: ReportSpan,
  { isByDay, isByVersion }: { readonly isByDay: boolean; readonly isByVersion: boolean },
): Promise<PromptUsageRow[]> {
  const groups = [...(isByDay ? ["u.day"] : []), ...(isByVersion ? ["u.prompt_version_id", "v.number"] : [])];
  const order = [...(isByDay ? ["u.day"] : []), ...(isByVersion ? ["v.number desc"] : [])];
  return db.query<PromptUsageRow>(
    `select ${isByDay ? "to_char(u.day, 'YYYY-MM-DD')" : "null::text"} as day,
       ${isByVersion ? "u.prompt_version_id" : "null::uuid"} as "promptVersionId",
       ${isByVersion ? "v.number" : "null::int"} as version, ${SUMS}
     from version_use_of_all u ${isByVersion ? "join prompt_versions v on v.id = u.prompt_version_id" : ""}
     where u.prompt_id = $1 and u.day between $2 and $3 group by ${groups.join(", ")} order by ${order.join(", ")}
     limit $4`,
    [promptId, from, to, rowsMax],
  );
}
