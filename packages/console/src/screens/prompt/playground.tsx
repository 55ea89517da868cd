import type { MarketplacePrompt, RunQuote } from "@promptd/contract/manage";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { ImageIcon, Play, TextCursorInput } from "lucide-react";
import { useMemo, useState } from "react";
import { isMissing, runQuery } from "../../api.ts";
import { CodeTabs } from "../../components/prompt/code-tabs.tsx";
import { FaultNote } from "../../components/fault-note.tsx";
import { QueryFailure } from "../../components/query-states.tsx";
import { countCredits, formatCredits, formatDuration, formatWhole, tookMsOf, nameIn } from "../../components/format.ts";
import { callOfForm } from "../../components/prompt/run-code.ts";
import { PromptFields } from "../../components/prompt/prompt-fields.tsx";
import { bodyOf, type FormState } from "../../components/prompt/prompt-form.ts";
import { runKeys, useRunKey } from "../../components/prompt/run-keys.ts";
import { TextShape } from "../../components/run/output-view.tsx";
import { RunResult } from "../../components/run/run-result.tsx";
import { RunState } from "../../components/run/run-state.tsx";
import { SampleAction } from "../../components/run/sample-action.tsx";
import { StaleNote } from "../../components/run/stale-note.tsx";
import { shortcut } from "../../components/shell/shortcut.ts";
import { textsOfSample } from "./form-of-run.ts";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/empty.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { Loading } from "../../components/ui/skeleton.tsx";
import { Samples } from "./samples.tsx";
import { useFormOfRun } from "./form-of-run.ts";
import { MeansNote, useMeans } from "./means.tsx";
import { useQuote } from "./use-quote.ts";
import { useRunning } from "./use-running.ts";

interface PlaygroundProps {
  readonly prompt: MarketplacePrompt;
  /** The run in the address. Its inputs fill the form, and its outputs appear next to it. */
  readonly givenRunId: string | null;
}

/** The prompt's inputs on the left, its result on the right, and the same call as code below. */
export function Playground({ prompt, givenRunId }: PlaygroundProps) {
  const { configs: config, promptVersionId } = prompt;
  const { tab = "curl" } = useSearch({ from: "/inside/p/$slug" });
  const navigate = useNavigate({ from: "/p/$slug" });
  const [openedRunId] = useState(givenRunId);
  const [form, setForm] = useFormOfRun(config, givenRunId);
  const body = useMemo(() => bodyOf(promptVersionId, config, form), [promptVersionId, config, form]);
  const quote = useQuote(body, config);
  const running = useRunning({
    body,
    config,
    form,
    onCreated: (run) => void navigate({ search: (old) => ({ ...old, run }), replace: true, resetScroll: false }),
  });
  const change = (next: FormState) => {
    setForm(next);
    running.forget();
  };
  const given = useQuery({ ...runQuery(givenRunId ?? ""), enabled: givenRunId !== null });
  const sampleTexts = useMemo(() => textsOfSample(prompt.samples, config), [prompt.samples, config]);
  // A shared address may name someone else's run.
  const runId = isMissing(given.error) ? null : givenRunId;
  // Before the first run, the sample takes the place of the result.
  const samples =
    runId === null && prompt.samples.outputs.length > 0 ? null : <Samples samples={prompt.samples} config={config} />;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 lg:grid-cols-[336px_minmax(0,1fr)] xl:grid-cols-[384px_minmax(0,1fr)]">
      <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
        <Inputs
          prompt={prompt}
          form={form}
          quote={quote}
          running={running}
          lacksImages={(given.data?.inputs.images ?? 0) > 0 && form.images.every((image) => image === null)}
          onChange={change}
        />
        {samples === null ? null : <div className="max-lg:hidden">{samples}</div>}
      </div>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
        {runId === null ? (
          <NothingRun
            prompt={prompt}
            onFill={sampleTexts === null ? null : () => change({ ...form, texts: sampleTexts })}
          />
        ) : (
          <Result key={runId} runId={runId} prompt={prompt} isNew={runId !== openedRunId} />
        )}
        {samples === null ? null : <div className="lg:hidden">{samples}</div>}
        <CodeTabs
          call={callOfForm(promptVersionId, config, form)}
          promptId={prompt.promptId}
          language={tab}
          onLanguage={(language) =>
            void navigate({ search: (old) => ({ ...old, tab: language }), replace: true, resetScroll: false })
          }
        />
      </div>
    </div>
  );
}

interface InputsProps {
  readonly prompt: MarketplacePrompt;
  readonly form: FormState;
  readonly quote: RunQuote;
  readonly running: ReturnType<typeof useRunning>;
  /** True if the form was filled from a run with images, which are not stored. */
  readonly lacksImages: boolean;
  readonly onChange: (form: FormState) => void;
}

function Inputs({ prompt: { configs: config }, form, quote, running, lacksImages, onChange }: InputsProps) {
  const { faults, failure, isSending, start } = running;
  const element = useRunKey();
  const means = useMeans(quote.hold);
  const isLacking = means !== undefined && means.lacks !== null;
  const price = quote.estimate === 0 ? "" : `for ${formatCredits(quote.estimate)}`;
  const hasFields =
    config.imageCount + Object.keys(config.textInputs).length + Object.keys(config.runOptions).length > 0;
  return (
    <form
      ref={element}
      noValidate
      aria-label="Inputs"
      onKeyDown={runKeys}
      onSubmit={(event) => {
        event.preventDefault();
        if (!isLacking) void start();
      }}
    >
      <Panel
        foot={
          <>
            <Button type="submit" tone="main" disabled={isSending || isLacking}>
              <Play aria-hidden className="size-4" strokeWidth={1.75} />
              {isSending ? "Sending" : `Run ${price}`.trim()}
              <kbd className="rounded-1 border border-current/40 px-1 text-11 max-sm:hidden">{shortcut("↵")}</kbd>
            </Button>
            <MeansNote means={means} />
          </>
        }
      >
        {failure === null ? null : (
          <div className="mb-5">
            <FaultNote fault={failure} />
          </div>
        )}
        {lacksImages ? <p className="mb-5 text-dim">The run’s images were not stored. Add them again.</p> : null}
        {hasFields ? (
          <PromptFields config={config} form={form} faults={faults} onChange={onChange} />
        ) : (
          <p className="text-dim">This prompt needs no inputs.</p>
        )}
      </Panel>
    </form>
  );
}

interface NothingRunProps {
  readonly prompt: MarketplacePrompt;
  /** Fills the form with the sample's texts; null if it has none. */
  readonly onFill: (() => void) | null;
}

/** Shows what to expect: the author's sample, or a short explanation. */
function NothingRun({ prompt: { configs: config, samples }, onFill }: NothingRunProps) {
  const isPicture = config.modality !== "text";
  const images = config.imageInputs.map(({ label }) => `“${nameIn(label)}”`).join(", ");
  const fill =
    onFill === null ? undefined : (
      <Button onClick={onFill}>{images === "" ? "Fill in the sample" : "Fill in the sample texts"}</Button>
    );
  if (samples.outputs.length > 0) {
    return (
      <Samples
        samples={samples}
        config={config}
        foot={
          <>
            {fill}
            <span>Nothing has run yet. Your result appears here.</span>
          </>
        }
      />
    );
  }
  return (
    <Panel title="Result">
      <Empty icon={isPicture ? ImageIcon : TextCursorInput} title="Nothing has run yet" action={fill}>
        Fill in the form and run it. The result appears here.
        {onFill === null || images === "" ? "" : ` Add your own image under ${images}.`}
      </Empty>
    </Panel>
  );
}

interface ResultProps {
  readonly runId: string;
  readonly prompt: MarketplacePrompt;
  /** True if the run was created on this page. */
  readonly isNew: boolean;
}

function Result({ runId, prompt, isNew }: ResultProps) {
  const run = useQuery(runQuery(runId));
  const isPicture = prompt.configs.modality !== "text";
  if (run.isLoadingError) return <QueryFailure what="The run" query={run} />;
  const { data } = run;
  const open = (
    <Link to="/runs/$runId" params={{ runId }} className={buttonClass({ small: true })}>
      Open run
    </Link>
  );
  if (data === undefined) {
    return (
      <Panel title="Result" actions={open}>
        <Loading what="the run">
          <TextShape />
        </Loading>
      </Panel>
    );
  }
  const tookMs = tookMsOf(data);
  const { held, charged } = data.receipt;
  return (
    <Panel
      title={<RunState status={data.runStatus} />}
      aside={tookMs === null ? undefined : formatDuration(tookMs)}
      actions={
        <>
          <SampleAction run={data} small />
          {open}
        </>
      }
      foot={
        <>
          <span className="tabular-nums">
            {held === null
              ? "Free"
              : tookMs === null
                ? `${countCredits(held)} held`
                : charged === 0
                  ? `Free, ${countCredits(held)} released`
                  : `Charged ${formatWhole(charged)} of the ${countCredits(held)} held`}
          </span>
          <code className="ml-auto truncate">{data.runId}</code>
        </>
      }
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        <StaleNote query={run} />
        <RunResult run={data} isPicture={isPicture} isNew={isNew} />
      </div>
    </Panel>
  );
}
