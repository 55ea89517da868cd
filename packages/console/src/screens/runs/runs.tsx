import { ID_FORM, RUN_STATUSES } from "@promptd/contract";
import type { ManagedRunRow, Page as PageOfRows } from "@promptd/contract/manage";
import { useInfiniteQuery, type InfiniteData } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Download, ListTree, X } from "lucide-react";
import { download, isFinal, keysQuery, runsQuery } from "../../api.ts";
import { formatWhole } from "../../components/format.ts";
import { runWithToast } from "../../components/run-with-toast.ts";
import { hasNothing, ListPanel } from "../../components/list-panel.tsx";
import { Page } from "../../components/shell/page.tsx";
import { saveFile } from "../../components/save-file.ts";
import { RunTable } from "../../components/run/run-table.tsx";
import { runWord } from "../../components/run/run-state.tsx";
import { TimeEnds, TimeSelect } from "../../components/run/time-filter.tsx";
import { Status } from "../../components/ui/badge.tsx";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/empty.tsx";
import { SearchForm, Select } from "../../components/ui/field.tsx";
import type { RunsSearch } from "../../search.ts";
import { spanOf, type TimeSearch } from "../../time-span.ts";

export function RunsScreen() {
  const search = useSearch({ from: "/inside/runs" });
  const navigate = useNavigate({ from: "/runs" });
  const change = (next: RunsSearch) =>
    void navigate({ search: (old) => ({ ...old, ...next }), replace: true, resetScroll: false });
  const query = queryOf(search);
  const runs = useInfiniteQuery(runsQuery(query, timeOf(search)));
  const isFiltered = search.time !== undefined || Object.keys(query).length > 0;
  return (
    <Page
      title="Runs"
      actions={
        hasNothing(runs) ? undefined : (
          <>
            <LiveCount data={runs.data} />
            <Export search={search} />
          </>
        )
      }
    >
      {hasNothing(runs) && !isFiltered ? null : <Filters search={search} onChange={change} data={runs.data} />}
      <ListPanel
        list={runs}
        what="The runs"
        shapes={8}
        empty={isFiltered ? <NothingFound search={search} onChange={change} /> : <NothingYet />}
      >
        {(rows) => <RunTable rows={rows} />}
      </ListPanel>
    </Page>
  );
}

/** Counts the runs shown that are not final. The list follows them. */
function LiveCount({ data }: Pick<FiltersProps, "data">) {
  const live = data?.pages.flatMap(({ rows }) => rows).filter(({ runStatus }) => !isFinal(runStatus)).length ?? 0;
  return (
    <span role="status" className="text-12">
      {live === 0 ? null : <Status tone="live">{formatWhole(live)} not finished</Status>}
    </span>
  );
}

interface FiltersProps {
  readonly search: RunsSearch;
  readonly onChange: (next: RunsSearch) => void;
  /** The runs shown. The keys load after them. */
  readonly data: InfiniteData<PageOfRows<ManagedRunRow>> | undefined;
}

function Filters({ search, onChange, data }: FiltersProps) {
  const rows = data?.pages.flatMap((page) => page.rows) ?? [];
  return (
    <div className="flex flex-wrap items-center gap-2 max-sm:grid max-sm:grid-cols-6">
      <SearchForm
        label="Error or request ID"
        value={search.q}
        className="max-sm:col-span-6 sm:min-w-48 sm:flex-1"
        onSearch={(q) => onChange({ q })}
      />
      <TimeSelect search={search} className="max-sm:col-span-3 sm:w-32" usual={null} onChange={onChange} />
      <PromptSelect chosen={search.promptId} rows={rows} onChange={onChange} />
      <Select
        aria-label="Status"
        className="max-sm:col-span-2 sm:w-28"
        value={search.status ?? ""}
        onChange={({ target }) => onChange({ status: RUN_STATUSES.find((status) => status === target.value) })}
      >
        <option value="">Any status</option>
        {RUN_STATUSES.map((status) => (
          <option key={status} value={status}>
            {runWord(status)}
          </option>
        ))}
      </Select>
      <KeySelect keyId={search.keyId ?? ""} isNeeded={data !== undefined} onChange={onChange} />
      <ModelSelect chosen={search.model} rows={rows} onChange={onChange} />
      <TimeEnds search={search} onChange={onChange} />
    </div>
  );
}

const FORMATS = [
  { format: "csv", name: "CSV" },
  { format: "jsonl", name: "JSON" },
] as const;

/** The query for the server. It omits filters that are not set. */
function queryOf({ status, q, promptId, keyId, model }: RunsSearch) {
  return {
    ...(status === undefined ? {} : { status }),
    ...(q === undefined ? {} : ID_FORM.test(q) ? { requestId: q.toLowerCase() } : { error: q }),
    ...(promptId === undefined ? {} : { promptId }),
    ...(keyId === undefined ? {} : { keyId }),
    ...(model === undefined ? {} : { model }),
  };
}

const timeOf = ({ time, since, until }: RunsSearch): TimeSearch => ({ time, since, until });

const chosenOf = (value: string) => (value === "" ? undefined : value);

interface KeySelectProps extends Pick<FiltersProps, "onChange"> {
  readonly keyId: string;
  readonly isNeeded: boolean;
}

function KeySelect({ keyId, isNeeded, onChange }: KeySelectProps) {
  const { data } = useInfiniteQuery({ ...keysQuery("with"), enabled: isNeeded });
  const keys = data?.pages.flatMap(({ rows }) => rows) ?? [];
  return (
    <Select
      aria-label="Key"
      className="max-sm:col-span-2 sm:w-28 2xl:w-40"
      value={keyId}
      onChange={(event) => onChange({ keyId: chosenOf(event.target.value) })}
    >
      <option value="">Any key</option>
      {keys.map((key) => (
        <option key={key.keyId} value={key.keyId}>
          {key.name}
        </option>
      ))}
      {keyId === "" || keys.some((key) => key.keyId === keyId) ? null : <option value={keyId}>Another key</option>}
    </Select>
  );
}

interface ShownSelectProps extends Pick<FiltersProps, "onChange"> {
  readonly chosen: string | undefined;
  readonly rows: readonly ManagedRunRow[];
}

/** Prompts of the runs shown, and the chosen prompt. */
function PromptSelect({ chosen, rows, onChange }: ShownSelectProps) {
  const titles = new Map(rows.map(({ promptId, title }) => [promptId, title]));
  if (chosen !== undefined && !titles.has(chosen)) titles.set(chosen, "Another prompt");
  return (
    <Select
      aria-label="Prompt"
      className="max-sm:col-span-3 sm:w-32 2xl:w-40"
      value={chosen ?? ""}
      onChange={(event) => onChange({ promptId: chosenOf(event.target.value) })}
    >
      <option value="">Any prompt</option>
      {[...titles]
        .toSorted(([, a], [, b]) => a.localeCompare(b))
        .map(([promptId, title]) => (
          <option key={promptId} value={promptId}>
            {title}
          </option>
        ))}
    </Select>
  );
}

/** Models of the runs shown, and the chosen model. */
function ModelSelect({ chosen, rows, onChange }: ShownSelectProps) {
  const models = rows.map(({ model }) => model);
  return (
    <Select
      aria-label="Model"
      className="max-sm:col-span-2 sm:w-28 2xl:w-40"
      value={chosen ?? ""}
      onChange={(event) => onChange({ model: chosenOf(event.target.value) })}
    >
      <option value="">Any model</option>
      {[...new Set([...(chosen === undefined ? [] : [chosen]), ...models])].toSorted().map((model) => (
        <option key={model}>{model}</option>
      ))}
    </Select>
  );
}

/** Exports all runs that match the filters, not only those shown. */
function Export({ search }: Pick<FiltersProps, "search">) {
  const save = (format: "csv" | "jsonl") =>
    runWithToast(async () => {
      const span = Object.entries(spanOf(timeOf(search), Date.now())).map(([end, ms]) => [end, String(ms)]);
      const query = new URLSearchParams({ format, ...queryOf(search), ...Object.fromEntries(span) });
      saveFile(`runs.${format}`, await download(`/manage/v1/runs/export?${query}`));
    }, "File saved");
  return (
    <>
      {FORMATS.map(({ format, name }) => (
        <Button key={format} aria-label={`Export as ${name}`} onClick={() => void save(format)}>
          <Download aria-hidden className="size-4" strokeWidth={1.75} />
          {name}
        </Button>
      ))}
    </>
  );
}

const NO_FILTERS: RunsSearch = {
  status: undefined,
  q: undefined,
  promptId: undefined,
  keyId: undefined,
  model: undefined,
  time: undefined,
  since: undefined,
  until: undefined,
};

function NothingFound({ search, onChange }: Pick<FiltersProps, "search" | "onChange">) {
  const { q } = search;
  if (q !== undefined && ID_FORM.test(q)) {
    return (
      <Empty
        icon={ListTree}
        title="No run was created by this request"
        action={
          <Link to="/runs/$runId" params={{ runId: q.toLowerCase() }} className={buttonClass()}>
            Open run
          </Link>
        }
      >
        If this is the ID of a run, open the run.
      </Empty>
    );
  }
  return (
    <Empty
      icon={ListTree}
      title="No runs match these filters"
      action={
        <Button onClick={() => onChange(NO_FILTERS)}>
          <X aria-hidden className="size-4" strokeWidth={1.75} />
          Clear filters
        </Button>
      }
    />
  );
}

function NothingYet() {
  return (
    <Empty
      icon={ListTree}
      title="No runs yet"
      action={
        <Link to="/" className={buttonClass()}>
          Find a prompt
        </Link>
      }
    >
      All runs appear here with their output and cost, whether you start them in the console or from code.
    </Empty>
  );
}
