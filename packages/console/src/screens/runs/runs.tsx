import { RUN_STATUSES } from "@promptd/contract";
import type { ManagedRunRow } from "@promptd/contract/manage";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Download, ListTree, X } from "lucide-react";
import { memo } from "react";
import { download, keysQuery, runsQuery } from "../../api.ts";
import { runWithToast } from "../../components/run-with-toast.ts";
import { formatDuration, formatTime, formatWhole, tookMsOf } from "../../components/format.ts";
import { ListPanel } from "../../components/list-panel.tsx";
import { Page } from "../../components/shell/page.tsx";
import { saveFile } from "../../components/save-file.ts";
import { RunState } from "../../components/run/run-state.tsx";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/empty.tsx";
import { SearchInput, Segments, Select } from "../../components/ui/field.tsx";
import { Table, Td } from "../../components/ui/table.tsx";
import type { RunsSearch } from "../../search.ts";

export function RunsScreen() {
  const search = useSearch({ from: "/inside/runs" });
  const navigate = useNavigate({ from: "/runs" });
  const change = (next: RunsSearch) =>
    void navigate({ search: (old) => ({ ...old, ...next }), replace: true, resetScroll: false });
  return (
    <Page title="Runs" actions={<Export search={search} />}>
      <div className="flex flex-wrap items-center gap-2">
        <div className="w-full sm:w-104">
          <Segments
            label="Status"
            value={search.status ?? ""}
            options={[
              { value: "", label: "All" },
              ...RUN_STATUSES.map((value) => ({ value, label: value.charAt(0).toUpperCase() + value.slice(1) })),
            ]}
            onChange={(value) => change({ status: RUN_STATUSES.find((status) => status === value) })}
          />
        </div>
        <div className="w-full sm:w-48">
          <SearchInput
            label="Words of an error"
            defaultValue={search.q ?? ""}
            onKeyDown={(event) => {
              if (event.key !== "Enter") return;
              const words = event.currentTarget.value.trim();
              change({ q: words === "" ? undefined : words });
            }}
          />
        </div>
        <KeySelect search={search} onChange={change} />
        <ModelSelect search={search} onChange={change} />
      </div>
      <Rows search={search} onChange={change} />
    </Page>
  );
}

const FORMATS = [
  { format: "csv", name: "CSV" },
  { format: "jsonl", name: "JSON" },
] as const;

/** What the server is asked for; of what is not chosen nothing. */
function queryOf({ status, q, keyId, model }: RunsSearch) {
  return {
    ...(status === undefined ? {} : { status }),
    ...(q === undefined ? {} : { error: q }),
    ...(keyId === undefined ? {} : { keyId }),
    ...(model === undefined ? {} : { model }),
  };
}

const chosenOf = (value: string) => (value === "" ? undefined : value);

function KeySelect({ search: { keyId = "" }, onChange }: RowsProps) {
  const { data } = useInfiniteQuery(keysQuery);
  const keys = data?.pages.flatMap(({ rows }) => rows) ?? [];
  return (
    <Select
      aria-label="Key"
      className="w-32"
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

/** Models of the runs that are shown, and the chosen one. */
function ModelSelect({ search, onChange }: RowsProps) {
  const { data } = useInfiniteQuery(runsQuery(queryOf(search)));
  const shown = data?.pages.flatMap(({ rows }) => rows.map(({ model }) => model)) ?? [];
  return (
    <Select
      aria-label="Model"
      className="w-36"
      value={search.model ?? ""}
      onChange={(event) => onChange({ model: chosenOf(event.target.value) })}
    >
      <option value="">Any model</option>
      {[...new Set([...(search.model === undefined ? [] : [search.model]), ...shown])].toSorted().map((model) => (
        <option key={model}>{model}</option>
      ))}
    </Select>
  );
}

/** All runs that the filters let through, not only those that are shown. */
function Export({ search }: Pick<RowsProps, "search">) {
  const save = (format: "csv" | "jsonl") =>
    runWithToast(async () => {
      const query = new URLSearchParams({ format, ...queryOf(search) });
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

interface RowsProps {
  readonly search: RunsSearch;
  readonly onChange: (next: RunsSearch) => void;
}

function Rows({ search, onChange }: RowsProps) {
  const query = queryOf(search);
  const runs = useInfiniteQuery(runsQuery(query));
  const isFiltered = Object.keys(query).length > 0;
  return (
    <ListPanel
      list={runs}
      what="The runs"
      shapes={8}
      empty={isFiltered ? <NothingFound onChange={onChange} /> : <NothingYet />}
    >
      {(rows) => (
        <Table
          label="Runs"
          columns={[
            "Status",
            { label: "Prompt", fill: true },
            { label: "Model", from: "xl" },
            { label: "Took", num: true, from: "sm" },
            { label: "Credits", num: true },
            { label: "Created", num: true },
          ]}
        >
          {rows.map((row) => (
            <Row key={row.runId} row={row} created={formatTime(row.createdAt)} />
          ))}
        </Table>
      )}
    </ListPanel>
  );
}

interface RowProps {
  readonly row: ManagedRunRow;
  /** As it is said now: what changes with time is no part of the row. */
  readonly created: string;
}

/** Made once: of hundreds that are shown only the new ones cost anything when there are more. */
const Row = memo(function Row({ row, created }: RowProps) {
  const tookMs = tookMsOf(row);
  return (
    <tr className="hover:bg-hover">
      <Td>
        <RunState status={row.runStatus} />
      </Td>
      <Td fill>
        <Link
          to="/runs/$runId"
          params={{ runId: row.runId }}
          className="font-medium hover:underline hover:underline-offset-3"
          title={row.title}
        >
          {row.title}
        </Link>
        {row.batch === null ? null : (
          <span className="pl-2 text-12 text-dim" title={`Run of the batch ${row.batch.name ?? row.batch.batchId}`}>
            Batch {row.batch.name}
          </span>
        )}
        {row.error === null ? null : (
          <span className="text-bad max-sm:block max-sm:truncate sm:pl-3" title={row.error}>
            {row.error}
          </span>
        )}
      </Td>
      <Td from="xl">
        <code className="text-12 text-dim">{row.model}</code>
      </Td>
      <Td num from="sm">
        {tookMs === null ? "" : formatDuration(tookMs)}
      </Td>
      <Td num>{row.credits === null ? "free" : formatWhole(row.credits)}</Td>
      <Td num>
        <time dateTime={row.createdAt} title={row.createdAt}>
          {created}
        </time>
      </Td>
    </tr>
  );
});

function NothingFound({ onChange }: Pick<RowsProps, "onChange">) {
  return (
    <Empty
      icon={ListTree}
      title="No runs match these filters"
      action={
        <Button onClick={() => onChange({ status: undefined, q: undefined, keyId: undefined, model: undefined })}>
          <X aria-hidden className="size-4" strokeWidth={1.75} />
          Clear the filters
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
