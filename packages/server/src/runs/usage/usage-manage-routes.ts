import {
  USAGE_DIMENSIONS,
  type EarningsReport,
  type ManageShapes,
  type Report,
  type UsageDimension,
  type UsageReport,
} from "@promptd/contract/manage";
import type { Answer, ManageHandlers, TextAnswer } from "../../http/endpoint.ts";
import { DAY_MS, dayOf, type Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/database/database.ts";
import { invalid } from "../../platform/problem.ts";
import { requireOwnPrompt } from "../../prompts/index.ts";
import { toCsv } from "../read/csv.ts";
import { listEarnings, listUsage, type MeasuredEarnings, type MeasuredUsage } from "./usage-store.ts";
import { listVersionUse } from "./version-use-store.ts";

/** Limits for a JSON response, and for a CSV file. */
const ROWS_MAX = 1_000;
const CSV_ROWS_MAX = 50_000;
const DAYS_DEFAULT = 30;
const DAYS_MAX = 366;
export function usageManageRoutes(db: Database, clock: Clock) {
  return {
    getUsage: ({ query }, { caller }) => {
      return reportUsage({ ...query, accountId: caller.accountId, showsCost: false }, db, clock);
    },
    getInstallationUsage: ({ query }) => {
      return reportUsage({ ...query, accountId: query.accountId ?? null, showsCost: true }, db, clock);
    },
    getEarnings: async ({ query }, { caller }) => {
      const { by = "prompt", format, ...span } = query;
      const { from, to } = readSpan(span, clock);
      const rowsMax = rowsMaxOf(format);
      const rows = await listEarnings(db, caller.accountId, { from, to, by, rowsMax: rowsMax + 1 });
      return answer({ from, to, ...cutOff(rows.map(toEarnings), rowsMax) }, EARNINGS_COLUMNS, format);
    },
    getPromptUsage: async ({ params: { promptId }, query: { by = "day", ...span } }, { caller }) => {
      const { from, to } = readSpan(span, clock);
      await requireOwnPrompt(db, caller.accountId, promptId);
      const words = by.split(",");
      const groups = { isByDay: words.includes("day"), isByVersion: words.includes("version") };
      const rows = await listVersionUse(db, promptId, { from, to, rowsMax: ROWS_MAX + 1 }, groups);
      return { data: { from, to, ...cutOff(rows, ROWS_MAX) } };
    },
  } satisfies Partial<ManageHandlers>;
}

type UsageQuery = ManageShapes["getUsage"]["query"];
type Format = UsageQuery["format"];

interface UsageOptions extends UsageQuery {
  /** Null: all accounts. */
  readonly accountId: string | null;
  readonly showsCost: boolean;
}

async function reportUsage(
  { by: requested = "day", format, accountId, showsCost, ...span }: UsageOptions,
  db: Database,
  clock: Clock,
): Promise<Answer<UsageReport> | TextAnswer> {
  const { from, to } = readSpan(span, clock);
  const by = USAGE_DIMENSIONS.filter((dimension) => requested.split(",").includes(dimension));
  const rowsMax = rowsMaxOf(format);
  const rows = await listUsage(db, { accountId, from, to, by, rowsMax: rowsMax + 1 });
  const shown = rows.map((row) => (showsCost ? row : { ...row, costMicro: null }));
  const columns = USAGE_COLUMNS.filter(
    ([, needs]) => needs === SUM || (needs === COST ? showsCost : by.includes(needs)),
  );
  return answer(
    { from, to, ...cutOff(shown, rowsMax) },
    columns.map(([name]) => name),
    format,
  );
}

const SUM = "sum";
const COST = "cost";
/** Columns of the CSV file, and the dimension that each requires. */
const USAGE_COLUMNS: readonly (readonly [keyof MeasuredUsage, UsageDimension | typeof SUM | typeof COST])[] = [
  ["day", "day"],
  ["keyId", "key"],
  ["keyName", "key"],
  ["promptId", "prompt"],
  ["promptSlug", "prompt"],
  ["model", "model"],
  ["accountId", "account"],
  ["accountEmail", "account"],
  ["runs", SUM],
  ["failed", SUM],
  ["credits", SUM],
  ["inputTokens", SUM],
  ["outputTokens", SUM],
  ["costMicro", COST],
];
const EARNINGS_COLUMNS = ["day", "promptId", "promptSlug", "runs", "failed", "credits", "earned"] as const;

function toEarnings({ earnedHundredths, ...row }: MeasuredEarnings): EarningsReport["rows"][number] {
  const digits = String(earnedHundredths).padStart(3, "0");
  return { ...row, earned: `${digits.slice(0, -2)}.${digits.slice(-2)}` };
}

/** @param rows one more than the report may have, if there are more. */
function cutOff<Row>(
  rows: readonly Row[],
  rowsMax: number,
): { readonly rows: readonly Row[]; readonly isCut: boolean } {
  return { rows: rows.slice(0, rowsMax), isCut: rows.length > rowsMax };
}

function rowsMaxOf(format: Format): number {
  return format === "csv" ? CSV_ROWS_MAX : ROWS_MAX;
}

/** A truncated CSV file is marked by a header, because its rows have no room for that. */
function answer<Row extends object>(
  report: Report<Row>,
  columns: readonly (keyof Row & string)[],
  format: Format,
): Answer<Report<Row>> | TextAnswer {
  if (format !== "csv") return { data: report };
  return {
    status: 200,
    text: toCsv(columns, report.rows),
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="promptd-${report.from}-${report.to}.csv"`,
      ...(report.isCut ? { "x-cut": "true" } : {}),
    },
  };
}

/** Defaults to the last 30 days, including today (UTC). */
function readSpan(
  { from, to }: Pick<UsageQuery, "from" | "to">,
  clock: Clock,
): { readonly from: string; readonly to: string } {
  const toMs = to === undefined ? clock.nowMs() : Date.parse(to);
  const fromMs = from === undefined ? toMs - (DAYS_DEFAULT - 1) * DAY_MS : Date.parse(from);
  const days = Math.floor(toMs / DAY_MS) - Math.floor(fromMs / DAY_MS) + 1;
  if (days < 1 || days > DAYS_MAX) {
    const message = `from must be at most ${DAYS_MAX} days before to, and not after it.`;
    throw invalid([{ path: ["query", "from"], code: "invalid_value", message }]);
  }
  return { from: dayOf(fromMs), to: dayOf(toMs) };
}
