import type { CallOfRun, InstallationRun } from "@promptd/contract/manage";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { isMissing } from "../../api.ts";
import { formatDuration, formatMoment, formatWhole, tookMsOf } from "../../components/format.ts";
import { Missing, QueryFailure, RowShapes } from "../../components/query-states.tsx";
import { Receipt } from "../../components/run/receipt.tsx";
import { RunIds } from "../../components/run/run-ids.tsx";
import { RunState } from "../../components/run/run-state.tsx";
import { Timeline } from "../../components/run/timeline.tsx";
import { Failure } from "../../components/ui/empty.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { Table, Td } from "../../components/ui/table.tsx";
import { causeAdvice, causeWords } from "./cause-words.ts";
import { installationRunQuery } from "./queries.ts";

export function InstallationRunSection() {
  const { runId } = useParams({ from: "/inside/operator/runs/$runId" });
  const run = useQuery(installationRunQuery(runId));
  if (isMissing(run.error)) {
    return (
      <Missing title="Run not found" to="/operator/runs" label="Find a run">
        Check the ID. The run may have been deleted.
      </Missing>
    );
  }
  if (run.isLoadingError) return <QueryFailure what="The run" query={run} />;
  if (run.data === undefined) return <RowShapes what="the run" rows={8} />;
  return <Found run={run.data} />;
}

function Found({ run }: { readonly run: InstallationRun }) {
  const tookMs = tookMsOf(run);
  const advice = run.cause === null ? null : causeAdvice(run.cause);
  return (
    <>
      <header className="grid gap-1">
        <h2 className="text-16! [overflow-wrap:anywhere]">{run.title}</h2>
        <p className="flex flex-wrap gap-x-4 gap-y-1 text-12 text-dim">
          <RunState status={run.runStatus} />
          <span>{formatMoment(run.createdAt)}</span>
          {tookMs === null ? null : <span>took {formatDuration(tookMs)}</span>}
          <code>{run.model}</code>
          <Link
            to="/operator/accounts/$accountId"
            params={{ accountId: run.accountId }}
            className="text-accent hover:underline"
          >
            {run.accountEmail}
          </Link>
        </p>
      </header>
      {run.cause === null ? null : (
        <Failure title={causeWords(run.cause)} requestId={run.requestId}>
          {advice === null ? null : <p className="pb-1">{advice}</p>}
          {run.causeDetail === null ? null : `${run.causeDetail}. `}
          <code className="text-12">{run.cause}</code>. The caller saw: {run.error}
        </Failure>
      )}
      <Calls calls={run.calls} />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 xl:grid-cols-3">
        <Panel title="Timeline">
          <Timeline run={run} />
        </Panel>
        <Panel title="Receipt">
          <Receipt run={run} />
        </Panel>
        <Panel title="IDs">
          <RunIds run={run} accountId={run.accountId} />
        </Panel>
      </div>
    </>
  );
}

/** Columns that no call fills are left out. */
function Calls({ calls }: { readonly calls: readonly CallOfRun[] }) {
  const hasCode = calls.some(({ providerCode }) => providerCode !== null);
  const hasRequest = calls.some(({ providerRequestId }) => providerRequestId !== null);
  const hasTokens = calls.some(({ inputTokens }) => inputTokens !== null);
  return (
    <Panel title="Provider calls" aside={calls.length === 0 ? "none" : undefined} flush={calls.length > 0}>
      {calls.length === 0 ? (
        <p className="text-dim">
          The run ended before it called a model, or its calls are too old and are no longer stored.
        </p>
      ) : (
        <Table
          label="Provider calls"
          columns={[
            { label: "Attempt", num: true, from: "sm" },
            "Model",
            { label: "Outcome", fill: true },
            { label: "HTTP", num: true, from: "sm" },
            ...(hasCode ? [{ label: "Provider code", from: "xl" } as const] : []),
            ...(hasRequest ? [{ label: "Provider request ID", from: "xl" } as const] : []),
            ...(hasTokens ? [{ label: "Tokens", num: true, from: "sm" } as const] : []),
            { label: "Took", num: true },
          ]}
        >
          {calls.map((call) => (
            <tr key={`${call.sentAt} ${call.step} ${call.item} ${call.attempt}`}>
              <Td num from="sm">
                {call.attempt}
              </Td>
              <Td>
                <code className="text-12">{call.model}</code>
              </Td>
              <Td fill whole>
                <span className="whitespace-normal">
                  {call.outcome === null ? <span className="text-dim">open</span> : outcomeOf(call.outcome)}
                </span>
              </Td>
              <Td num from="sm">
                {call.httpStatus}
              </Td>
              {hasCode ? (
                <Td from="xl">
                  <code className="text-12">{call.providerCode}</code>
                </Td>
              ) : null}
              {hasRequest ? (
                <Td from="xl">
                  <code className="text-12">{call.providerRequestId}</code>
                </Td>
              ) : null}
              {hasTokens ? (
                <Td num from="sm">
                  {tokensOf(call)}
                </Td>
              ) : null}
              <Td num>
                {call.endedAt === null ? "" : formatDuration(Date.parse(call.endedAt) - Date.parse(call.sentAt))}
              </Td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}

function tokensOf({ inputTokens, outputTokens }: CallOfRun): string {
  if (inputTokens === null) return "";
  return `${formatWhole(inputTokens)} in, ${formatWhole(outputTokens ?? 0)} out`;
}

const isOutput = (outcome: string) => outcome === "text" || outcome === "image" || outcome === "video";

function outcomeOf(outcome: string) {
  return isOutput(outcome) ? outcome : <span className="text-bad">{causeWords(outcome)}</span>;
}
