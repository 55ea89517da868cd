import { ID_FORM, type PromptConfig } from "@promptd/contract";
import type { ManagedRun } from "@promptd/contract/manage";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useEffect, useState, type ReactNode } from "react";
import { faultOf, isFinal, isMissing, manage, promptQuery, runQuery, sessionQuery } from "../../api.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { Facts } from "../../components/facts.tsx";
import { Missing, QueryFailure } from "../../components/query-states.tsx";
import { formatDuration, formatMoment, formatWhole, spell, tookMsOf } from "../../components/format.ts";
import { Page } from "../../components/shell/page.tsx";
import { Receipt } from "../../components/run/receipt.tsx";
import { callOfRun, runCode } from "../../components/prompt/run-code.ts";
import { RunIds } from "../../components/run/run-ids.tsx";
import { RunResult } from "../../components/run/run-result.tsx";
import { RunState } from "../../components/run/run-state.tsx";
import { SampleAction } from "../../components/run/sample-action.tsx";
import { StaleNote } from "../../components/run/stale-note.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { BlockShapes, Loading } from "../../components/ui/skeleton.tsx";
import { useScrolling } from "../../components/ui/use-scrolling.ts";
import { toast } from "../../components/ui/toast.tsx";
import { Timeline } from "../../components/run/timeline.tsx";
import { RepeatActions } from "./repeat-actions.tsx";

export function RunScreen() {
  const { runId } = useParams({ from: "/inside/runs/$runId" });
  const run = useQuery(runQuery(runId));
  if (run.isError && run.data === undefined) {
    if (isMissing(run.error)) return <Gone runId={runId} />;
    return (
      <Page title="Run" path={<Path runId={runId} />}>
        <QueryFailure what="The run" query={run} />
      </Page>
    );
  }
  if (run.data === undefined) return <RunShapes runId={runId} />;
  return <WholeRun key={runId} run={run.data} note={<StaleNote query={run} />} />;
}

function WholeRun({ run, note }: { readonly run: ManagedRun; readonly note: ReactNode }) {
  const { data: prompt } = useQuery({ ...promptQuery(run.slug), enabled: !run.isTest });
  const isPicture = prompt !== undefined && prompt.configs.modality !== "text";
  const tookMs = tookMsOf(run);
  return (
    <Page
      title={run.title}
      tabTitle={`${run.title} · Runs`}
      path={<Path runId={run.runId} />}
      actions={<Actions run={run} />}
      meta={
        <>
          <RunState status={run.runStatus} />
          <span>{formatMoment(run.createdAt)}</span>
          {tookMs === null ? <Elapsed createdAt={run.createdAt} /> : <span>took {formatDuration(tookMs)}</span>}
          <code>{run.model}</code>
        </>
      }
    >
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 lg:grid-cols-[minmax(0,1fr)_304px]">
        <Panel title="Output">
          <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
            {note}
            <RunResult run={run} isPicture={isPicture} />
          </div>
        </Panel>
        <div className="grid grid-cols-[minmax(0,1fr)] gap-6 sm:max-lg:grid-cols-2 sm:max-lg:grid-rows-[auto_1fr] sm:max-lg:items-start">
          <Panel title="Timeline" className="sm:max-lg:row-span-2">
            <Timeline run={run} />
          </Panel>
          <Panel title="Receipt">
            <Receipt run={run} />
          </Panel>
          <Inputs run={run} config={prompt?.configs} />
          <Panel title="IDs" className="sm:max-lg:col-span-2">
            <RunIds run={run} />
          </Panel>
        </div>
      </div>
    </Page>
  );
}

/** How long a run that is not final has taken so far. */
function Elapsed({ createdAt }: Pick<ManagedRun, "createdAt">) {
  const [nowMs, setNowMs] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(createdAt)) / 1_000));
  return <span className="tabular-nums">for {seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1_000)}</span>;
}

interface InputsProps {
  readonly run: ManagedRun;
  /** From the latest version. Undefined if not known, or no longer available. */
  readonly config: PromptConfig | undefined;
}

/** Named as in the prompt's form, if it still has them. */
function Inputs({ run: { inputs, runOptions }, config }: InputsProps) {
  const facts = [
    ...Object.entries(inputs.textInputs).map(([name, value]) => {
      const label = config?.textInputs[name]?.label ?? name;
      return { label, value: <InputText label={label} value={value} /> };
    }),
    ...(inputs.images === 0
      ? []
      : [
          {
            label: "Images",
            value: `${inputs.images === 1 ? "1 image" : `${formatWhole(inputs.images)} images`}, not stored`,
          },
        ]),
    ...Object.entries(runOptions).map(([key, value]) => ({ label: spell(key), value })),
  ];
  return (
    <Panel title="Inputs">{facts.length === 0 ? <p className="text-dim">None.</p> : <Facts facts={facts} />}</Panel>
  );
}

/** A text that may be pages long. */
function InputText({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <span {...useScrolling(label)} className="block max-h-48 overflow-y-auto whitespace-pre-wrap">
      {value}
    </span>
  );
}

function Actions({ run }: { readonly run: ManagedRun }) {
  const queries = useQueryClient();
  const isLive = !isFinal(run.runStatus);
  const cancel = async () => {
    try {
      await manage.send("cancelRun", { params: { runId: run.runId } });
      toast("Run canceled");
    } catch (error) {
      toast(faultOf(error).message, { isBad: true });
    }
    await queries.invalidateQueries({ queryKey: runQuery(run.runId).queryKey });
  };
  return (
    <>
      {run.isTest ? null : <CopyButton text={codeOf(run)} label="Copy as curl" small={false} />}
      <SampleAction run={run} />
      {isLive ? (
        <Button tone="danger" onClick={() => void cancel()}>
          Cancel run
        </Button>
      ) : (
        <RepeatActions run={run} />
      )}
    </>
  );
}

const codeOf = (run: ManagedRun) => runCode("curl", callOfRun(run), { baseUrl: location.origin, key: null });

function Path({ runId }: { readonly runId: string }) {
  return (
    <nav aria-label="Path" className="flex min-w-0 gap-2">
      <Link to="/runs" className="hover:text-ink">
        Runs
      </Link>
      <span aria-hidden>›</span>
      <code className="truncate">{runId}</code>
    </nav>
  );
}

const IN_TEXT = "text-accent underline underline-offset-2";

function Gone({ runId }: { readonly runId: string }) {
  return (
    <Page title="No such run" hasHead={false}>
      <Missing title="Run not found" to="/runs" label="Open your runs">
        Check the ID. The run may belong to another account.
        {ID_FORM.test(runId) ? <OtherSearches id={runId} /> : null}
      </Missing>
    </Page>
  );
}

/** The ID may be a request's, and operators follow links to the runs of others. */
function OtherSearches({ id }: { readonly id: string }) {
  const { data: session } = useQuery(sessionQuery);
  return (
    <>
      {" "}
      If it is the ID of a request,{" "}
      <Link to="/runs" search={{ q: id }} className={IN_TEXT}>
        find its runs
      </Link>
      .
      {session?.person.isOperator === true ? (
        <>
          {" "}
          As an operator, you can also{" "}
          <Link to="/operator/runs" search={{ id }} className={IN_TEXT}>
            search all accounts
          </Link>
          .
        </>
      ) : null}
    </>
  );
}

function RunShapes({ runId }: { readonly runId: string }) {
  return (
    <Page title="Run" path={<Path runId={runId} />}>
      <Loading what="the run">
        <BlockShapes className="lg:grid-cols-[minmax(0,1fr)_304px]" heights={[["h-96"], ["h-40", "h-32"]]} />
      </Loading>
    </Page>
  );
}
