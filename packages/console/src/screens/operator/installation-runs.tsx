import { ID_FORM, RUN_STATUSES } from "@promptd/contract";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { ListTree, X } from "lucide-react";
import { formatWhole } from "../../components/format.ts";
import { ListPanel } from "../../components/list-panel.tsx";
import { InstallationRunTable } from "../../components/run/run-table.tsx";
import { TIME_WORDS, TimeEnds, TimeSelect } from "../../components/run/time-filter.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/empty.tsx";
import { Select } from "../../components/ui/field.tsx";
import { toast } from "../../components/ui/toast.tsx";
import type { InstallationRunsSearch } from "../../search.ts";
import type { Time } from "../../time-span.ts";
import { causeWords } from "./cause-words.ts";
import { installationRunsQuery } from "./queries.ts";
import { SearchBox } from "./search-box.tsx";

const NOTHING: InstallationRunsSearch = {
  id: undefined,
  status: undefined,
  cause: undefined,
  model: undefined,
  accountId: undefined,
  time: undefined,
  since: undefined,
  until: undefined,
};

/** Runs of all accounts. An id finds a run of any age; other filters cover the last day, or the chosen time. */
export function InstallationRunsSection() {
  const search = useSearch({ from: "/inside/operator/runs" });
  const navigate = useNavigate({ from: "/operator/runs" });
  const change = (next: InstallationRunsSearch) =>
    void navigate({ search: (old) => ({ ...old, ...next }), replace: true });
  const find = (text: string | undefined) => {
    if (text !== undefined && !ID_FORM.test(text))
      toast("An ID looks like 019a2b10-7a44-7e90-8b1d-5c2f9e7d3b18.", { isBad: true });
    else change({ ...NOTHING, id: text?.toLowerCase() });
  };
  return (
    <>
      <SearchBox label="Run ID or request ID" value={search.id} onSearch={find}>
        <Select
          aria-label="Status"
          className="w-36"
          value={search.status ?? ""}
          onChange={({ target }) => change({ status: RUN_STATUSES.find((status) => status === target.value) })}
        >
          <option value="">Any status</option>
          {RUN_STATUSES.map((status) => (
            <option key={status}>{status}</option>
          ))}
        </Select>
        <TimeSelect
          search={search}
          className="w-36"
          usual="24h"
          onChange={(next) => change({ ...next, id: undefined })}
        />
        <Chip label="Cause" value={search.cause} onClear={() => change({ cause: undefined })} />
        <Chip label="Model" value={search.model} onClear={() => change({ model: undefined })} />
        <Chip label="Account" value={search.accountId} onClear={() => change({ accountId: undefined })} />
        <TimeEnds search={search} onChange={change} />
      </SearchBox>
      <Found search={search} onClear={() => change(NOTHING)} />
    </>
  );
}

interface ChipProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onClear: () => void;
}

function Chip({ label, value, onClear }: ChipProps) {
  if (value === undefined) return null;
  return (
    <Button aria-label={`Clear ${label.toLowerCase()} ${value}`} onClick={onClear}>
      <span className="max-w-48 truncate">
        {label}: {value}
      </span>
      <X aria-hidden className="size-3.5" strokeWidth={1.75} />
    </Button>
  );
}

function inWords(time: Time = "24h"): string {
  return time === "between" ? "from this time" : `from the ${TIME_WORDS[time].toLowerCase()}`;
}

function Found({ search, onClear }: { readonly search: InstallationRunsSearch; readonly onClear: () => void }) {
  const { time, since, until, ...filter } = search;
  // An ID has its own time.
  const runs = useInfiniteQuery(installationRunsQuery(filter, search.id === undefined ? { time, since, until } : {}));
  const span = search.id === undefined ? inWords(time) : "with this ID";
  const empty = (
    <Empty icon={ListTree} title={`No runs ${span} match`} action={<Button onClick={onClear}>Clear filters</Button>}>
      Search by run ID or request ID to find a run of any age.
    </Empty>
  );
  return (
    <ListPanel
      list={runs}
      what="The runs"
      shapes={8}
      empty={empty}
      note={(rows) => `${formatWhole(rows)} shown ${span}, newest first`}
    >
      {(rows) => <InstallationRunTable rows={rows} causeWords={causeWords} />}
    </ListPanel>
  );
}
