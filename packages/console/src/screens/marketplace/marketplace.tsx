import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Clapperboard, Image, Search, SearchX, Type, X } from "lucide-react";
import { useDeferredValue, useEffect, useMemo, useRef } from "react";
import type { MarketplaceRow } from "@promptd/contract/manage";
import { browseOf, marketplacePages } from "../../api.ts";
import { formatWhole } from "../../components/format.ts";
import { Page } from "../../components/shell/page.tsx";
import { moreLabel, QueryFailure, type GrowingList } from "../../components/query-states.tsx";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { cx } from "../../components/ui/class-names.ts";
import { Empty } from "../../components/ui/empty.tsx";
import { Select } from "../../components/ui/field.tsx";
import { Loading, Skeleton } from "../../components/ui/skeleton.tsx";
import { useTyped } from "../../components/use-typed.ts";
import type { MarketplaceSearch } from "../../search.ts";
import { Greeting } from "./greeting.tsx";
import { PromptCard } from "./prompt-card.tsx";

const CHARACTERS_MAX = 200;

export function MarketplaceScreen() {
  const search = useSearch({ from: "/inside/" });
  const navigate = useNavigate({ from: "/" });
  const change = (next: MarketplaceSearch) =>
    void navigate({ search: (old) => ({ ...old, ...next }), replace: true, resetScroll: false });
  return (
    <Page title="Marketplace" hasHead={false}>
      <Greeting />
      <SearchField value={search.q ?? ""} onChange={(q) => change({ q: q === "" ? undefined : q })} />
      <Results search={search} onChange={change} />
    </Page>
  );
}

interface SearchFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function SearchField({ value, onChange }: SearchFieldProps) {
  const [text, setText] = useTyped(value, onChange);
  return (
    <div role="search" className="relative">
      <Search
        aria-hidden
        strokeWidth={1.75}
        className="pointer-events-none absolute top-1/2 left-3.5 size-4 -translate-y-1/2 text-dim"
      />
      <input
        type="search"
        aria-label="Search prompts"
        placeholder="What do you need? A logo, a wedding toast"
        autoFocus
        autoComplete="off"
        maxLength={CHARACTERS_MAX}
        value={text}
        onChange={(event) => setText(event.target.value)}
        className="h-11 w-full rounded-3 border border-edge bg-panel pr-4 pl-10 text-14 shadow-1 focus-visible:border-accent focus-visible:outline-2 focus-visible:outline-offset-0 focus-visible:outline-accent-soft"
      />
    </div>
  );
}

interface ResultsProps {
  readonly search: MarketplaceSearch;
  readonly onChange: (next: MarketplaceSearch) => void;
}

function Results({ search, onChange }: ResultsProps) {
  const results = useInfiniteQuery({ ...marketplacePages(browseOf(search)), placeholderData: keepPreviousData });
  const pages = useDeferredValue(results.data?.pages);
  // A prompt may move between pages while they load, so duplicates are dropped.
  const rows = useMemo(() => {
    const all = pages?.flatMap((page) => page.rows) ?? [];
    return [...new Map(all.map((row) => [row.promptId, row])).values()];
  }, [pages]);
  if (results.isError && results.data === undefined) return <QueryFailure what="The prompts" query={results} />;
  if (pages === undefined) return <CardShapes />;
  const words = rows.length === 1 ? "1 prompt" : `${formatWhole(rows.length)} prompts`;
  const isUnused = search.q === undefined && search.sort === undefined && rows[0]?.uses === 0;
  // Counting all prompts would cost more than the page itself.
  const count = `${results.hasNextPage ? `More than ${words}` : words}${isUnused ? ", none used yet" : ""}`;
  const isEmpty = rows.length === 0 && search.q === undefined && !isFiltered(search);
  return (
    <>
      {isEmpty ? null : <Filters rows={rows} count={count} search={search} onChange={onChange} />}
      {rows.length === 0 ? (
        <NothingFound search={search} onChange={onChange} />
      ) : (
        <ul
          aria-label="Prompts"
          className={cx(GRID, results.isPlaceholderData && "opacity-60 transition-opacity delay-150")}
        >
          {rows.map((row) => (
            <PromptCard key={row.promptId} row={row} />
          ))}
        </ul>
      )}
      <More list={results} />
    </>
  );
}

/** Loads the next page when its button scrolls near. The button is for people who do not scroll. */
function More({ list }: { readonly list: GrowingList }) {
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // A failed page is retried only by hand, or it would be requested forever.
    if (button.current === null || isFetchingNextPage || isFetchNextPageError) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting === true) void fetchNextPage();
      },
      { rootMargin: "600px" },
    );
    observer.observe(button.current);
    return () => observer.disconnect();
  }, [isFetchingNextPage, isFetchNextPageError, fetchNextPage, hasNextPage]);
  if (!hasNextPage) return null;
  return (
    <Button
      ref={button}
      className="justify-self-center"
      disabled={isFetchingNextPage}
      onClick={() => void fetchNextPage()}
    >
      {moreLabel(list)}
    </Button>
  );
}

const GRID =
  "grid grid-cols-[minmax(0,1fr)] gap-x-4 gap-y-4 sm:grid-cols-[repeat(auto-fill,minmax(240px,1fr))] sm:gap-y-7";
const TAGS_MAX = 8;

/** The most common tags of the shown prompts, and the chosen tag. */
function tagsOf(rows: readonly MarketplaceRow[], chosen: string | undefined): string[] {
  const counts = new Map<string, number>();
  for (const { tags } of rows) for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  const common = [...counts].sort(([, a], [, b]) => b - a).map(([tag]) => tag);
  const rest = common.filter((tag) => tag !== chosen).slice(0, TAGS_MAX - 1);
  return chosen === undefined ? rest : [chosen, ...rest];
}

const SORTS = ["popular", "newest", "price", "featured"] as const;
const MODALITIES = [
  { value: "text", label: "Text", icon: Type },
  { value: "image", label: "Image", icon: Image },
  { value: "video", label: "Video", icon: Clapperboard },
] as const;

interface FiltersProps extends ResultsProps {
  readonly rows: readonly MarketplaceRow[];
  /** How many prompts are shown, and whether there are more. */
  readonly count: string;
}

function Filters({ rows, count, search, onChange }: FiltersProps) {
  const models = useMemo(() => [...new Set(rows.map(({ configs }) => configs.model))].sort(), [rows]);
  const chip = (isOn: boolean) =>
    cx(
      "inline-flex h-8 items-center gap-1.5 rounded-2 border px-2.5 whitespace-nowrap",
      isOn ? "border-transparent bg-accent-soft font-medium text-accent" : "border-edge bg-panel hover:bg-hover",
    );
  return (
    <div className="-mt-2 flex flex-wrap items-center gap-2">
      <button
        type="button"
        aria-pressed={search.modality === undefined}
        className={chip(search.modality === undefined)}
        onClick={() => onChange({ modality: undefined })}
      >
        All
      </button>
      {MODALITIES.map(({ value, label, icon: Icon }) => (
        <button
          key={value}
          type="button"
          aria-pressed={search.modality === value}
          className={chip(search.modality === value)}
          onClick={() => onChange({ modality: search.modality === value ? undefined : value })}
        >
          <Icon aria-hidden className="size-4" strokeWidth={1.75} />
          {label}
        </button>
      ))}
      <Select
        aria-label="Model"
        className={cx("w-32 lg:w-40", search.model === undefined && "max-sm:hidden")}
        value={search.model ?? ""}
        onChange={(event) => onChange({ model: event.target.value === "" ? undefined : event.target.value })}
      >
        <option value="">Any model</option>
        {[...new Set([...models, ...(search.model === undefined ? [] : [search.model])])].map((model) => (
          <option key={model}>{model}</option>
        ))}
      </Select>
      <div className="ml-auto flex items-center gap-2">
        <span role="status" className="text-12 text-dim tabular-nums sm:max-lg:sr-only">
          {count}
        </span>
        {search.q === undefined ? <SortSelect search={search} onChange={onChange} /> : null}
      </div>
      <Tags tags={tagsOf(rows, search.tag)} chosen={search.tag} onChange={(tag) => onChange({ tag })} />
    </div>
  );
}

interface TagsProps {
  readonly tags: readonly string[];
  readonly chosen: string | undefined;
  readonly onChange: (tag: string | undefined) => void;
}

function Tags({ tags, chosen, onChange }: TagsProps) {
  if (tags.length === 0) return null;
  return (
    <div role="group" aria-label="Tags" className="flex w-full gap-1 overflow-x-auto [scrollbar-width:none]">
      {tags.map((tag) => (
        <button
          key={tag}
          type="button"
          aria-pressed={tag === chosen}
          onClick={() => onChange(tag === chosen ? undefined : tag)}
          className={cx(
            "h-6 rounded-1 px-2 text-12 whitespace-nowrap",
            tag === chosen ? "bg-accent-soft font-medium text-accent" : "bg-press text-dim hover:text-ink",
          )}
        >
          {tag}
        </button>
      ))}
    </div>
  );
}

function SortSelect({ search: { sort }, onChange }: ResultsProps) {
  return (
    <Select
      aria-label="Sort by"
      className="w-36"
      value={sort ?? ""}
      onChange={({ target }) => onChange({ sort: SORTS.find((one) => one === target.value) })}
    >
      <option value="">Most used</option>
      <option value="featured">Featured</option>
      <option value="newest">Newest</option>
      <option value="price">Lowest price</option>
    </Select>
  );
}

const isFiltered = ({ modality, model, tag }: MarketplaceSearch) =>
  modality !== undefined || model !== undefined || tag !== undefined;

function NothingFound({ search, onChange }: ResultsProps) {
  const hasFilters = isFiltered(search);
  const clear = () =>
    onChange(hasFilters ? { modality: undefined, model: undefined, tag: undefined } : { q: undefined });
  if (search.q === undefined && !hasFilters) {
    return (
      <Empty
        icon={SearchX}
        title="No prompts published yet"
        action={
          <Link to="/author/new" className={buttonClass({ tone: "main" })}>
            Write a prompt
          </Link>
        }
      >
        Published prompts appear here with their prices and samples.
      </Empty>
    );
  }
  return (
    <Empty
      icon={SearchX}
      title="No results"
      action={
        <Button onClick={clear}>
          <X aria-hidden className="size-4" strokeWidth={1.75} />
          {hasFilters ? "Clear filters" : "Clear search"}
        </Button>
      }
    >
      {hasFilters ? "No prompts match this search and filters." : "Try different words."}
    </Empty>
  );
}

function CardShapes() {
  return (
    <Loading what="prompts">
      <div className={GRID}>
        {Array.from({ length: 8 }, (_, index) => (
          <div
            key={index}
            className="grid grid-cols-[112px_minmax(0,1fr)] gap-x-3 gap-y-2.5 sm:grid-cols-[minmax(0,1fr)]"
          >
            <Skeleton className="aspect-[16/10] rounded-3" />
            <div className="grid content-start gap-2">
              <Skeleton className="h-4 w-2/3" />
              <Skeleton />
              <Skeleton className="h-3 w-1/2" />
            </div>
          </div>
        ))}
      </div>
    </Loading>
  );
}
