import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useLocation, useRouterState } from "@tanstack/react-router";
import {
  Activity,
  BookOpen,
  Coins,
  KeyRound,
  LayoutGrid,
  ListTree,
  Monitor,
  Moon,
  Search,
  Settings,
  SquarePen,
  Sun,
  type LucideIcon,
} from "lucide-react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { creditsQuery, renewSession, sessionQuery } from "../../api.ts";
import { setTheme, useTheme, type Theme } from "../../theme.ts";
import { shortcut } from "./shortcut.ts";
import { Brand } from "./brand.tsx";
import { formatWhole } from "../format.ts";
import { cx } from "../ui/class-names.ts";

const loadPalette = () => import("./palette.tsx").then(({ Palette: component }) => ({ default: component }));
const Palette = lazy(loadPalette);
const AccountMenu = lazy(() =>
  import("./account-menu.tsx").then(({ AccountMenu: component }) => ({ default: component })),
);

const PAGES = [
  { to: "/", label: "Marketplace", icon: LayoutGrid },
  { to: "/runs", label: "Runs", icon: ListTree },
  { to: "/keys", label: "Keys", icon: KeyRound },
  { to: "/credits", label: "Credits", icon: Coins },
  { to: "/author", label: "My prompts", icon: SquarePen },
] as const satisfies readonly { to: string; label: string; icon: LucideIcon }[];

const SETTINGS = { to: "/settings", label: "Settings", icon: Settings } as const;
const DOCS = { to: "/docs", label: "Docs", icon: BookOpen } as const;
const OPERATOR = { to: "/operator", label: "Operator", icon: Activity } as const;

const ITEM =
  "flex items-center gap-2.5 rounded-2 text-dim hover:bg-hover hover:text-ink max-lg:h-12 max-lg:flex-col max-sm:flex-1 max-lg:justify-center max-lg:gap-[3px] max-lg:text-11 lg:h-8 lg:px-2.5";
const ACTIVE = "bg-press font-medium text-ink!";

/**
 * When to load the palette: after the page itself, and before somebody is likely to open it, because what they type
 * goes to the page until it is there.
 */
const PALETTE_MS = 1_000;

/** A sidebar from 1024 px, a rail from 640 px, and a bottom bar below that. */
export function Shell() {
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  usePaletteKey(() => setPaletteOpen((open) => !open));
  useEffect(renewSession, []);
  useEffect(() => {
    const timer = setTimeout(() => void loadPalette().catch(() => {}), PALETTE_MS); // opening it tries again
    return () => clearTimeout(timer);
  }, []);
  const openPalette = () => setPaletteOpen(true);
  return (
    <div className="min-h-dvh print:block! sm:grid sm:grid-cols-[84px_minmax(0,1fr)] lg:grid-cols-[216px_minmax(0,1fr)]">
      <SkipLink />
      <Sidebar onSearch={openPalette} />
      <TopBar onSearch={openPalette} />
      <Main />
      <Suspense fallback={null}>{isPaletteOpen ? <Palette onClose={() => setPaletteOpen(false)} /> : null}</Suspense>
    </div>
  );
}

/** For pages that need no sign-in. People who are signed in get the full navigation. */
export function OpenShell() {
  const { href } = useLocation();
  const { data: session } = useQuery({ ...sessionQuery, enabled: false }); // loaded before the page is shown
  if (session !== undefined) return <Shell />;
  return (
    <div className="min-h-dvh">
      <SkipLink />
      <header className="flex h-12 items-center gap-1 border-b border-line bg-sunk px-4 sm:px-[clamp(16px,3vw,32px)] print:hidden!">
        <Link to="/docs" className="mr-auto flex items-center rounded-2">
          <Brand />
        </Link>
        <ThemeSwitch
          className="grid size-9 place-items-center rounded-2 text-dim hover:bg-hover hover:text-ink"
          hasWord={false}
        />
        <Link to="/sign-in" search={{ from: href }} className="rounded-2 px-2.5 py-1.5 text-accent hover:bg-hover">
          Sign in
        </Link>
      </header>
      <Main />
    </div>
  );
}

function SkipLink() {
  return (
    <a
      href="#main"
      className="sr-only z-50 rounded-2 bg-float px-3 py-2 shadow-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
    >
      Skip to content
    </a>
  );
}

function Main() {
  const main = useRef<HTMLElement>(null);
  const pathname = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const shown = useRef(pathname);
  useEffect(() => {
    const isFirst = shown.current === undefined;
    shown.current = pathname;
    // The focused element left with the previous page. Keyboard and screen readers continue in the new page.
    if (!isFirst && document.activeElement === document.body) main.current?.focus({ preventScroll: true });
  }, [pathname]);
  return (
    <main
      id="main"
      ref={main}
      tabIndex={-1}
      className="min-w-0 px-4 pt-4 pb-24 outline-none sm:px-[clamp(16px,3vw,32px)] sm:pt-6 sm:pb-12"
    >
      <Outlet />
    </main>
  );
}

function Sidebar({ onSearch }: { readonly onSearch: () => void }) {
  return (
    <nav
      aria-label="Pages"
      className="z-10 flex border-line bg-sunk print:hidden! max-sm:fixed max-sm:inset-x-0 max-sm:bottom-0 max-sm:border-t max-sm:p-1 max-sm:pb-[calc(4px+env(safe-area-inset-bottom))] sm:sticky sm:top-0 sm:h-dvh sm:flex-col sm:gap-1 sm:border-r sm:px-1.5 sm:py-3 lg:px-3"
    >
      <Link to="/" className="mb-2 hidden h-9 items-center rounded-2 sm:flex max-lg:justify-center lg:px-2.5">
        <span className="lg:hidden">
          <Brand hasWord={false} />
        </span>
        <span className="max-lg:hidden">
          <Brand />
        </span>
      </Link>
      <button
        type="button"
        onClick={onSearch}
        aria-keyshortcuts="Meta+K Control+K"
        className="mb-2 hidden items-center gap-2 rounded-2 border border-edge bg-panel text-dim hover:text-ink sm:flex sm:h-9 max-lg:justify-center lg:h-8 lg:px-2.5"
      >
        <Search aria-hidden className="size-4" strokeWidth={1.75} />
        <span className="max-lg:sr-only">Search</span>
        <kbd className="ml-auto rounded-1 border border-line px-1 text-11 max-lg:hidden">{shortcut("K")}</kbd>
      </button>
      {PAGES.map(({ to, label, icon: Icon }) => (
        <Link
          key={to}
          to={to}
          className={ITEM}
          activeProps={{ className: ACTIVE }}
          activeOptions={{ exact: to === "/", includeSearch: false }}
        >
          <Icon aria-hidden className="size-4 shrink-0" strokeWidth={1.75} />
          {label}
          {to === "/credits" ? <Balance /> : null}
        </Link>
      ))}
      <MorePages />
      <div className="mt-auto hidden gap-1 sm:grid sm:grid-cols-[minmax(0,1fr)]">
        <ThemeSwitch className={ITEM} />
        <Account className={cx(ITEM, "w-full")} />
      </div>
    </nav>
  );
}

/** How often to read the balance, which runs from code change too. */
const BALANCE_MS = 60_000;

/** What is left to spend, next to the page that explains it. Only the wide sidebar has space for it. */
function Balance() {
  const { data } = useQuery({ ...creditsQuery, refetchInterval: BALANCE_MS });
  if (data === undefined) return null;
  return (
    <span
      className={cx(
        "ml-auto min-w-0 truncate pl-2 text-12 font-normal tabular-nums max-lg:hidden",
        data.available === 0 ? "text-warn" : "text-dim",
      )}
    >
      {formatWhole(data.available)}
      <span className="sr-only"> available</span>
    </span>
  );
}

/** Rarely used pages. Narrow screens have them in the account menu. */
function MorePages() {
  const { data: session } = useQuery(sessionQuery);
  const pages = session?.person.isOperator === true ? [DOCS, SETTINGS, OPERATOR] : [DOCS, SETTINGS];
  return (
    <div className="hidden gap-1 border-t border-line pt-3 sm:mt-3 sm:grid">
      {pages.map(({ to, label, icon: Icon }) => (
        <Link key={to} to={to} className={ITEM} activeProps={{ className: ACTIVE }} activeOptions={{ exact: false }}>
          <Icon aria-hidden className="size-4 shrink-0" strokeWidth={1.75} />
          {label}
        </Link>
      ))}
    </div>
  );
}

function TopBar({ onSearch }: { readonly onSearch: () => void }) {
  const square = "grid size-9 place-items-center rounded-2 text-dim hover:bg-hover hover:text-ink";
  return (
    <div className="flex h-12 items-center gap-1 border-b border-line bg-sunk pr-2 pl-4 sm:hidden print:hidden">
      <Link to="/" className="mr-auto flex items-center rounded-2">
        <Brand />
      </Link>
      <button type="button" aria-label="Search" onClick={onSearch} className={square}>
        <Search aria-hidden className="size-4" strokeWidth={1.75} />
      </button>
      <ThemeSwitch className={square} hasWord={false} />
      <Account className={square} hasWord={false} />
    </div>
  );
}

const THEMES = {
  system: { next: "light", icon: Monitor, label: "Theme: system" },
  light: { next: "dark", icon: Sun, label: "Theme: light" },
  dark: { next: "system", icon: Moon, label: "Theme: dark" },
} as const satisfies Record<Theme, { next: Theme; icon: LucideIcon; label: string }>;

interface BarItem {
  readonly className: string;
  readonly hasWord?: boolean;
}

function ThemeSwitch({ className, hasWord = true }: BarItem) {
  const { next, icon: Icon, label } = THEMES[useTheme()];
  return (
    <button type="button" aria-label={label} title={label} onClick={() => setTheme(next)} className={className}>
      <Icon aria-hidden className="size-4 shrink-0" strokeWidth={1.75} />
      {hasWord ? <span className="max-lg:hidden">{label}</span> : null}
    </button>
  );
}

/** The menu loads when it is first opened, so that the first page stays small. */
function Account({ className, hasWord = true }: BarItem) {
  const { data: session } = useQuery(sessionQuery);
  const [isWanted, setWanted] = useState(false);
  const name = session?.person.name ?? "";
  const button = (
    <button type="button" aria-haspopup="menu" onClick={() => setWanted(true)} className={className}>
      <span
        aria-hidden
        data-initial={name.slice(0, 1)}
        className="grid size-5 shrink-0 place-items-center rounded-1 bg-accent-soft text-11 font-semibold text-accent uppercase before:content-[attr(data-initial)]"
      />
      <span className={cx("min-w-0 truncate", hasWord ? "max-lg:sr-only" : "sr-only")}>
        <span className="sr-only">Account: </span>
        {name}
      </span>
    </button>
  );
  if (session === undefined || !isWanted) return button;
  return (
    <Suspense fallback={button}>
      <AccountMenu session={session} trigger={button} />
    </Suspense>
  );
}

function usePaletteKey(toggle: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      // The prompt file editor has its own shortcuts with this letter and prevents the default when it uses them.
      if (event.defaultPrevented || event.shiftKey || event.altKey) return;
      if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      toggle();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
}
