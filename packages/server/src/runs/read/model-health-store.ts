import type { ModelHealth } from "@promptd/contract/manage";
import { queryAnswers } from "../../platform/database/answers.ts";
import type { Database } from "../../platform/database/database.ts";

interface BarRow {
  model: string;
  bar: number;
  calls: number;
  failed: number;
}

type ModelRow = Pick<ModelHealth, "model" | "medianMs" | "lastFailure">;

const BARS = 12;
const BAR_SECONDS = 300;
const RECENT = `c.sent_at > promptd_now() - make_interval(secs => ${BARS * BAR_SECONDS})`;
const IS_OUTPUT = "c.outcome in ('text', 'image', 'video')";
/** Known to have failed, and not because of the request's content. */
const IS_FAILURE = `c.outcome is not null and not ${IS_OUTPUT} and c.outcome not like 'cancel%' and c.outcome <> 'refused'`;

/**
 * Outcomes of the calls of the last hour, by model. The calls are found by their time, which is also their order on
 * disk.
 */
export async function listModelHealth(db: Database): Promise<ModelHealth[]> {
  const [bars, models] = await Promise.all([
    db.query<BarRow>(
      // Bars end at round times, so that a call stays in its bar. The oldest one also has the calls just before it.
      `select c.model, ${BARS} - 1 - least(${BARS} - 1, greatest(0, floor(extract(epoch from promptd_now()) / ${BAR_SECONDS})
         - floor(extract(epoch from c.sent_at) / ${BAR_SECONDS})))::int as bar,
         count(*)::int as calls, (count(*) filter (where ${IS_FAILURE}))::int as failed
       from provider_calls c where ${RECENT} group by 1, 2`,
    ),
    queryAnswers<ModelRow>(
      db,
      `select m.model, m.median_ms as "medianMs", f.sent_at as "lastFailure.at", f.outcome as "lastFailure.outcome",
         f.http_status as "lastFailure.httpStatus", f.provider_code as "lastFailure.providerCode" from (
         select c.model, round((percentile_cont(0.5) within group (order by extract(epoch from c.ended_at - c.sent_at))
           filter (where ${IS_OUTPUT} and c.ended_at is not null) * 1000)::numeric)::int as median_ms
         from provider_calls c where ${RECENT} group by c.model) m
       left join lateral (
         select c.sent_at, c.outcome, c.http_status, c.provider_code from provider_calls c
         where c.model = m.model and ${RECENT} and ${IS_FAILURE} order by c.sent_at desc limit 1) f on true
       order by m.model`,
    ),
  ]);
  return models.map((row) =>
    toHealth(
      row,
      bars.filter(({ model }) => model === row.model),
    ),
  );
}

function toHealth(row: ModelRow, bars: readonly BarRow[]): ModelHealth {
  const sum = (read: (bar: BarRow) => number) => bars.reduce((total, bar) => total + read(bar), 0);
  return {
    ...row,
    calls: sum(({ calls }) => calls),
    failed: sum(({ failed }) => failed),
    history: Array.from({ length: BARS }, (_, index) => {
      const bar = bars.find((one) => one.bar === index);
      return { calls: bar?.calls ?? 0, failed: bar?.failed ?? 0 };
    }),
  };
}
