import type { ManagedRun, RunMoment } from "@promptd/contract/manage";
import { formatClock, formatDuration } from "../format.ts";
import { cx } from "../ui/class-names.ts";

type Tone = "ok" | "bad" | "live" | "wait";

interface Stop {
  readonly title: string;
  readonly note: string;
  readonly tone: Tone;
  readonly tookMs: number | null;
}

const DOTS: Readonly<Record<Tone, string>> = {
  ok: "bg-ok",
  bad: "bg-bad",
  live: "bg-accent ring-3 ring-accent-soft",
  wait: "border-[1.5px] border-faint",
};

/** Shows what happened to the run, step by step. */
export function Timeline({ run }: { readonly run: Pick<ManagedRun, "timeline" | "runStatus"> }) {
  return (
    <ol className="grid">
      {stopsOf(run).map((stop, index, all) => (
        <li
          key={index}
          className="relative grid grid-cols-[minmax(0,1fr)_auto] items-baseline gap-x-3 pb-4 pl-6 last:pb-0"
        >
          <i aria-hidden className={cx("absolute top-1.5 left-0.5 size-[9px] rounded-full", DOTS[stop.tone])} />
          {index === all.length - 1 ? null : (
            <i aria-hidden className="absolute top-[19px] bottom-[-2px] left-1.5 w-px bg-edge" />
          )}
          <span className={stop.tone === "wait" ? "text-dim" : ""}>{stop.title}</span>
          <span className="text-12 text-dim tabular-nums">
            {stop.tookMs === null ? "" : formatDuration(stop.tookMs)}
          </span>
          <small className="col-span-2 text-12 text-dim [overflow-wrap:anywhere]">{stop.note}</small>
        </li>
      ))}
    </ol>
  );
}

function stopsOf(run: Pick<ManagedRun, "timeline" | "runStatus">): Stop[] {
  const stops = run.timeline.map((moment, index) => ({
    ...stopOf(moment, run.timeline[index + 1] ?? null),
    note: noteOf(moment, run.timeline[0] ?? moment),
  }));
  if (run.runStatus === "queued")
    return [...stops, { title: "Waiting for a worker", note: "", tone: "wait", tookMs: null }];
  return stops;
}

/** The first event as clock time, the others as time elapsed since it. */
function noteOf({ at }: RunMoment, first: RunMoment): string {
  return at === first.at ? formatClock(at) : `after ${formatDuration(Date.parse(at) - Date.parse(first.at))}`;
}

function stopOf({ at, event, attempt, endedAt, outcome }: RunMoment, next: RunMoment | null): Omit<Stop, "note"> {
  const isBad = outcome === "failed";
  const tone = isBad ? "bad" : next === null && event !== "finished" && endedAt === null ? "live" : "ok";
  const since = (end: string | null) => (end === null ? null : Date.parse(end) - Date.parse(at));
  const titles = {
    created: "Queued",
    started: attempt > 1 ? `Started, attempt ${attempt}` : "Started",
    call: isBad ? "Model call failed" : "Model call",
    finished: isBad ? "Failed" : "Finished",
  };
  const tookMs = event === "created" ? since(next?.at ?? null) : event === "call" ? since(endedAt) : null;
  return { title: titles[event], tone: event === "created" ? "ok" : tone, tookMs };
}
