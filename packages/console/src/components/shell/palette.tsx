/** The ⌘K palette: finds prompts, runs by id, pages, and actions from anywhere. */
import { ID_FORM } from "@promptd/contract";
import { Dialog } from "@base-ui/react/dialog";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import {
  Activity,
  BookOpen,
  Coins,
  KeyRound,
  LayoutGrid,
  ListTree,
  Moon,
  Search,
  Settings,
  Sparkles,
  SquarePen,
  Sun,
  type LucideIcon,
} from "lucide-react";
import { useCallback, useEffect, useId, useMemo, useState, type KeyboardEvent } from "react";
import { marketplaceQuery, sessionQuery } from "../../api.ts";
import { setTheme } from "../../theme.ts";
import { formatCredits } from "../format.ts";
import { cx } from "../ui/class-names.ts";
import { useOpener, whenClosed } from "../ui/dialog.tsx";

interface Entry {
  readonly id: string;
  readonly group: string;
  readonly label: string;
  readonly aside?: string;
  readonly icon: LucideIcon;
  readonly open: () => void;
}

const PROMPTS_MAX = 6;

export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const id = useId();
  const { entries, isOutdated } = useEntries(text.trim());
  const at = Math.min(active, Math.max(0, entries.length - 1));
  const run = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    onClose();
    entry.open();
  };
  const enter = useEnter(isOutdated, () => run(entries[at]));
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 && event.key !== "Enter") return;
    event.preventDefault();
    if (step === 0) enter();
    else if (entries.length > 0) setActive((at + step + entries.length) % entries.length);
  };
  const returnFocus = useOpener(true);
  return (
    <Dialog.Root open onOpenChange={whenClosed(onClose)}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-20 bg-[var(--veil)]" />
        <Dialog.Viewport className="fixed inset-0 z-20 grid items-start justify-items-center px-4 pt-[12vh]">
          <Dialog.Popup
            aria-label="Search everything"
            finalFocus={returnFocus}
            className="w-full max-w-[640px] animate-enter overflow-hidden rounded-3 bg-float shadow-2"
          >
            <div className="flex h-13 items-center gap-3 border-b border-line px-4">
              <Search aria-hidden className="size-4 shrink-0 text-dim" strokeWidth={1.75} />
              <input
                role="combobox"
                aria-expanded
                aria-controls={`${id}-list`}
                aria-activedescendant={entries[at] === undefined ? undefined : `${id}-${at}`}
                aria-label="Search prompts, run IDs, pages, and actions"
                placeholder="Search prompts, run IDs, pages, and actions"
                autoFocus
                value={text}
                onChange={(event) => {
                  setText(event.target.value);
                  setActive(0);
                }}
                onKeyDown={onKeyDown}
                className="h-full min-w-0 flex-1 bg-transparent text-16 outline-none"
              />
              <kbd className="rounded-1 border border-line px-1 text-11 text-dim max-sm:hidden">esc</kbd>
            </div>
            <div id={`${id}-list`} role="listbox" aria-label="Results" className="max-h-[56vh] overflow-auto p-2">
              {entries.map((entry, index) => (
                <Option
                  key={entry.id}
                  id={`${id}-${index}`}
                  entry={entry}
                  isFirstOfGroup={entries[index - 1]?.group !== entry.group}
                  isActive={index === at}
                  onPoint={() => setActive(index)}
                  onClick={() => run(entry)}
                />
              ))}
              {entries.length === 0 ? <p className="px-2 py-6 text-center text-dim">No results.</p> : null}
            </div>
          </Dialog.Popup>
        </Dialog.Viewport>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Enter applies to the results of the current text, so it waits while they load. */
function useEnter(isOutdated: boolean, run: () => void): () => void {
  const [isEntered, setEntered] = useState(false);
  useEffect(() => {
    if (!isEntered || isOutdated) return;
    setEntered(false);
    run();
  });
  return () => setEntered(true);
}

interface OptionProps {
  readonly id: string;
  readonly entry: Entry;
  readonly isFirstOfGroup: boolean;
  readonly isActive: boolean;
  readonly onPoint: () => void;
  readonly onClick: () => void;
}

function Option({ id, entry, isFirstOfGroup, isActive, onPoint, onClick }: OptionProps) {
  const { icon: Icon, label, aside, group } = entry;
  return (
    <>
      {isFirstOfGroup ? (
        <p role="presentation" className="px-2 pt-2 pb-1 text-12 text-dim">
          {group}
        </p>
      ) : null}
      {/* The input keeps the focus and handles the keys. */}
      <div
        id={id}
        role="option"
        aria-selected={isActive}
        ref={(element) => {
          if (isActive) element?.scrollIntoView({ block: "nearest" });
        }}
        onMouseMove={onPoint}
        onClick={onClick}
        className={cx("flex min-h-8 cursor-pointer items-center gap-2.5 rounded-2 px-2 py-1", isActive && "bg-press")}
      >
        <Icon aria-hidden className="size-4 shrink-0 text-dim" strokeWidth={1.75} />
        <span className="min-w-0 truncate">{label}</span>
        {aside === undefined ? null : <span className="ml-auto pl-4 text-12 whitespace-nowrap text-dim">{aside}</span>}
      </div>
    </>
  );
}

/** `isOutdated`: the prompts still match an earlier text. */
function useEntries(text: string): { readonly entries: readonly Entry[]; readonly isOutdated: boolean } {
  const actions = useActions(text !== "");
  const runEntries = useRunEntries();
  const navigate = useNavigate();
  const { data, isPlaceholderData } = useQuery({
    ...marketplaceQuery(text === "" ? {} : { q: text.slice(0, 200) }),
    placeholderData: keepPreviousData,
  });
  const entries = useMemo(() => {
    const words = text.toLowerCase();
    const fitting = actions.filter(({ label }) => label.toLowerCase().includes(words));
    // A typed page name means the page, so prompts with the same word come after it.
    const named = fitting.filter(({ label }) => label.toLowerCase().startsWith(words));
    const others = fitting.filter((entry) => !named.includes(entry));
    const runs = ID_FORM.test(text) ? runEntries(text.toLowerCase()) : [];
    const prompts = (data?.rows ?? []).slice(0, PROMPTS_MAX).map((row): Entry => ({
      id: row.promptId,
      group: "Prompts",
      label: row.title,
      aside: formatCredits(row.estimatedCredits),
      icon: Sparkles,
      open: () => void navigate({ to: "/p/$slug", params: { slug: row.slug } }),
    }));
    return text === "" ? [...actions, ...prompts] : [...runs, ...named, ...prompts, ...others];
  }, [actions, data, navigate, runEntries, text]);
  return { entries, isOutdated: isPlaceholderData };
}

/** What an ID that somebody pasted can lead to: the ID itself does not say whether it is a run's or a request's. */
function useRunEntries(): (id: string) => readonly Entry[] {
  const { data: session } = useQuery(sessionQuery);
  const isOperator = session?.person.isOperator === true;
  const navigate = useNavigate();
  return useCallback(
    (id) => {
      const entry = (label: string, aside: string, open: () => void): Entry => ({
        id: `run ${aside}`,
        group: "Run",
        label,
        aside,
        icon: ListTree,
        open,
      });
      return [
        entry(id, "run", () => void navigate({ to: "/runs/$runId", params: { runId: id } })),
        entry(id, "runs of this request", () => void navigate({ to: "/runs", search: { q: id } })),
        ...(isOperator
          ? [entry(id, "in all accounts", () => void navigate({ to: "/operator/runs", search: { id } }))]
          : []),
      ];
    },
    [isOperator, navigate],
  );
}

/** Pages within pages, which would make the list too long before anything is typed. */
const SECTIONS = [
  ["/settings/security", "Security", "Settings"],
  ["/settings/tokens", "Tokens", "Settings"],
  ["/settings/webhooks", "Webhooks", "Settings"],
  ["/settings/members", "Members", "Settings"],
  ["/settings/account", "Account", "Settings"],
  ["/settings/appearance", "Appearance", "Settings"],
  ["/operator/runs", "Runs of all accounts", "Operator"],
  ["/operator/models", "Models", "Operator"],
  ["/operator/people", "People", "Operator"],
  ["/operator/accounts", "Accounts", "Operator"],
  ["/operator/prompts", "Prompts of all accounts", "Operator"],
  ["/operator/audit", "Audit log", "Operator"],
] as const;

/** Pages and actions. */
function useActions(hasSections: boolean): readonly Entry[] {
  const { data: session } = useQuery(sessionQuery);
  const isOperator = session?.person.isOperator === true;
  const navigate = useNavigate();
  return useMemo(() => {
    const page = (
      to: "/" | "/runs" | "/keys" | "/credits" | "/author" | "/author/new" | "/docs" | "/settings" | "/operator",
      label: string,
      icon: LucideIcon,
    ): Entry => ({
      id: to,
      group: "Pages",
      label,
      icon,
      open: () => void navigate({ to }),
    });
    const theme = (name: "light" | "dark", icon: LucideIcon): Entry => ({
      id: name,
      group: "Actions",
      label: `Use the ${name} theme`,
      icon,
      open: () => setTheme(name),
    });
    return [
      page("/", "Marketplace", LayoutGrid),
      page("/runs", "Runs", ListTree),
      page("/keys", "Keys", KeyRound),
      page("/credits", "Credits", Coins),
      page("/docs", "Docs", BookOpen),
      page("/author", "My prompts", SquarePen),
      page("/settings", "Settings", Settings),
      ...(isOperator ? [page("/operator", "Operator", Activity)] : []),
      ...SECTIONS.filter(([, , parent]) => hasSections && (parent === "Settings" || isOperator)).map(
        ([to, label, parent]): Entry => ({
          id: to,
          group: "Pages",
          label,
          aside: parent,
          icon: parent === "Settings" ? Settings : Activity,
          open: () => void navigate({ to }),
        }),
      ),
      { ...page("/author/new", "New prompt", SquarePen), group: "Actions" },
      {
        ...page("/keys", "Create key", KeyRound),
        id: "create-key",
        group: "Actions",
        open: () => void navigate({ to: "/keys", search: { new: 1 } }),
      },
      theme("light", Sun),
      theme("dark", Moon),
    ];
  }, [navigate, isOperator, hasSections]);
}
