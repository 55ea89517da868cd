import { useEffect, type ReactNode } from "react";
import { cx } from "../ui/class-names.ts";

interface PageProps {
  readonly title: string;
  /** The title of the browser tab, if the heading alone does not tell this page from others. */
  readonly tabTitle?: string;
  /** Breadcrumbs, above the title. */
  readonly path?: ReactNode;
  /** Below the title, in one line. */
  readonly meta?: ReactNode;
  readonly actions?: ReactNode;
  /** False if the page shows its own title. */
  readonly hasHead?: boolean;
  readonly children: ReactNode;
}

/** The frame of every screen: tab title, heading, actions, and content. */
export function Page({ title, tabTitle = title, path, meta, actions, hasHead = true, children }: PageProps) {
  useEffect(() => {
    document.title = `${tabTitle} · promptd`;
  }, [tabTitle]);
  return (
    <div className="mx-auto grid w-full max-w-[1320px] grid-cols-[minmax(0,1fr)] gap-6">
      {hasHead ? (
        <header className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
          <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-1.5">
            {path === undefined ? null : <div className="text-12 text-dim">{path}</div>}
            <h1 className="min-w-0">{title}</h1>
            {meta === undefined ? null : (
              <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-12 text-dim">{meta}</div>
            )}
          </div>
          {actions === undefined ? null : (
            <div className={cx("flex flex-wrap items-center gap-2", path !== undefined && "lg:pt-5")}>{actions}</div>
          )}
        </header>
      ) : (
        <h1 className="sr-only">{title}</h1>
      )}
      {children}
    </div>
  );
}
