import { Link, useLocation, type LinkProps } from "@tanstack/react-router";
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

export interface Section {
  readonly to: NonNullable<LinkProps["to"]>;
  readonly label: string;
  readonly icon: LucideIcon;
  /** True if the other sections' addresses start with its address. */
  readonly isFirst?: boolean;
}

interface SectionsProps {
  readonly label: string;
  readonly sections: readonly Section[];
  readonly children: ReactNode;
}

/** The tab title while one of the sections is open, such as "Tokens · Settings". */
export function useTabTitle(title: string, sections: readonly Section[]): string {
  const { pathname } = useLocation();
  const open = sections.findLast(({ to }) => `${pathname}/`.startsWith(`${to}/`));
  return open === undefined ? title : `${open.label} · ${title}`;
}

/** A page with several sections, each at its own address. Links are at the side, or on top on narrow screens. */
export function Sections({ label, sections, children }: SectionsProps) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 lg:grid-cols-[168px_minmax(0,1fr)]">
      <nav aria-label={label} className="flex flex-wrap gap-1 lg:sticky lg:top-6 lg:grid">
        {sections.map(({ to, label: name, icon: Icon, isFirst = false }) => (
          <Link
            key={to}
            to={to}
            className="flex h-8 items-center gap-2.5 rounded-2 px-2.5 whitespace-nowrap text-dim focus-visible:-outline-offset-2 hover:bg-hover hover:text-ink"
            activeProps={{ className: "bg-press font-medium text-ink!" }}
            activeOptions={{ exact: isFirst, includeSearch: false }}
          >
            <Icon aria-hidden className="size-4 shrink-0 max-lg:hidden" strokeWidth={1.75} />
            {name}
          </Link>
        ))}
      </nav>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-6">{children}</div>
    </div>
  );
}
