import type { ReactNode } from "react";
import { cx } from "./class-names.ts";

interface PanelProps {
  readonly title?: ReactNode;
  /** A short remark next to the title. */
  readonly aside?: ReactNode;
  /** Shown at the right end of the header. */
  readonly actions?: ReactNode;
  readonly foot?: ReactNode;
  /** True: the content reaches the edge, as for tables and code. */
  readonly flush?: boolean;
  readonly className?: string;
  readonly children?: ReactNode;
}

/** A bordered box. Panels are never nested. */
export function Panel({ title, aside, actions, foot, flush = false, className, children }: PanelProps) {
  return (
    <section className={cx("min-w-0 overflow-clip rounded-3 border border-line bg-panel", className)}>
      {title === undefined ? null : (
        <div className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4 py-1.5 max-sm:py-2.5">
          <h2 className="min-w-0">{title}</h2>
          {aside === undefined ? null : <span className="text-12 text-dim">{aside}</span>}
          {actions === undefined ? null : <span className="ml-auto flex items-center gap-2">{actions}</span>}
        </div>
      )}
      <div className={flush ? "" : "p-4"}>{children}</div>
      {foot === undefined ? null : (
        <div className="flex min-h-11 flex-wrap items-center gap-x-4 gap-y-1 border-t border-line bg-bg px-4 py-2 text-12 text-dim">
          {foot}
        </div>
      )}
    </section>
  );
}
