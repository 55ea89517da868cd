/** All SQL about usage; sql/usage.sql has the views and the roll-up. */
import type { EarningsRow, UsageDimension, RecentUsage, UsageRow } from "@promptd/contract/manage";
import type { Database, Queryable } from "../../platform/database/database.ts";

export interface ReportSpan {
  /** First and last day, UTC, YYYY-MM-DD. */
  readonly from: string;
  readonly to: string;
  readonly rowsMax: number;
}

export interface UsageRequest extends ReportSpan {
  /** Null: all accounts. */
  readonly accountId: string | null;
  /** At least one. */
  readonly by: readonly UsageDimension[];
}

/** Sums over a group of runs; the cost is always read, and omitted only in responses. */
export type MeasuredUsage = UsageRow & { readonly costMicro: number };

const COLUMNS: Readonly<Record<UsageDimension, string>> = {
  day: "day",
  key: "api_key_id",
  prompt: "prompt_id",
  model: "model",
  account: "account_id",
};

/** Ordered by day, then by highest usage. Includes usage that is not rolled up yet. */
export function listUsage(db: Queryable, { accountId, from, to, by, rowsMax }: UsageRequest): Promise<MeasuredUsage[]> {
  const ofAccount = accountId === null ? "" : "and u.account_id = $4";
  const shown = (dimension: UsageDimension, column: string, type: string) =>
    by.includes(dimension) ? column : `null::${type}`;
  const columns = by.map((dimension) => COLUMNS[dimension]).join(", ");
  return db.query<MeasuredUsage>(
    `with used as (
       select ${columns}, sum(runs)::bigint as runs, sum(failed)::bigint as failed, sum(credits)::bigint as credits,
         sum(input_tokens)::bigint as "inputTokens", sum(output_tokens)::bigint as "outputTokens",
         sum(cost_micro)::bigint as "costMicro"
       from usage_of_all u where u.day between $1 and $2 ${ofAccount} group by ${columns}
     )
     select ${shown("day", "to_char(used.day, 'YYYY-MM-DD')", "text")} as day,
       ${shown("key", "used.api_key_id", "uuid")} as "keyId", ${shown("key", "k.name", "text")} as "keyName",
       ${shown("prompt", "used.prompt_id", "uuid")} as "promptId", ${shown("prompt", "p.slug", "text")} as "promptSlug",
       ${shown("prompt", "(select v.title from prompt_versions v where v.id = p.latest_version_id)", "text")} as "promptTitle", ${shown("model", "used.model", "text")} as model,
       ${shown("account", "used.account_id", "uuid")} as "accountId",
       ${shown("account", "a.email", "text")} as "accountEmail",
       used.runs, used.failed, used.credits, used."inputTokens", used."outputTokens", used."costMicro"
     from used
     ${by.includes("key") ? "left join api_keys k on k.id = used.api_key_id" : ""}
     ${by.includes("prompt") ? "left join prompts p on p.id = used.prompt_id" : ""}
     ${by.includes("account") ? "left join accounts a on a.id = used.account_id" : ""}
     order by ${by.includes("day") ? "used.day," : ""} used.credits desc, used.runs desc, ${columns} limit $3`,
    accountId === null ? [from, to, rowsMax] : [from, to, rowsMax, accountId],
  );
}

export interface MeasuredEarnings extends Omit<EarningsRow, "earned"> {
  /** The author's part, in hundredths of a credit. */
  readonly earnedHundredths: number;
}

export interface EarningsRequest extends ReportSpan {
  /** Rows per prompt, or per prompt and day. */
  readonly by: "prompt" | "day";
}

/** Earnings of an author's prompts from all callers, without their names. */
export function listEarnings(
  db: Queryable,
  authorId: string,
  { from, to, rowsMax, by }: EarningsRequest,
): Promise<MeasuredEarnings[]> {
  const isByDay = by === "day";
  const day = isByDay ? "to_char(u.day, 'YYYY-MM-DD')" : "null::text";
  return db.query<MeasuredEarnings>(
    `select ${day} as day, p.id as "promptId", p.slug as "promptSlug", sum(u.runs)::bigint as runs,
       sum(u.failed)::bigint as failed, sum(u.credits)::bigint as credits,
       sum(u.earned_hundredths)::bigint as "earnedHundredths"
     from prompts p join usage_of_all u on u.prompt_id = p.id
     where p.author_id = $1 and u.account_id <> $1 and u.day between $2 and $3
     group by p.id, p.slug${isByDay ? ", u.day" : ""}
     order by ${isByDay ? "u.day," : ""} sum(u.earned_hundredths) desc, p.slug limit $4`,
    [authorId, from, to, rowsMax],
  );
}

/** Usage of an account's keys in the last `days`, including today (UTC); keys without usage are omitted. */
export async function findUsageOfKeys(
  db: Queryable,
  accountId: string,
  days: number,
): Promise<Map<string, RecentUsage>> {
  const rows = await db.query<RecentUsage & { readonly keyId: string }>(
    `select api_key_id as "keyId", sum(runs)::bigint as runs, sum(failed)::bigint as failed,
       sum(credits)::bigint as credits
     from usage_of_all where account_id = $1 and day > (promptd_now() at time zone 'UTC')::date - $2::int and api_key_id is not null group by api_key_id`,
    [accountId, days],
  );
  return new Map(rows.map(({ keyId, ...usage }) => [keyId, usage]));
}

/** @returns how many ended runs were moved into daily sums. */
export async function rollUpEvents(db: Database, batch: number, settleSeconds: number): Promise<number> {
  const text = "select usage_roll_up($1, make_interval(secs => $2)) as moved";
  const rows = await db.query<{ moved: number }>(text, [batch, settleSeconds]);
  return rows[0]?.moved ?? 0;
}

/** Removes days older than the last `days`. */
export async function deleteOldUsage(db: Database, days: number): Promise<void> {
  const before = "day < (promptd_now() at time zone 'UTC')::date - $1::int";
  await db.query(`delete from usage_days where ${before}`, [days]);
  await db.query(`delete from version_days where ${before}`, [days]);
}
