import { cx } from "./class-names.ts";
import type { ReactNode } from "react";

/** A gray placeholder of the same size as the content that is loading. */
export function Skeleton({ className }: { readonly className?: string }) {
  return <div aria-hidden className={cx("animate-breathe rounded-1 bg-press", className ?? "h-3")} />;
}

interface BlockShapesProps {
  /** Grid classes for the page's columns. */
  readonly className: string;
  /** Heights of the blocks, column by column. */
  readonly heights: readonly (readonly string[])[];
}

/** Placeholder blocks in columns, stacked on narrow screens. */
export function BlockShapes({ className, heights }: BlockShapesProps) {
  return (
    <div className={cx("grid gap-6", className)}>
      {heights.map((column, index) => (
        <div key={index} className="grid content-start gap-6">
          {column.map((height) => (
            <Skeleton key={height} className={cx("rounded-3", height)} />
          ))}
        </div>
      ))}
    </div>
  );
}

/** Announced to screen readers, which skip the shapes. */
export function Loading({ what, children }: { readonly what: string; readonly children: ReactNode }) {
  return (
    <div role="status" aria-label={`Loading ${what}`}>
      {children}
    </div>
  );
}
