import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useDeferredValue, useMemo, type ReactNode } from "react";
import { QueryFailure } from "../../components/query-states.tsx";
import { Page } from "../../components/shell/page.tsx";
import { Input } from "../../components/ui/field.tsx";
import { useTyped } from "../../components/use-typed.ts";
import { findGuide, GUIDES, loadGuide } from "./guides.ts";
import { partsOf, searchParts } from "./sections-of.ts";

/** Guides and API reference, served entirely by this server. */
export function DocsScreen() {
  const { q = "" } = useSearch({ from: "/open/docs" });
  const navigate = useNavigate({ from: "/docs" });
  const find = (text: string) =>
    void navigate({ to: ".", search: { q: text === "" ? undefined : text }, replace: true, resetScroll: false });
  const [words, setWords] = useTyped(q, find);
  const { guide, api } = useParams({ strict: false });
  const section = guide === undefined ? REFERENCES.get(api ?? "") : findGuide(guide)?.title;
  return (
    <Page title="Docs" tabTitle={section === undefined ? "Docs" : `${section} · Docs`}>
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 lg:grid-cols-[208px_minmax(0,1fr)]">
        <div className="-m-1 grid gap-4 p-1 lg:sticky lg:top-6 lg:max-h-[calc(100dvh-48px)] lg:overflow-y-auto">
          <div role="search" className="relative">
            <Search
              aria-hidden
              strokeWidth={1.75}
              className="pointer-events-none absolute top-1/2 left-2.5 size-4 -translate-y-1/2 text-dim"
            />
            <Input
              type="search"
              aria-label="Search the docs"
              placeholder="Search the docs"
              className="pl-8!"
              value={words}
              onChange={({ target }) => setWords(target.value)}
            />
          </div>
          <Contents />
        </div>
        {q.trim() === "" ? <Outlet /> : <FoundParts query={q} />}
      </div>
    </Page>
  );
}

const REFERENCES: ReadonlyMap<string, string> = new Map([
  ["v1", "/v1"],
  ["manage", "/manage/v1"],
]);

function Contents() {
  return (
    <nav aria-label="Docs" className="grid gap-4 max-lg:hidden">
      {GUIDES.map(({ label, guides }) => (
        <Group key={label} label={label}>
          {guides.map(({ name, title }) => (
            <Link
              key={name}
              to="/docs/$guide"
              params={{ guide: name }}
              className={ITEM}
              activeProps={{ className: ACTIVE }}
            >
              {title}
            </Link>
          ))}
        </Group>
      ))}
      <Group label="Reference">
        {[...REFERENCES].map(([api, title]) => (
          <Link
            key={api}
            to="/docs/reference/$api"
            params={{ api }}
            className={ITEM}
            activeProps={{ className: ACTIVE }}
          >
            {title}
          </Link>
        ))}
      </Group>
    </nav>
  );
}

const ITEM = "rounded-2 px-2.5 py-1 text-dim hover:bg-hover hover:text-ink";
const ACTIVE = "bg-press font-medium text-ink!";

function Group({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div className="grid gap-0.5">
      <h2 className="px-2.5 pb-1 text-12! text-dim">{label}</h2>
      {children}
    </div>
  );
}

/** Loads all guides when a search starts. They are small enough to search in full. */
function FoundParts({ query }: { readonly query: string }) {
  const all = useQuery({
    queryKey: ["docs", "parts"],
    queryFn: async () => {
      const names = GUIDES.flatMap(({ guides }) => guides.map(({ name }) => name));
      return (await Promise.all(names.map(async (name) => partsOf(name, await loadGuide(name))))).flat();
    },
    staleTime: Infinity,
  });
  const parts = all.data;
  const words = useDeferredValue(query);
  const found = useMemo(() => (parts === undefined ? [] : searchParts(parts, words)), [parts, words]);
  if (all.isLoadingError) return <QueryFailure what="The guides" query={all} />;
  return (
    <section aria-label="Search results" className="grid gap-1">
      <p role="status" className="pb-2 text-12 text-dim">
        {parts === undefined ? "Loading" : found.length === 0 ? "No results." : `${found.length} found`}
      </p>
      {found.map(({ part: { guide, heading, anchor }, excerpt }) => (
        <Link
          key={`${guide} ${anchor}`}
          to="/docs/$guide"
          params={{ guide }}
          search={{ q: undefined }}
          hash={anchor}
          className="grid gap-0.5 rounded-2 px-3 py-2 hover:bg-hover"
        >
          <span>
            <span className="font-medium">{heading}</span>{" "}
            <span className="text-12 text-dim">{findGuide(guide)?.title}</span>
          </span>
          <span className="text-dim [overflow-wrap:anywhere]">{excerpt}</span>
        </Link>
      ))}
    </section>
  );
}

/** The start page of the docs. */
export function DocsHome() {
  return (
    <div className="grid gap-6">
      {GUIDES.map(({ label, guides }) => (
        <section key={label} className="grid gap-2">
          <h2>{label}</h2>
          <ul className="grid gap-px overflow-clip rounded-3 border border-line bg-line sm:grid-cols-2">
            {guides.map(({ name, title, about }) => (
              <li key={name} className="bg-panel last:odd:col-span-full">
                <Link to="/docs/$guide" params={{ guide: name }} className="grid gap-0.5 px-4 py-3 hover:bg-hover">
                  <span className="font-medium">{title}</span>
                  <span className="text-dim">{about}</span>
                </Link>
              </li>
            ))}
          </ul>
        </section>
      ))}
      <p className="text-dim">
        Every endpoint, with its parameters and examples:{" "}
        <Link to="/docs/reference/$api" params={{ api: "v1" }} className="text-accent underline underline-offset-2">
          /v1
        </Link>{" "}
        and{" "}
        <Link to="/docs/reference/$api" params={{ api: "manage" }} className="text-accent underline underline-offset-2">
          /manage/v1
        </Link>
        . For AI tools:{" "}
        <a href="/llms.txt" className="text-accent underline underline-offset-2">
          llms.txt
        </a>
        .
      </p>
    </div>
  );
}
