/** The form of the draft, and what a run of it makes. */
import type { PromptConfig } from "@promptd/contract";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { createRun, creditsQuery, runQuery } from "../../api.ts";
import { formatDuration, formatWhole, tookMsOf } from "../../components/format.ts";
import { PromptFields } from "../../components/prompt/prompt-fields.tsx";
import { bodyOf, checkForm, type FormFaults, type FormState } from "../../components/prompt/prompt-form.ts";
import { QueryFailure } from "../../components/query-states.tsx";
import { RunResult } from "../../components/run/run-result.tsx";
import { RunState } from "../../components/run/run-state.tsx";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { Failure } from "../../components/ui/empty.tsx";
import { TestCases } from "./test-cases.tsx";
import { createTestRun, fitForm, type DraftTabProps, type Trial } from "./test-run.ts";

interface TestTabProps extends DraftTabProps {
  readonly trial: Trial;
}

export function TestTab({ prompt, draft, checked, trial }: TestTabProps) {
  const { config } = checked;
  if (config === null) {
    return (
      <p className="p-4 text-dim">
        {checked.faults.length > 0
          ? "The form appears when the file has no faults. They are listed below the file."
          : "Checking the file"}
      </p>
    );
  }
  const form = fitForm(trial.form, config);
  return (
    <>
      <TestForm {...{ prompt, draft, checked, trial, config, form }} />
      <TestCases {...{ prompt, draft, checked, trial }} images={form.images} />
    </>
  );
}

interface TestFormProps extends TestTabProps {
  readonly config: PromptConfig;
  readonly form: FormState;
}

/** Runs the form on the draft, and on request on the latest version as well. */
function useTestRun({
  prompt: { promptId, latest },
  draft,
  trial,
  config,
  form,
}: TestFormProps): () => Promise<unknown> {
  const queries = useQueryClient();
  const navigate = useNavigate({ from: "/author/$promptId" });
  const { running, isCompared, setComparedRun, keys, isOpen } = trial;
  const tryBoth = async () => {
    const revision = await draft.flush({ isForced: true });
    if (revision === null) throw new Error("The draft is not saved yet, so it cannot be run. See the note above.");
    const { promptVersionId: _, ...body } = bodyOf("", config, form);
    const versionId = isCompared ? latest?.promptVersionId : undefined;
    const asked = { revision, ...body, versionId };
    const made = await createTestRun(promptId, { revision, ...body }, keys.keyOf("draft", asked));
    setComparedRun(null);
    // Shown before the other one is made: that may fail.
    if (isOpen()) await navigate({ search: (old) => ({ ...old, run: made }), replace: true, resetScroll: false });
    if (versionId !== undefined) {
      const runId = await createRun({ ...body, promptVersionId: versionId }, keys.keyOf("other", asked));
      setComparedRun({ runId, version: latest?.version ?? 0 });
    }
    keys.forget("draft");
    keys.forget("other");
  };
  return async () => {
    await running.run(tryBoth);
    await queries.invalidateQueries({ queryKey: creditsQuery.queryKey });
  };
}

function TestForm(props: TestFormProps) {
  const { latest } = props.prompt;
  const { checked, trial, config, form } = props;
  const { running, isCompared, setCompared, compared } = trial;
  const { run: runId } = useSearch({ from: "/inside/author/$promptId" });
  const run = useTestRun(props);
  const [faults, setFaults] = useState<FormFaults>({});
  const result = useRef<HTMLDivElement>(null);
  const start = () => {
    const found = checkForm(config, form);
    setFaults(found);
    if (Object.keys(found).length === 0) void run();
  };
  const canRun = checked.prompt !== null && !running.isBusy;
  useEffect(() => {
    if (runId !== undefined) result.current?.scrollIntoView({ block: "nearest" });
  }, [runId]);
  return (
    <>
      <form
        noValidate
        aria-label="Inputs of the test run"
        className="grid grid-cols-[minmax(0,1fr)] gap-5 p-4"
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.metaKey || event.ctrlKey) || !canRun) return;
          event.preventDefault();
          start();
        }}
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        {running.fault === null ? null : <Failure title={running.fault.message} requestId={running.fault.requestId} />}
        <PromptFields
          config={config}
          form={form}
          faults={faults}
          onChange={(next) => {
            setFaults({});
            trial.setForm(next);
          }}
        />
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <Button type="submit" tone="main" disabled={!canRun}>
            <Play aria-hidden className="size-4" strokeWidth={1.75} />
            {running.isBusy ? "Sending" : "Run draft"}
          </Button>
          {latest === null ? null : <Compare version={latest.version} isOn={isCompared} onChange={setCompared} />}
          <span className="text-12 text-dim">
            {checked.faults.length > 0 ? "Mend the faults below the file first." : ""}
          </span>
        </div>
      </form>
      {runId === undefined ? null : (
        <div ref={result} className="grid grid-cols-[minmax(0,1fr)] border-t border-line bg-bg">
          <TestResult key={runId} runId={runId} title={compared === null ? null : "Draft"} />
          {compared === null ? null : (
            <TestResult key={compared.runId} runId={compared.runId} title={`Version ${compared.version}`} />
          )}
        </div>
      )}
    </>
  );
}

interface CompareProps {
  readonly version: number;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

function Compare({ version, isOn, onChange }: CompareProps) {
  return (
    <label className="inline-flex items-center gap-2">
      <input
        type="checkbox"
        className="size-3.5 accent-[var(--accent)]"
        checked={isOn}
        onChange={(event) => onChange(event.target.checked)}
      />
      and version {version}, to compare
    </label>
  );
}

function TestResult({ runId, title }: { readonly runId: string; readonly title: string | null }) {
  const run = useQuery(runQuery(runId));
  if (run.isError) {
    return (
      <div className="p-4">
        <QueryFailure what="The run" query={run} />
      </div>
    );
  }
  if (run.data === undefined) return <div className="min-h-40" />;
  const tookMs = tookMsOf(run.data);
  const { charged } = run.data.receipt;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4 border-b border-line p-4 last:border-b-0">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        {title === null ? null : <h3>{title}</h3>}
        <RunState status={run.data.runStatus} />
        <span className="text-12 text-dim tabular-nums">
          {tookMs === null ? "" : `${formatDuration(tookMs)}, ${charged === 0 ? "no" : formatWhole(charged)} credits`}
        </span>
        <Link to="/runs/$runId" params={{ runId }} className={`ml-auto ${buttonClass({ small: true })}`}>
          Open run
        </Link>
      </div>
      <RunResult run={run.data} isPicture={run.data.outputs.some(({ type }) => type !== "text")} />
    </div>
  );
}
