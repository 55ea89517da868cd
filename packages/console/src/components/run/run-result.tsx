/** What a run has made so far: text as it is written, then the outputs. Said to those who cannot see it as well. */
import type { ManagedRun } from "@promptd/contract/manage";
import { lazy, Suspense, useEffect } from "react";
import { isFinal } from "../../api.ts";
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
}

export function RunResult({ run, isPicture }: RunResultProps) {
  const isLive = !isFinal(run.runStatus);
  const texts = useRunText(run.runId, isLive);
  const spoken = `${run.title}: ${runWord(run.runStatus)}. ${run.error ?? ""}`.trim();
  useEffect(() => announce(spoken), [spoken]);
  if (isLive) return <Writing texts={[...texts].sort(([a], [b]) => a - b)} isPicture={isPicture} />;
  return run.outputs.length === 0 ? (
    <Failure title={run.error ?? "This run left no output."} requestId={run.requestId} />
  ) : (
    <OutputView outputs={run.outputs} />
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
