/** All published versions, with their changes, usage, labels, and rollback. */
import type { OwnVersionRow } from "@promptd/contract/manage";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Ellipsis, GitCompareArrows, History, Tag, Undo2, X } from "lucide-react";
import { useState } from "react";
import { diffQuery, manage, ownPromptQuery, ownVersionsQuery } from "../../api.ts";
import { runWithToast } from "../../components/run-with-toast.ts";
import { FormDialog } from "../../components/form-dialog.tsx";
import { formatCredits, formatTime, formatWhole } from "../../components/format.ts";
import { QueryFailure, ShowMore } from "../../components/query-states.tsx";
import { TextShape } from "../../components/run/output-view.tsx";
import { Badge } from "../../components/ui/badge.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/empty.tsx";
import { Field, Input, TextArea } from "../../components/ui/field.tsx";
import { Menu, MenuItem } from "../../components/ui/menu.tsx";
import { toast } from "../../components/ui/toast.tsx";
import { textOf } from "../../sign-in.ts";
import { DiffView } from "./diff-view.tsx";
import type { DraftTabProps } from "./test-run.ts";
import { savedRevision } from "./use-draft.ts";

export function HistoryTab({ prompt, draft, checked }: DraftTabProps) {
  const { from, to } = useSearch({ from: "/inside/author/$promptId" });
  const versions = useInfiniteQuery({ ...ownVersionsQuery(prompt.promptId), enabled: prompt.latest !== null });
  if (prompt.latest === null) {
    return (
      <Empty icon={History} title="No versions yet">
        Each time you publish, a version is added here. Versions never change, and you can roll back to any of them.
      </Empty>
    );
  }
  if (versions.isError && versions.data === undefined) {
    return (
      <div className="p-4">
        <QueryFailure what="The versions" query={versions} />
      </div>
    );
  }
  if (versions.data === undefined) {
    return (
      <div className="p-4">
        <TextShape />
      </div>
    );
  }
  const rows = versions.data.pages.flatMap((page) => page.rows);
  return (
    <>
      {from === undefined ? null : <Comparison {...{ prompt, draft, checked, rows, from, to }} />}
      <ol>
        {rows.map((row, index) => (
          <Version key={row.promptVersionId} {...{ row, prompt, draft }} older={rows[index + 1] ?? null} />
        ))}
      </ol>
      <div className="flex min-h-11 items-center gap-4 border-t border-line bg-bg px-4 py-2 text-12 text-dim">
        <ShowMore list={versions}>
          <span className="tabular-nums">
            {formatWhole(rows.length)} of {formatWhole(prompt.versions)}
          </span>
        </ShowMore>
      </div>
    </>
  );
}

interface VersionProps extends Pick<DraftTabProps, "prompt" | "draft"> {
  readonly row: OwnVersionRow;
  readonly older: OwnVersionRow | null;
}

function Version({ row, prompt, draft, older }: VersionProps) {
  const { version, publishedAt, publishedBy, note, isLatest, labels, model, estimatedCredits, last30Days } = row;
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-3 gap-y-1 border-b border-line px-4 py-3 last:border-b-0">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <h3 className="whitespace-nowrap">Version {version}</h3>
        {isLatest ? <Badge tone="ok">latest</Badge> : null}
        {labels.map((label) => (
          <Label key={label} promptId={prompt.promptId} label={label} />
        ))}
        {row.endingModels.length === 0 ? null : <Badge tone="warn">model retiring</Badge>}
      </div>
      <VersionActions {...{ row, prompt, draft, older }} />
      {note === null ? null : <p className="col-span-2 [overflow-wrap:anywhere]">{note}</p>}
      <p className="col-span-2 flex flex-wrap gap-x-4 text-12 text-dim tabular-nums">
        <span>
          {formatTime(publishedAt)}
          {publishedBy === null ? "" : ` by ${publishedBy}`}
        </span>
        <code>{model}</code>
        <span>{formatCredits(estimatedCredits)}</span>
        <span>
          {formatWhole(last30Days.runs)} {last30Days.runs === 1 ? "use" : "uses"} in the last 30 days
          {last30Days.failed === 0 ? "" : `, ${formatWhole(last30Days.failed)} failed`}
        </span>
      </p>
    </li>
  );
}

function useRefresh(promptId: string): () => void {
  const queries = useQueryClient();
  return () => {
    void queries.invalidateQueries({ queryKey: ownVersionsQuery(promptId).queryKey });
    void queries.invalidateQueries({ queryKey: ["own-prompts"] });
  };
}

function Label({ promptId, label }: { readonly promptId: string; readonly label: string }) {
  const refresh = useRefresh(promptId);
  const remove = () =>
    runWithToast(() => manage.send("deleteLabel", { params: { promptId, label } }).then(refresh), "Label deleted");
  return (
    <span className="inline-flex h-5 items-center gap-0.5 rounded-1 bg-press pl-1.5 text-12">
      {label}
      <button
        type="button"
        aria-label={`Delete label ${label}`}
        onClick={() => void remove()}
        className="grid size-5 place-items-center rounded-1 text-dim hover:text-ink"
      >
        <X aria-hidden className="size-3" strokeWidth={2} />
      </button>
    </span>
  );
}

function VersionActions({ row, prompt, draft, older }: VersionProps) {
  const { promptVersionId, version, isLatest } = row;
  const navigate = useNavigate({ from: "/author/$promptId" });
  const [dialog, setDialog] = useState<"roll-back" | "label" | null>(null);
  const compare = (from: string, to: string | undefined) =>
    void navigate({ search: (old) => ({ ...old, from, to }), replace: true, resetScroll: false });
  return (
    <>
      <Menu
        trigger={
          <Button tone="quiet" small square aria-label={`Actions for version ${version}`}>
            <Ellipsis aria-hidden className="size-4" strokeWidth={1.75} />
          </Button>
        }
      >
        {older === null ? null : (
          <MenuItem icon={GitCompareArrows} onClick={() => compare(older.promptVersionId, promptVersionId)}>
            Compare with version {older.version}
          </MenuItem>
        )}
        {draft.revision === 0 ? null : (
          <MenuItem icon={GitCompareArrows} onClick={() => compare(promptVersionId, undefined)}>
            Compare with the draft
          </MenuItem>
        )}
        <MenuItem icon={Tag} onClick={() => setDialog("label")}>
          Set label
        </MenuItem>
        {isLatest ? null : (
          <MenuItem icon={Undo2} onClick={() => setDialog("roll-back")}>
            Roll back to this version
          </MenuItem>
        )}
      </Menu>
      {dialog === "roll-back" ? <RollBack {...{ row, prompt, draft }} onClose={() => setDialog(null)} /> : null}
      {dialog === "label" ? <SetLabel {...{ row, prompt }} onClose={() => setDialog(null)} /> : null}
    </>
  );
}

type VersionDialogProps = Pick<VersionProps, "row" | "prompt"> & { readonly onClose: () => void };

function RollBack({ row, prompt: { promptId }, draft, onClose }: VersionDialogProps & Pick<VersionProps, "draft">) {
  const { promptVersionId, version } = row;
  const refresh = useRefresh(promptId);
  const queries = useQueryClient();
  const hasDraft = draft.revision > 0 || draft.status !== "saved";
  const rollBack = async (form: FormData) => {
    const revision = await savedRevision(draft);
    const note = textOf(form, "note").trim();
    const body = { promptVersionId, ...(note === "" ? {} : { note }) };
    const published = await manage.send("rollBackPrompt", { params: { promptId }, body });
    const next = await manage.send("getPrompt", { params: { promptId } });
    if (revision === 0) draft.load(next);
    else queries.setQueryData(ownPromptQuery(promptId).queryKey, next);
    refresh();
    toast(`Version ${published.version} published with the content of version ${version}`);
  };
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={`Roll back to version ${version}?`}
      description={`This publishes the content of version ${version} as the next version. ${hasDraft ? "Your draft does not change." : ""}`}
      submit="Roll back"
      onSubmit={rollBack}
    >
      <Field label="Note" help="Why you are rolling back, in one line. Callers see it with the version.">
        {(control) => (
          <TextArea {...control} name="note" maxLength={500} defaultValue={`Roll back to version ${version}.`} />
        )}
      </Field>
    </FormDialog>
  );
}

function SetLabel({ row: { promptVersionId, version }, prompt: { promptId }, onClose }: VersionDialogProps) {
  const refresh = useRefresh(promptId);
  const setLabel = async (form: FormData) => {
    const label = textOf(form, "label").trim();
    await manage.send("setLabel", { params: { promptId, label }, body: { promptVersionId } });
    refresh();
  };
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={`Set label on version ${version}`}
      description="Callers can request the version with this label. If another version has the label, it moves here."
      submit="Set label"
      onSubmit={setLabel}
    >
      <Field label="Label" help="For example, production. Use lowercase letters, digits, and dashes.">
        {(control) => <Input {...control} name="label" required maxLength={64} defaultValue="production" autoFocus />}
      </Field>
    </FormDialog>
  );
}

interface ComparisonProps extends DraftTabProps {
  readonly rows: readonly OwnVersionRow[];
  readonly from: string;
  /** Undefined means the draft. */
  readonly to: string | undefined;
}

function Comparison({ prompt, draft, checked, rows, from, to }: ComparisonProps) {
  const navigate = useNavigate({ from: "/author/$promptId" });
  const query = { from, ...(to === undefined ? {} : { to }) };
  const hasFaults = to === undefined && checked.faults.length > 0;
  const stamp = to === undefined ? String(draft.revision) : "";
  const diff = useQuery({ ...diffQuery(prompt.promptId, query, stamp), enabled: !hasFaults });
  const nameOf = (id: string | undefined) => {
    if (id === undefined) return "the draft";
    const row = rows.find(({ promptVersionId }) => promptVersionId === id);
    return row === undefined ? "an older version" : `version ${row.version}`;
  };
  const close = () =>
    void navigate({
      search: (old) => ({ ...old, from: undefined, to: undefined }),
      replace: true,
      resetScroll: false,
    });
  return (
    <section aria-label="Comparison" className="grid grid-cols-[minmax(0,1fr)] gap-3 border-b border-line bg-bg p-4">
      <div className="flex items-center justify-between gap-3">
        <h3>
          From {nameOf(from)} to {nameOf(to)}
        </h3>
        <Button small onClick={close}>
          Close
        </Button>
      </div>
      {hasFaults ? (
        <p className="text-dim">The draft has errors. Fix them to compare it.</p>
      ) : diff.isError ? (
        <QueryFailure what="The comparison" query={diff} />
      ) : diff.data === undefined ? (
        <TextShape />
      ) : (
        <DiffView diff={diff.data} />
      )}
    </section>
  );
}
