/** Runs the file's tests and samples against the draft, one by one. */
import { PromptdError } from "@promptd/client/manage";
import type { PromptTestCase, TestRunResult } from "@promptd/contract/manage";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { creditsQuery, faultOf, followEvery, isFinal, manage } from "../../api.ts";
import type { FormState } from "../../components/prompt/prompt-form.ts";
import { Status } from "../../components/ui/badge.tsx";
import { Button } from "../../components/ui/button.tsx";
import { createTestRun, type DraftTabProps, type RanTest, type Trial } from "./test-run.ts";

interface TestCasesProps extends DraftTabProps {
  readonly trial: Trial;
  /** The form's images, which tests with images use. */
  readonly images: FormState["images"];
}

const POLL_MS = 700;

export function TestCases({ prompt: { promptId }, draft, checked, trial, images }: TestCasesProps) {
  const queries = useQueryClient();
  const { ran, setRan, runningAll, keys } = trial;
  const { tests } = checked;
  if (tests.length === 0) return <HowToTest />;
  const given = images.flatMap((image) => (image === null ? [] : [image.input]));
  const start = async (test: PromptTestCase, revision: number | null): Promise<RanTest> => {
    if (revision === null) return { problem: "The draft is not saved. See the note above the file first." };
    if (given.length < test.images)
      return { problem: `Add ${test.images === 1 ? "an image" : "the images"} to the form first.` };
    try {
      const { textInputs, runOptions, name } = test;
      const inputs = { textInputs, imageInputs: given.slice(0, test.images) };
      const body = { revision, test: name, inputs, runOptions };
      const runId = await createTestRun(promptId, body, keys.keyOf(`test ${name}`, body));
      keys.forget(`test ${name}`);
      return { runId };
    } catch (error) {
      return { problem: problemOf(error) };
    }
  };
  const startAll = async () => {
    const revision = await draft.flush({ isForced: true });
    for (const test of tests) {
      const outcome = await start(test, revision);
      setRan((old) => ({ ...old, [test.name]: outcome }));
    }
    await queries.invalidateQueries({ queryKey: creditsQuery.queryKey });
  };
  return (
    <section aria-label="Test cases" className="border-t border-line">
      <div className="flex min-h-11 items-center gap-3 px-4">
        <h2>Test cases</h2>
        <span className="text-12 text-dim">from the file</span>
        <Button
          small
          className="ml-auto"
          disabled={runningAll.isBusy || checked.prompt === null}
          onClick={() => void runningAll.run(startAll)}
        >
          {runningAll.isBusy ? "Starting" : "Run all"}
        </Button>
      </div>
      <ul>
        {tests.map((test) => (
          <TestRow key={test.name} promptId={promptId} test={test} ran={ran[test.name] ?? null} />
        ))}
      </ul>
    </section>
  );
}

const problemOf = (error: unknown) =>
  error instanceof PromptdError && error.issues.length > 0
    ? error.issues.map(({ message }) => message).join(" ")
    : faultOf(error).message;

interface TestRowProps {
  readonly promptId: string;
  readonly test: PromptTestCase;
  readonly ran: RanTest | null;
}

function TestRow({ promptId, test, ran }: TestRowProps) {
  const runId = ran !== null && "runId" in ran ? ran.runId : null;
  const result = useQuery({
    queryKey: ["test-run", runId, test.name],
    queryFn: ({ signal }) =>
      manage.send("getTestRun", { params: { promptId, runId: runId ?? "" }, query: { test: test.name }, signal }),
    enabled: runId !== null,
    refetchInterval: ({ state }) => followEvery(POLL_MS, !isFinal(state.data?.run.runStatus), state.error),
  });
  const problem =
    ran !== null && "problem" in ran ? ran.problem : result.isError ? faultOf(result.error).message : null;
  return (
    <li className="grid gap-1 border-t border-line px-4 py-2">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <Outcome name={test.name} problem={problem} result={result.data ?? null} isStarted={runId !== null} />
        <span className="text-12 text-dim">
          {test.expects.length === 0 ? "only checks that it succeeds" : test.expects.join(", ")}
        </span>
      </div>
      {(problem === null ? (result.data?.test?.failures ?? []) : [problem]).map((failure) => (
        <p key={failure} className="pl-4 text-12 text-bad [overflow-wrap:anywhere]">
          {failure}
        </p>
      ))}
      {(result.data?.test?.unchecked ?? []).map((note) => (
        <p key={note} className="pl-4 text-12 text-dim [overflow-wrap:anywhere]">
          Not checked here: {note}
        </p>
      ))}
    </li>
  );
}

interface OutcomeProps {
  readonly name: string;
  readonly problem: string | null;
  readonly result: TestRunResult | null;
  readonly isStarted: boolean;
}

function Outcome({ name, problem, result, isStarted }: OutcomeProps) {
  const test = result?.test ?? null;
  if (problem !== null) return <Status tone="bad">{name}: not run</Status>;
  if (test !== null)
    return <Status tone={test.passed ? "ok" : "bad"}>{`${name}: ${test.passed ? "passed" : "failed"}`}</Status>;
  return <Status tone={isStarted ? "live" : "neutral"}>{`${name}: ${isStarted ? "running" : "not run yet"}`}</Status>;
}

function HowToTest() {
  return (
    <details className="border-t border-line px-4 py-3 text-dim">
      <summary>Test cases</summary>
      <p className="py-2">
        Add test cases to the fields at the top of the file. They appear here, and you can run them all at once.
      </p>
      <pre
        tabIndex={0}
        aria-label="Example test case"
        className="overflow-x-auto rounded-2 bg-sunk p-3 font-mono text-[12px] leading-5 text-ink"
      >
        {
          "tests:\n  - name: stays short\n    inputs: { topic: rain }\n    expect:\n      contains: rain\n      shorterThan: 300"
        }
      </pre>
    </details>
  );
}
