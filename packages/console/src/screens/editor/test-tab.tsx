/** The form of the draft, and what a run of it makes. */
import { randomKey } from "@promptd/client/manage";
import type { PromptConfig } from "@promptd/contract";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { createRun, runQuery } from "../../api.ts";
import { formatDuration, formatWhole, tookMsOf } from "../../components/format.ts";
import { PromptFields } from "../../components/prompt/prompt-fields.tsx";
import { bodyOf, checkForm, emptyForm, type FormFaults, type FormState } from "../../components/prompt/prompt-form.ts";
import { QueryFailure } from "../../components/query-states.tsx";
import { RunResult } from "../../components/run/run-result.tsx";
import { RunState } from "../../components/run/run-state.tsx";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { Failure } from "../../components/ui/empty.tsx";
import { useAct } from "../../components/use-act.ts";
import { TestCases } from "./test-cases.tsx";
import { createTestRun, type DraftTabProps } from "./test-run.ts";

export function TestTab({ prompt, draft, checked }: DraftTabProps) {
  const { config } = checked;
  const [form, setForm] = useState<FormState>({ texts: {}, images: [], options: {} });
  if (config === null) {
    return (
      <p className="p-4 text-dim">
        {checked.faults.length > 0
          ? "The form appears when the file has no faults. They are listed below the file."
          : "Checking the file"}
      </p>
    );
  }
  const fitting = fitForm(form, config);
  return (
    <>
      <TestForm {...{ prompt, draft, checked, config }} form={fitting} onChange={setForm} />
      <TestCases {...{ prompt, draft, checked }} images={fitting.images} />
    </>
  );
}

/** The form as the draft now wants it: slots come and go while the file is written; what was filled in stays. */
function fitForm(form: FormState, config: PromptConfig): FormState {
  const { images } = emptyForm(config);
  const options = Object.entries(form.options).filter(([name, value]) =>
    config.runOptions[name]?.options.includes(value),
  );
  return {
    texts: form.texts,
    images: images.map((_, index) => form.images[index] ?? null),
    options: Object.fromEntries(options),
  };
}

interface TestFormProps extends DraftTabProps {
  readonly config: PromptConfig;
  readonly form: FormState;
  readonly onChange: (form: FormState) => void;
}

/** Runs the form on the draft, and on request on the latest version as well. */
function useTestRun({ prompt, draft, config, form }: TestFormProps) {
  const { promptId, latest } = prompt;
  const navigate = useNavigate({ from: "/author/$promptId" });
  const act = useAct();
  const [isCompared, setCompared] = useState(false);
  const [otherRunId, setOtherRunId] = useState<string | null>(null);
  const run = () =>
    act.run(async () => {
      const revision = await draft.flush({ isForced: true });
      if (revision === null) throw new Error("The draft is not saved yet, so it cannot be run. See the note above.");
      const { promptVersionId: _, ...body } = bodyOf("", config, form);
      const made = await createTestRun(promptId, { revision, ...body });
      const isBoth = isCompared && latest !== null;
      setOtherRunId(isBoth ? await createRun({ ...body, promptVersionId: latest.promptVersionId }, randomKey()) : null);
      await navigate({ search: (old) => ({ ...old, run: made }), replace: true, resetScroll: false });
    });
  return { act, isCompared, setCompared, otherRunId, run };
}

function TestForm(props: TestFormProps) {
  const { latest } = props.prompt;
  const { checked, config, form, onChange } = props;
  const { run: runId } = useSearch({ from: "/inside/author/$promptId" });
  const { act, isCompared, setCompared, otherRunId, run } = useTestRun(props);
  const [faults, setFaults] = useState<FormFaults>({});
  const result = useRef<HTMLDivElement>(null);
  const start = () => {
    const found = checkForm(config, form);
    setFaults(found);
    if (Object.keys(found).length === 0) void run();
  };
  const canRun = checked.prompt !== null && !act.isBusy;
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
        {act.fault === null ? null : <Failure title={act.fault.message} requestId={act.fault.requestId} />}
        <PromptFields
          config={config}
          form={form}
          faults={faults}
          onChange={(next) => {
            setFaults({});
            onChange(next);
          }}
        />
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <Button type="submit" tone="main" disabled={!canRun}>
            <Play aria-hidden className="size-4" strokeWidth={1.75} />
            {act.isBusy ? "Sending" : "Run draft"}
          </Button>
          {latest === null ? null : <Compare version={latest.version} isOn={isCompared} onChange={setCompared} />}
          <span className="text-12 text-dim">
            {checked.faults.length > 0 ? "Mend the faults below the file first." : ""}
          </span>
        </div>
      </form>
      {runId === undefined ? null : (
        <div ref={result} className="grid grid-cols-[minmax(0,1fr)] border-t border-line bg-bg">
          <TestResult key={runId} runId={runId} title={otherRunId === null ? null : "Draft"} />
          {otherRunId === null || latest === null ? null : (
            <TestResult key={otherRunId} runId={otherRunId} title={`Version ${latest.version}`} />
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
