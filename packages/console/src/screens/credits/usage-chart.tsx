import type { CSSProperties } from "react";
import { countCredits, formatDay, formatWhole } from "../../components/format.ts";
import { cx } from "../../components/ui/class-names.ts";
import { roundUp, type UsageOfDays } from "./usage-series.ts";

const COLORS = ["bg-c1", "bg-c2", "bg-c3", "bg-c4", "bg-c5"];
const LINES = [1, 0.75, 0.5, 0.25, 0];
const WEEK = 7;
/** With more days than that, labels divide the days into this many parts. */
const PARTS = 4;

/** Stacked bars. The table below has the same figures for people who cannot see them. */
export function UsageChart({ usage: { days, series } }: { readonly usage: UsageOfDays }) {
  const sums = days.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const top = 4 * roundUp(Math.max(...sums) / 4); // credits are whole numbers, so the four lines are too
  const total = sums.reduce((sum, value) => sum + value, 0);
  return (
    <figure className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <div
        role="img"
        aria-label={`${countCredits(total)} in ${days.length} days, at most ${formatWhole(Math.max(...sums))} on one`}
        className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-2"
      >
        <div className="grid h-48 grid-rows-[repeat(4,1fr)_0] text-right text-11 text-dim tabular-nums">
          {LINES.map((share) => (
            <span key={share} className="-translate-y-2">
              {formatWhole(top * share)}
            </span>
          ))}
        </div>
        <div className="relative h-48">
          {LINES.map((share) => (
            <i
              key={share}
              className={cx("absolute inset-x-0 h-px", share === 0 ? "bg-edge" : "bg-line")}
              style={{ bottom: `${share * 100}%` }}
            />
          ))}
          <div className="absolute inset-0 flex items-end gap-[3px] max-sm:gap-px">
            {days.map((day, index) => (
              <div
                key={day}
                title={`${formatDay(day)}: ${countCredits(sums[index] ?? 0)}`}
                className="flex h-full min-w-0 flex-1 flex-col justify-end hover:bg-hover"
              >
                {series
                  .map(({ key, values }, at) => ({ key, value: values[index] ?? 0, color: COLORS[at] }))
                  .toReversed()
                  .map(({ key, value, color }) =>
                    value === 0 ? null : (
                      <i
                        key={key}
                        className={cx("mx-auto block w-full max-w-7 border-t border-panel", color)}
                        style={{ height: `${(100 * value) / top}%` }}
                      />
                    ),
                  )}
              </div>
            ))}
          </div>
        </div>
        <span />
        <div className="relative mt-1.5 h-4 text-11 whitespace-nowrap text-dim">
          {days.map((day, index) =>
            isLabeled(index, days.length) ? (
              <span key={day} className="absolute" style={placeOf(index, days.length)}>
                {formatDay(day).replace(/, \d{4}$/, "")}
              </span>
            ) : null,
          )}
        </div>
      </div>
      <Legend series={series} />
    </figure>
  );
}

/** Labels the first day, the last day, and evenly spaced days between them. A week gets all its labels. */
function isLabeled(index: number, days: number): boolean {
  const last = days - 1;
  if (days <= WEEK) return true;
  return index === Math.round((Math.round((index / last) * PARTS) / PARTS) * last);
}

/** From this many days on, a label is wider than its day's column. */
const NARROW_DAYS = 14;

/** Centered below its bar. With many days, edge labels are shifted inside the chart. */
function placeOf(index: number, days: number): CSSProperties {
  if (days > NARROW_DAYS && index === 0) return { left: 0 };
  if (days > NARROW_DAYS && index === days - 1) return { right: 0 };
  return { left: `${(100 * (index + 0.5)) / days}%`, translate: "-50%" };
}

function Legend({ series }: Pick<UsageOfDays, "series">) {
  return (
    <figcaption className="flex flex-wrap gap-x-5 gap-y-1">
      {series.map(({ key, name, total: own }, at) => (
        <span key={key} className="inline-flex min-w-0 items-center gap-2">
          <i aria-hidden className={cx("size-2 shrink-0 rounded-[2px]", COLORS[at])} />
          <span className="truncate">{name}</span>
          <span className="shrink-0 text-dim tabular-nums">{countCredits(own)}</span>
        </span>
      ))}
    </figcaption>
  );
}
