/** The account's prompts: their state and their usage. */
import type { OwnPromptRow, PromptState } from "@promptd/contract/manage";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { SearchX, SquarePen } from "lucide-react";
import { ownPromptsQuery } from "../../api.ts";
import { formatCredits, formatDay, formatTime, formatWhole } from "../../components/format.ts";
import { hasNothing, ListPanel } from "../../components/list-panel.tsx";
import { Page } from "../../components/shell/page.tsx";
import { Badge, type StateTone } from "../../components/ui/badge.tsx";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/empty.tsx";
import { SearchInput, Segments } from "../../components/ui/field.tsx";
import { Table, Td } from "../../components/ui/table.tsx";
import { useAuthorShare } from "../../components/prompt/use-author-share.ts";
import { useTyped } from "../../components/use-typed.ts";
import type { AuthorSearch } from "../../search.ts";

const STATES = ["draft", "published", "unpublished", "blocked"] as const;
const WORDS: Readonly<Record<PromptState, { readonly word: string; readonly tone: StateTone }>> = {
  draft: { word: "Draft", tone: "neutral" },
  published: { word: "Published", tone: "ok" },
  unpublished: { word: "Unpublished", tone: "neutral" },
  blocked: { word: "Blocked", tone: "bad" },
};

export function AuthorScreen() {
  const search = useSearch({ from: "/inside/author" });
  const navigate = useNavigate({ from: "/author" });
  const change = (next: AuthorSearch) =>
    void navigate({ search: (old) => ({ ...old, ...next }), replace: true, resetScroll: false });
  const [words, setWords] = useTyped(search.q ?? "", (q) => change({ q: q === "" ? undefined : q }));
  const { q, state } = search;
  const prompts = useInfiniteQuery(
    ownPromptsQuery({ ...(q === undefined ? {} : { q }), ...(state === undefined ? {} : { state }) }),
  );
  const isFiltered = q !== undefined || state !== undefined;
  return (
    <Page
      title="My prompts"
      actions={
        <Link to="/author/new" className={buttonClass({ tone: "main" })}>
          New prompt
        </Link>
      }
    >
      {hasNothing(prompts) && !isFiltered ? null : (
        <div className="flex flex-wrap items-center gap-2">
          <div className="w-full sm:w-auto">
            <Segments
              label="State"
              value={state ?? ""}
              options={[{ value: "", label: "All" }, ...STATES.map((value) => ({ value, label: WORDS[value].word }))]}
              onChange={(value) => change({ state: STATES.find((one) => one === value) })}
            />
          </div>
          <div className="w-full sm:w-64">
            <SearchInput label="Search titles" value={words} onChange={(event) => setWords(event.target.value)} />
          </div>
        </div>
      )}
      <ListPanel
        list={prompts}
        what="Your prompts"
        empty={
          isFiltered ? <NothingFound onClear={() => change({ q: undefined, state: undefined })} /> : <NothingYet />
        }
        note={(rows) => (
          <>
            {formatWhole(rows)} shown, newest first.{" "}
            <span className="max-sm:hidden">
              Figures cover the last 30 days. “Succeeded” excludes runs that callers canceled, that the model declined,
              or whose input the model could not use.
            </span>
          </>
        )}
      >
        {(rows) => <PromptTable rows={rows} />}
      </ListPanel>
    </Page>
  );
}

function PromptTable({ rows }: { readonly rows: readonly OwnPromptRow[] }) {
  return (
    <Table
      label="My prompts"
      columns={[
        { label: "Prompt", fill: true },
        "State",
        { label: "Model", from: "xl" },
        { label: "Uses", num: true, from: "sm" },
        { label: "Succeeded", num: true, from: "sm" },
        { label: "Credits paid", num: true, from: "sm" },
        { label: "Price", num: true, from: "xl" },
        { label: "Changed", num: true, from: "xl" },
      ]}
    >
      {rows.map((row) => (
        <PromptRow key={row.promptId} row={row} />
      ))}
    </Table>
  );
}

function PromptRow({ row }: { readonly row: OwnPromptRow }) {
  const { promptId, title, state, draft, latest, last30Days, endingModels } = row;
  const { runs, credits } = last30Days;
  const changedAt = draft?.savedAt ?? latest?.publishedAt;
  const ending = endingModels.find(({ isLatest }) => isLatest);
  return (
    <tr className="hover:bg-hover">
      <Td fill>
        <Link
          to="/author/$promptId"
          params={{ promptId }}
          data-row
          className="font-medium hover:underline"
          title={title}
        >
          {title}
        </Link>
      </Td>
      <Td>
        <span className="inline-flex gap-1.5">
          <Badge tone={WORDS[state].tone}>{WORDS[state].word}</Badge>
          {latest !== null && draft !== null ? <Badge tone="live">changed</Badge> : null}
          {ending === undefined ? null : <Badge tone="warn">model retiring {formatDay(ending.retiresAt)}</Badge>}
        </span>
      </Td>
      <Td from="xl">
        {latest === null ? <span className="text-dim">none yet</span> : <code className="text-12">{latest.model}</code>}
      </Td>
      <Td num from="sm">
        {formatWhole(runs)}
      </Td>
      <Td num from="sm">
        <SuccessRate {...last30Days} />
      </Td>
      <Td num from="sm">
        {formatWhole(credits)}
      </Td>
      <Td num from="xl">
        {latest === null ? "" : formatCredits(latest.estimatedCredits)}
      </Td>
      <Td num from="xl">
        {changedAt === undefined ? "" : formatTime(changedAt)}
      </Td>
    </tr>
  );
}

/** Fewer failures may be chance. */
const FAILED_MIN = 3;

function SuccessRate({ runs, succeeded, failed }: OwnPromptRow["last30Days"]) {
  const counted = succeeded + failed;
  if (counted === 0) return <span className="text-dim">{runs === 0 ? "no runs" : "none counted"}</span>;
  const isBad = failed >= FAILED_MIN && failed * 2 >= counted;
  const isWeak = failed >= FAILED_MIN && failed * 10 >= counted;
  return (
    <span className={isBad ? "text-bad" : isWeak ? "text-warn" : undefined} title={`${formatWhole(failed)} failed`}>
      {Math.floor((succeeded / counted) * 100)}%
    </span>
  );
}

function NothingYet() {
  const share = useAuthorShare();
  return (
    <Empty
      icon={SquarePen}
      title="No prompts yet"
      action={
        <Link to="/author/new" className={buttonClass()}>
          New prompt
        </Link>
      }
    >
      A prompt is text for a model, with inputs that callers fill in. Once you publish it, others can run it from the
      marketplace or from code. {share}
    </Empty>
  );
}

function NothingFound({ onClear }: { readonly onClear: () => void }) {
  return (
    <Empty icon={SearchX} title="No prompts match" action={<Button onClick={onClear}>Show all prompts</Button>}>
      None of your prompts match this state and title.
    </Empty>
  );
}
