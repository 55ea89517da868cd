/** Shows a run's result: streamed text, then the outputs. Also announces it to screen readers. */
import type { ManagedRun } from "@promptd/contract/manage";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { creditsQuery, isFinal, sessionQuery } from "../../api.ts";
import { formatMoment } from "../format.ts";
import { OutputView, TextShape } from "./output-view.tsx";
import { runWord } from "./run-state.tsx";
import { useRunText } from "./run-text.ts";
import { Failure } from "../ui/empty.tsx";
import { Skeleton } from "../ui/skeleton.tsx";
import { announce } from "../ui/toast.tsx";

const Markdown = lazy(() => import("./markdown.tsx").then(({ Markdown: component }) => ({ default: component })));

interface RunResultProps {
  readonly run: ManagedRun;
  readonly isPicture: boolean;
  /** True if the run was created on this page. The default is false. */
  readonly isNew?: boolean;
}

/** Shows one run. Give it a `key`, so that another run gets a new instance. */
export function RunResult({ run, isPicture, isNew = false }: RunResultProps) {
  const isLive = !isFinal(run.runStatus);
  const texts = useRunText(run.runId, isLive);
  useCreditsAtEnd(isLive, isNew);
  const spoken = `${run.title}: ${runWord(run.runStatus)}. ${run.error ?? ""}`.trim();
  useEffect(() => announce(spoken), [spoken]);
  if (isLive) return <Writing texts={[...texts].sort(([a], [b]) => a - b)} isPicture={isPicture} />;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
      {run.outputs.length === 0 ? (
        <Failure title={run.error ?? "This run has no output."} requestId={run.requestId} />
      ) : (
        <OutputView outputs={run.outputs} />
      )}
      <FileExpiry outputs={run.outputs} />
      <About run={run} />
    </div>
  );
}

/**
 * Refreshes the balance when a run ends, because the end releases the held credits it did not charge. A run that had
 * already ended when it was opened needs no refresh.
 */
function useCreditsAtEnd(isLive: boolean, isNew: boolean): void {
  const queries = useQueryClient();
  const [endsHere] = useState(isLive || isNew);
  useEffect(() => {
    if (endsHere && !isLive) void queries.invalidateQueries({ queryKey: creditsQuery.queryKey });
  }, [queries, endsHere, isLive]);
}

/** When the run's files are deleted. Their signed addresses say so (`e`, in Unix seconds). */
function FileExpiry({ outputs }: Pick<ManagedRun, "outputs">) {
  const ends = outputs
    .filter(({ type }) => type === "image" || type === "video")
    .map(({ data }) => 1_000 * Number(new URL(data, location.origin).searchParams.get("e")));
  const endMs = Math.min(...ends);
  if (ends.length === 0 || !(endMs > Date.now())) return null;
  return (
    <p className="text-12 text-dim">
      {ends.length === 1 ? "The file is" : "The files are"} available until{" "}
      {formatMoment(new Date(endMs).toISOString())}.
    </p>
  );
}

/** Adds what the outputs do not say: that a failed run cost nothing, and that no AI model was called. */
function About({ run: { runId, runStatus, receipt, model } }: { readonly run: ManagedRun }) {
  const { data: session } = useQuery(sessionQuery);
  if (runStatus === "failed" && receipt.charged === 0) {
    return (
      <p className="text-dim">
        You were not charged.{" "}
        {session?.person.isOperator === true ? (
          <Link to="/operator/runs/$runId" params={{ runId }} className="text-accent underline">
            See the cause and what can help
          </Link>
        ) : null}
      </p>
    );
  }
  if (!model.startsWith("sandbox/")) return null;
  return (
    <p className="text-12 text-dim">
      Made by the built-in sandbox, not by an AI model.{" "}
      {session?.person.isOperator === true ? (
        <Link to="/docs/$guide" params={{ guide: "models" }} className="text-accent underline">
          How to enable real models
        </Link>
      ) : null}
    </p>
  );
}

interface WritingProps {
  readonly texts: readonly (readonly [index: number, text: string])[];
  readonly isPicture: boolean;
}

function Writing({ texts, isPicture }: WritingProps) {
  if (texts.length === 0)
    return isPicture ? <Skeleton className="aspect-square max-h-[56vh] w-full rounded-2" /> : <TextShape />;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
      {texts.map(([index, text]) => (
        <Suspense key={index} fallback={<TextShape />}>
          <Markdown text={text} />
        </Suspense>
      ))}
      {isPicture ? <Skeleton className="aspect-video w-full rounded-2" /> : null}
    </div>
  );
}
