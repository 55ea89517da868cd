import { queryOptions, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { ChartColumn, Download } from "lucide-react";
import { manage } from "../../api.ts";
import { runWithToast } from "../../components/run-with-toast.ts";
import { formatDay, formatWhole } from "../../components/format.ts";
import { QueryFailure } from "../../components/query-states.tsx";
import { saveFile } from "../../components/save-file.ts";
import { Button } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/empty.tsx";
import { Segments, Select } from "../../components/ui/field.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { Skeleton } from "../../components/ui/skeleton.tsx";
import { Table, Td } from "../../components/ui/table.tsx";
import type { CreditsSearch } from "../../search.ts";
import { UsageChart } from "./usage-chart.tsx";
import { USAGE_BY, usageOfDays, type UsageBy, type UsageOfDays } from "./usage-series.ts";

const DAYS = ["7", "30", "90", "365"] as const;
const DAY_MS = 86_400_000;

/** The first day of a span that includes today (UTC). */
const fromOf = (days: number) => new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10);

const usageQuery = (by: UsageBy, days: number) =>
  queryOptions({
    queryKey: ["usage", by, days],
    queryFn: ({ signal }) => manage.send("getUsage", { query: { by: `day,${by}`, from: fromOf(days) }, signal }),
  });

export function Usage() {
  const { by = "prompt", days = "30" } = useSearch({ from: "/inside/credits" });
  const navigate = useNavigate({ from: "/credits" });
  const change = (next: CreditsSearch) =>
    void navigate({ search: (old) => ({ ...old, ...next }), replace: true, resetScroll: false });
  return (
    <Panel
      title="Usage per day"
      aside="credits paid for runs that have ended"
      actions={
        <>
          <Segments
            label="Stacked by"
            value={by}
            options={USAGE_BY.map((value) => ({ value, label: value.charAt(0).toUpperCase() + value.slice(1) }))}
            onChange={(value) => change({ by: USAGE_BY.find((one) => one === value) })}
          />
          <Select
            aria-label="Days"
            className="w-32"
            value={days}
            onChange={({ target }) => change({ days: DAYS.find((one) => one === target.value) })}
          >
            {DAYS.map((count) => (
              <option key={count} value={count}>
                Last {count} days
              </option>
            ))}
          </Select>
        </>
      }
      foot={<Export by={by} days={Number(days)} />}
    >
      <Chart by={by} days={Number(days)} />
    </Panel>
  );
}

interface SpanProps {
  readonly by: UsageBy;
  readonly days: number;
}

function Chart({ by, days }: SpanProps) {
  const usage = useQuery(usageQuery(by, days));
  if (usage.isLoadingError) return <QueryFailure what="The usage" query={usage} />;
  if (usage.data === undefined) return <Skeleton className="h-56 rounded-2" />;
  const shown = usageOfDays(usage.data, by);
  if (shown.series.length === 0) {
    return (
      <Empty icon={ChartColumn} title="No usage in this period">
        Free and failed runs cost nothing, and runs in progress are charged when they end.
      </Empty>
    );
  }
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <UsageChart usage={shown} />
      {usage.data.isCut ? <p className="text-12 text-warn">Too much data to show. Choose a shorter period.</p> : null}
      <details>
        <summary className="w-max text-12 text-dim hover:text-ink">Show as a table</summary>
        <div className="-mx-4 mt-2 max-h-96 overflow-y-auto">
          <UsageTable usage={shown} />
        </div>
      </details>
    </div>
  );
}

function UsageTable({ usage: { days, series } }: { readonly usage: UsageOfDays }) {
  const used = days.flatMap((day, index) =>
    series.some(({ values }) => (values[index] ?? 0) > 0) ? [{ day, index }] : [],
  );
  return (
    <Table label="Usage per day" columns={["Day", ...series.map(({ name }) => ({ label: name, num: true }))]}>
      {used.toReversed().map(({ day, index }) => (
        <tr key={day}>
          <Td>{formatDay(day)}</Td>
          {series.map(({ key, values }) => (
            <Td key={key} num>
              {formatWhole(values[index] ?? 0)}
            </Td>
          ))}
        </tr>
      ))}
    </Table>
  );
}

/** Exports the same days to a file, with runs, failures, and tokens too. */
function Export({ by, days }: SpanProps) {
  const save = (format: "csv" | "json") =>
    runWithToast(async () => {
      const query = { by: `day,${by}`, from: fromOf(days), ...(format === "csv" ? { format } : {}) };
      const { httpStatus, text, envelope } = await manage.request({ method: "GET", path: "/manage/v1/usage", query });
      if (envelope !== null && envelope.status !== "SUCCESS") throw new Error(envelope.message);
      if (httpStatus !== 200) throw new Error(`The server responded with HTTP ${httpStatus}.`);
      const isJson = format === "json" && envelope?.status === "SUCCESS";
      saveFile(`usage-by-${by}.${format}`, new Blob([isJson ? JSON.stringify(envelope.data, null, 2) : text]));
    }, "File saved");
  return (
    <>
      <span>Export this period</span>
      <span className="ml-auto flex gap-2">
        {(["csv", "json"] as const).map((format) => (
          <Button key={format} small onClick={() => void save(format)}>
            <Download aria-hidden className="size-3.5" strokeWidth={1.75} />
            {format.toUpperCase()}
          </Button>
        ))}
      </span>
    </>
  );
}
