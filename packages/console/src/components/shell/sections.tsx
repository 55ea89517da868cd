import { Link, useLocation, type LinkProps } from "@tanstack/react-router";
import type { LucideIcon } from "lucide-react";
import { useEffect, useRef, type ReactNode } from "react";

export interface Section {
  readonly to: NonNullable<LinkProps["to"]>;
  readonly label: string;
  readonly icon: LucideIcon;
  /** True: its address begins those of the others. */
  readonly isFirst?: boolean;
}

interface SectionsProps {
  readonly label: string;
  readonly sections: readonly Section[];
  readonly children: ReactNode;
}

/** A page of several sections, each with an address of its own: a list beside them, a bar above on narrow screens. */
export function Sections({ label, sections, children }: SectionsProps) {
  const { pathname } = useLocation();
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    // In the bar of a narrow screen the open section may stand beyond the edge.
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [pathname]);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 lg:grid-cols-[168px_minmax(0,1fr)]">
      <nav
        ref={list}
        aria-label={label}
        className="flex gap-1 overflow-x-auto [scrollbar-width:none] max-lg:-mx-1 max-lg:px-1 lg:sticky lg:top-6 lg:grid"
      >
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
