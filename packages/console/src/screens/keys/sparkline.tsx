import { queryOptions } from "@tanstack/react-query";
import { manage } from "../../api.ts";

const DAYS = 30;
const DAY_MS = 86_400_000;
const HEIGHT = 20;
const BAR = 3;

/** Daily runs by key for the last 30 days (UTC), oldest first. Empty if there is too much data for one request. */
export const runsOfKeysQuery = queryOptions({
  queryKey: ["keys", "use"],
  queryFn: async ({ signal }): Promise<ReadonlyMap<string, readonly number[]>> => {
    const { from, rows, isCut } = await manage.send("getUsage", { query: { by: "day,key" }, signal });
    const byKey = new Map<string, number[]>();
    if (isCut) return byKey;
    for (const { day, keyId, runs } of rows) {
      if (day === null || keyId === null) continue;
      const days = byKey.get(keyId) ?? Array.from({ length: DAYS }, () => 0);
      days[Math.round((Date.parse(day) - Date.parse(from)) / DAY_MS)] = runs;
      byKey.set(keyId, days);
    }
    return byKey;
  },
});

/** One bar per day. The figure next to it is the sum. */
export function Sparkline({ days }: { readonly days: readonly number[] }) {
  const top = Math.max(1, ...days);
  return (
    <svg
      aria-hidden
      width={days.length * BAR}
      height={HEIGHT}
      className="inline-block border-b border-edge fill-c2 align-middle"
    >
      {days.map((runs, day) => {
        const height = runs === 0 ? 0 : Math.max(2, (runs / top) * HEIGHT);
        return <rect key={day} x={day * BAR} y={HEIGHT - height} width={BAR - 1} height={height} />;
      })}
    </svg>
  );
}
