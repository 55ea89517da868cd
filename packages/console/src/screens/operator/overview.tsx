import type { ManagedModel, SystemState } from "@promptd/contract/manage";
import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CircleAlert, CircleCheck } from "lucide-react";
import { modelsQuery, sessionQuery } from "../../api.ts";
import { Facts } from "../../components/facts.tsx";
import { formatBytes, formatDuration, formatTime, formatWhole } from "../../components/format.ts";
import { QueryFailure, RowShapes } from "../../components/query-states.tsx";
import { Status } from "../../components/ui/badge.tsx";
import { buttonClass } from "../../components/ui/button.tsx";
import { cx } from "../../components/ui/class-names.ts";
import { Panel } from "../../components/ui/panel.tsx";
import { Table, Td } from "../../components/ui/table.tsx";
import { causeWords } from "./cause-words.ts";
import { ModelSwitch } from "./models/model-switch.tsx";
import { TestCall } from "./models/test-call.tsx";
import { findProblems, type Problem } from "./problems.ts";
import { healthQuery, readinessQuery, systemQuery } from "./queries.ts";

export function OverviewSection() {
  const [system, readiness, health, models, session] = useQueries({
    queries: [systemQuery, readinessQuery, healthQuery, modelsQuery, sessionQuery],
  });
  // Figures from before the failure would say that everything works.
  const failed = [system, readiness, health, models].find((query) => query.isError);
  if (failed !== undefined) return <QueryFailure what="The state of the installation" query={failed} />;
  if (!system.data || !readiness.data || !health.data || !models.data || !session.data)
    return <RowShapes what="the overview" />;
  const known = {
    system: system.data,
    readiness: readiness.data,
    health: health.data.rows,
    models: models.data.models,
    personId: session.data.person.personId,
  };
  return (
    <>
      <Problems problems={findProblems(known)} models={known.models} />
      <Figures system={system.data} />
      <div className="grid grid-cols-[minmax(0,1fr)] gap-6 xl:grid-cols-[minmax(0,1fr)_320px]">
        <Failures failures={system.data.failures} />
        <Panel title="Installation">
          <Facts
            facts={[
              { label: "Version", value: system.data.version },
              { label: "Database", value: formatBytes(system.data.storage.databaseBytes) },
              { label: "Files", value: readiness.data["files"] === "ok" ? "writable" : "not writable" },
              { label: "Search", value: readiness.data["search"] === "ok" ? "loaded" : "loading" },
              {
                label: "Mail",
                value: session.data.features.mail ? `${system.data.mail.waiting} waiting` : "not set up",
              },
            ]}
          />
        </Panel>
      </div>
      <Workers workers={system.data.workers} nowMs={Date.parse(system.data.now)} />
    </>
  );
}

interface ProblemsProps {
  readonly problems: readonly Problem[];
  readonly models: readonly ManagedModel[];
}

/** The answer to whether anything is wrong, then what, since when, and what to do about it. */
function Problems({ problems, models }: ProblemsProps) {
  const urgent = problems.filter(({ isUrgent }) => isUrgent).length;
  const title =
    urgent === 1
      ? "One thing is wrong"
      : urgent > 1
        ? `${urgent} things are wrong`
        : problems.length === 0
          ? "Everything works"
          : problems.length === 1
            ? "Everything works. One thing needs attention."
            : `Everything works. ${problems.length} things need attention.`;
  return (
    <section className="grid gap-3">
      {/* The notes below it contain times and counts that change all the time. */}
      <div role="status">
        <h2 className="flex items-center gap-2 text-16!">
          {urgent > 0 ? (
            <CircleAlert aria-hidden className="size-4 shrink-0 text-bad" strokeWidth={1.75} />
          ) : (
            <CircleCheck aria-hidden className="size-4 shrink-0 text-ok" strokeWidth={1.75} />
          )}
          {title}
        </h2>
      </div>
      {problems.map((problem) => (
        <div
          key={problem.title}
          className={cx(
            "flex flex-wrap items-center gap-x-4 gap-y-2 rounded-3 px-4 py-3",
            problem.isUrgent ? "bg-bad-soft" : "bg-warn-soft",
          )}
        >
          <p className="min-w-0 flex-[1_1_20rem] [overflow-wrap:anywhere]">
            <strong className={cx("font-semibold", problem.isUrgent ? "text-bad" : "text-warn")}>
              {problem.note === "" ? problem.title : `${problem.title}.`}
            </strong>{" "}
            {problem.note}
          </p>
          <ProblemActions problem={problem} row={models.find(({ model }) => model === problem.model)} />
        </div>
      ))}
    </section>
  );
}

interface ProblemActionsProps {
  readonly problem: Problem;
  /** The model that it is about, unless the catalogue no longer has it. */
  readonly row: ManagedModel | undefined;
}

function ProblemActions({ problem: { model, hasRuns, person, isOwn }, row }: ProblemActionsProps) {
  const small = buttonClass({ small: true });
  return (
    <span className="flex flex-wrap gap-2 empty:hidden">
      {row === undefined ? null : (
        <>
          <TestCall row={row} tone="plain" />
          <ModelSwitch row={row} tone="plain" />
        </>
      )}
      {model === undefined || hasRuns !== true ? null : (
        <Link to="/operator/runs" search={{ model, status: "failed" }} className={small}>
          Show failed runs
        </Link>
      )}
      {person === undefined ? null : (
        <Link to="/operator/people" search={{ q: person }} className={small}>
          Open People
        </Link>
      )}
      {isOwn === true ? (
        <Link to="/settings/security" className={small}>
          Open Security
        </Link>
      ) : null}
    </span>
  );
}

function Figures({ system: { queue, workers, failures, now } }: { readonly system: SystemState }) {
  const oldest = queue.oldestAt === null ? "none waiting" : `oldest waiting ${ageOf(queue.oldestAt, now)}`;
  const figures = [
    { label: "Queue", value: queue.waiting, note: oldest },
    { label: "Running", value: queue.running, note: "runs in progress on a worker" },
    { label: "Workers", value: workers.length, note: `${workers.filter((one) => one.isDraining).length} draining` },
    { label: "Failed", value: failures.reduce((sum, { runs }) => sum + runs, 0), note: "runs in the last hour" },
  ];
  return (
    <div className="grid grid-cols-2 gap-px overflow-clip rounded-3 border border-line bg-line xl:grid-cols-4">
      {figures.map(({ label, value, note }) => (
        <div key={label} className="grid content-start gap-0.5 bg-panel px-4 pt-3 pb-4">
          <span className="text-dim">{label}</span>
          <span className="text-28 font-semibold tabular-nums">{formatWhole(value)}</span>
          <span className="text-12 text-dim">{note}</span>
        </div>
      ))}
    </div>
  );
}

const ageOf = (since: string, now: string) => formatDuration(Math.max(0, Date.parse(now) - Date.parse(since)));

/** Each cause links to its runs, and each run to its details. */
function Failures({ failures }: { readonly failures: SystemState["failures"] }) {
  const most = Math.max(1, ...failures.map(({ runs }) => runs));
  return (
    <Panel title="Failed runs by cause" aside="last hour">
      {failures.length === 0 ? (
        <p className="text-dim">No failed runs.</p>
      ) : (
        <ul className="grid gap-3">
          {failures.map(({ cause, model, runs }) => (
            <li key={`${cause} ${model}`}>
              <Link
                to="/operator/runs"
                search={{ cause, model, status: "failed" }}
                className="group grid grid-cols-[minmax(0,1fr)_auto] gap-x-3 gap-y-1 rounded-1"
              >
                <span className="truncate group-hover:underline group-hover:underline-offset-3">
                  {causeWords(cause)} <code className="pl-1 text-12 text-dim">{model}</code>
                </span>
                <span className="tabular-nums">{formatWhole(runs)}</span>
                <span aria-hidden className="col-span-2 h-1 rounded-full bg-press">
                  <span className="block h-1 rounded-full bg-bad" style={{ width: `${(100 * runs) / most}%` }} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

interface WorkersProps {
  readonly workers: SystemState["workers"];
  readonly nowMs: number;
}

function Workers({ workers, nowMs }: WorkersProps) {
  return (
    <Panel title="Workers" flush>
      <Table
        label="Workers"
        columns={[
          { label: "Process", fill: true },
          "State",
          { label: "Runs", num: true },
          { label: "Started", num: true, from: "sm" },
          { label: "Last report", num: true, from: "sm" },
        ]}
      >
        {workers.map(({ workerId, host, pid, version, isDraining, running, startedAt, heartbeatAt }) => (
          <tr key={workerId}>
            <Td fill>
              {host}{" "}
              <span className="text-dim">
                process {pid}, {version}
              </span>
            </Td>
            <Td>
              <Status tone={isDraining ? "warn" : "ok"}>{isDraining ? "Draining" : "Active"}</Status>
            </Td>
            <Td num>{formatWhole(running)}</Td>
            <Td num from="sm">
              {formatTime(startedAt, nowMs)}
            </Td>
            <Td num from="sm">
              {formatTime(heartbeatAt, nowMs)}
            </Td>
          </tr>
        ))}
      </Table>
      {workers.length === 0 ? <p className="px-4 py-3 text-dim">None.</p> : null}
    </Panel>
  );
}
