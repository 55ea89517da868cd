/** The draft's form and the results of its runs. */
import type { PromptConfig } from "@promptd/contract";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { createRun, creditsQuery } from "../../api.ts";
import { PromptFields } from "../../components/prompt/prompt-fields.tsx";
import { bodyOf, checkForm, type FormFaults, type FormState } from "../../components/prompt/prompt-form.ts";
import { runKeys } from "../../components/prompt/run-keys.ts";
import { countCredits } from "../../components/format.ts";
import { Button } from "../../components/ui/button.tsx";
import { FaultNote } from "../../components/fault-note.tsx";
import type { EditorSearch } from "../../search.ts";
import { CompareChoice, Results, useOther } from "./compare.tsx";
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
          ? "The form appears when the file has no errors. Errors are listed below the file."
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

/** Runs the form on the draft and, if chosen, on another model or version too. */
function useTestRun({ prompt: { promptId }, draft, trial, config, form }: TestFormProps): () => Promise<unknown> {
  const queries = useQueryClient();
  const navigate = useNavigate({ from: "/author/$promptId" });
  const { running, keys, isOpen } = trial;
  const other = useOther(trial, config);
  const show = async (shown: Pick<EditorSearch, "run" | "beside">) => {
    if (isOpen()) await navigate({ search: (old) => ({ ...old, ...shown }), replace: true, resetScroll: false });
  };
  const tryBoth = async () => {
    const revision = await draft.flush({ isForced: true });
    if (revision === null) throw new Error("The draft is not saved yet, so it cannot be run. See the note above.");
    const { promptVersionId: _, ...body } = bodyOf("", config, form);
    const request = { revision, ...body, other };
    const run = await createTestRun(promptId, { revision, ...body }, keys.keyOf("draft", request));
    // Shown before the second run is created, which may fail.
    await show({ run, beside: undefined });
    if (other !== null) {
      const key = keys.keyOf("other", request);
      const beside =
        "model" in other
          ? await createTestRun(promptId, { revision, ...body, ...other }, key)
          : await createRun({ ...body, ...other }, key);
      await show({ run, beside });
    }
    keys.forget("draft");
    keys.forget("other");
  };
  return async () => {
    await running.run(tryBoth);
    await queries.invalidateQueries({ queryKey: creditsQuery.queryKey });
  };
}

/** What the author pays. An installation may charge authors like callers. */
function costOfTest({ last, testRuns }: TestTabProps["checked"]): string {
  if (last === null || testRuns === null) return "";
  return testRuns === "free" || last.price.typical === 0
    ? "Test runs are free for you."
    : `A test run costs you about ${countCredits(last.price.typical)}.`;
}

function TestForm(props: TestFormProps) {
  const { prompt, checked, trial, config, form } = props;
  const { running } = trial;
  const { run: runId, beside } = useSearch({ from: "/inside/author/$promptId" });
  const run = useTestRun(props);
  const [faults, setFaults] = useState<FormFaults>({});
  const result = useRef<HTMLDivElement>(null);
  const start = () => {
    const found = checkForm(config, form);
    setFaults(found);
    if (Object.keys(found).length === 0) void run();
  };
  const canRun = checked.prompt !== null && !running.isBusy;
  const show = () => result.current?.scrollIntoView({ block: "start" }); // an image grows downward as it loads
  useEffect(() => {
    if (runId !== undefined) show();
  }, [runId]);
  return (
    <>
      <form
        noValidate
        aria-label="Test run inputs"
        className="grid grid-cols-[minmax(0,1fr)] gap-5 p-4"
        onKeyDown={runKeys}
        onSubmit={(event) => {
          event.preventDefault();
          if (canRun) start();
        }}
      >
        <FaultNote fault={running.fault} />
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
          <span className="text-12 text-dim">
            {checked.faults.length > 0 ? "First fix the errors listed below the file." : costOfTest(checked)}
          </span>
          <CompareChoice {...{ prompt, config, trial }} />
        </div>
      </form>
      {runId === undefined ? null : (
        <div ref={result} className="@container border-t border-line bg-bg" onLoadCapture={show}>
          <Results prompt={prompt} runId={runId} beside={beside ?? null} />
        </div>
      )}
    </>
  );
}
