/** Runs one set of inputs on two models or versions and shows time and price side by side. */
import type { PromptConfig } from "@promptd/contract";
import type { ManagedRun, OwnPrompt } from "@promptd/contract/manage";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { manage, modelsQuery, ownVersionsQuery, runQuery } from "../../api.ts";
import { formatCredits, formatDuration, tookMsOf } from "../../components/format.ts";
import { QueryFailure } from "../../components/query-states.tsx";
import { TextShape } from "../../components/run/output-view.tsx";
import { RunResult } from "../../components/run/run-result.tsx";
import { RunState } from "../../components/run/run-state.tsx";
import { SampleAction } from "../../components/run/sample-action.tsx";
import { StaleNote } from "../../components/run/stale-note.tsx";
import { buttonClass } from "../../components/ui/button.tsx";
import { Select } from "../../components/ui/field.tsx";
import { Loading } from "../../components/ui/skeleton.tsx";
import type { Other, Trial } from "./test-run.ts";

interface CompareChoiceProps {
  readonly prompt: OwnPrompt;
  readonly config: PromptConfig;
  readonly trial: Trial;
}

const valueOf = (other: Other | null) =>
  other === null ? "" : "model" in other ? `model ${other.model}` : `version ${other.promptVersionId}`;

function otherOf(value: string): Other | null {
  const [kind, name = ""] = value.split(" ");
  if (kind === "model") return { model: name };
  return kind === "version" ? { promptVersionId: name } : null;
}

/** Enabled models with the draft's modality, other than its own. */
function useOtherModels({ model, modality }: PromptConfig) {
  const { data: known } = useQuery(modelsQuery);
  return known?.models.filter((row) => row.enabled && row.modality === modality && row.model !== model) ?? [];
}

/** The chosen comparison. Also null if it is no longer offered. */
export function useOther({ other }: Trial, config: PromptConfig): Other | null {
  const models = useOtherModels(config);
  if (other === null || !("model" in other)) return other;
  return models.some(({ model }) => model === other.model) ? other : null;
}

/** Offers versions, newest first, and models. */
export function CompareChoice({ prompt, config, trial }: CompareChoiceProps) {
  const versions = useVersions(prompt);
  const models = useOtherModels(config);
  const other = useOther(trial, config);
  if (versions.length + models.length === 0) return null;
  return (
    <label className="inline-flex min-w-0 items-center gap-2">
      <span className="whitespace-nowrap text-dim">Compare with</span>
      <Select
        aria-label="Compare with"
        className="w-44"
        value={valueOf(other)}
        onChange={({ target }) => trial.setOther(otherOf(target.value))}
      >
        <option value="">Nothing</option>
        {versions.length === 0 ? null : (
          <optgroup label="Published versions">
            {versions.map(({ promptVersionId, version, isLatest }) => (
              <option key={promptVersionId} value={valueOf({ promptVersionId })}>
                Version {version}
                {isLatest ? " (latest)" : ""}
              </option>
            ))}
          </optgroup>
        )}
        {models.length === 0 ? null : (
          <optgroup label="The draft with another model">
            {models.map((row) => (
              <option key={row.model} value={valueOf({ model: row.model })}>
                {row.model}
              </option>
            ))}
          </optgroup>
        )}
      </Select>
    </label>
  );
}

function useVersions({ promptId, latest }: OwnPrompt) {
  const versions = useInfiniteQuery({ ...ownVersionsQuery(promptId), enabled: latest !== null });
  return versions.data?.pages.flatMap(({ rows }) => rows) ?? [];
}

interface ResultsProps {
  readonly prompt: OwnPrompt;
  readonly runId: string;
  /** The run to compare with; null if there is none. */
  readonly beside: string | null;
}

/** Two columns if they fit, otherwise stacked. */
export function Results({ prompt, runId, beside }: ResultsProps) {
  if (beside === null) return <Result key={runId} {...{ prompt, runId }} title={null} />;
  return (
    <div
      role="group"
      aria-label="Comparison of two runs"
      className="grid grid-cols-[minmax(0,1fr)] divide-y divide-line @xl:grid-cols-[minmax(0,1fr)_minmax(0,1fr)] @xl:divide-x @xl:divide-y-0"
    >
      <Result key={runId} {...{ prompt, runId }} title="Draft" />
      <Result key={beside} {...{ prompt, runId: beside }} title="Other" />
    </div>
  );
}

interface ResultProps {
  readonly prompt: OwnPrompt;
  readonly runId: string;
  /** Null if the result is alone. "Other" is titled by its model or version. */
  readonly title: "Draft" | "Other" | null;
}

function Result({ prompt, runId, title }: ResultProps) {
  const run = useQuery(runQuery(runId));
  const version = useVersions(prompt).find((row) => row.promptVersionId === run.data?.promptVersionId);
  const price = usePrice(prompt.promptId, run.data) ?? version?.estimatedCredits ?? null;
  if (run.isLoadingError) {
    return (
      <div className="p-4">
        <QueryFailure what="The run" query={run} />
      </div>
    );
  }
  if (run.data === undefined) {
    return (
      <div className="p-4">
        <Loading what="the run">
          <TextShape />
        </Loading>
      </div>
    );
  }
  const { runStatus, outputs, model, isTest } = run.data;
  const other = isTest ? model : version === undefined ? "Older version" : `Version ${version.version}`;
  const heading = title === "Other" ? other : title;
  return (
    <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] content-start gap-4 p-4">
      <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-1">
        <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          {heading === null ? null : <h3 className="[overflow-wrap:anywhere]">{heading}</h3>}
          <RunState status={runStatus} />
          {heading === null || heading === model ? null : <code className="text-12 text-dim">{model}</code>}
        </div>
        <div className="flex flex-wrap justify-end gap-2">
          <SampleAction run={run.data} small />
          <Link to="/runs/$runId" params={{ runId }} className={buttonClass({ small: true })}>
            Open run
          </Link>
        </div>
        <p className="col-span-2 text-12 text-dim tabular-nums">{costOf(run.data, price)}</p>
      </div>
      <StaleNote query={run} />
      <RunResult run={run.data} isPicture={outputs.some(({ type }) => type !== "text")} />
    </div>
  );
}

/** What callers would typically pay for a draft's run. Null if not known yet, or if the run is not of a draft. */
function usePrice(promptId: string, run: ManagedRun | undefined): number | null {
  const runId = run?.runId ?? "";
  const { data } = useQuery({
    queryKey: ["test-run", runId, "price"],
    queryFn: ({ signal }) => manage.send("getTestRun", { params: { promptId, runId }, signal }),
    enabled: run?.isTest === true,
    staleTime: Infinity,
  });
  return data?.price.typical ?? null;
}

/** Time and price. If authors run their own prompts for free, shows what callers would pay. */
function costOf(run: ManagedRun, price: number | null): string {
  const tookMs = tookMsOf(run);
  const paid = run.receipt.charged > 0 ? formatCredits(run.receipt.charged) : null;
  const others = price === null ? null : price === 0 ? "free" : `callers pay about ${formatCredits(price)}`;
  return [tookMs === null ? null : formatDuration(tookMs), paid ?? others].filter((word) => word !== null).join(" · ");
}
