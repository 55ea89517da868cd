import { cx } from "./class-names.ts";
import type { ReactNode } from "react";

/** A gray shape where something is about to stand, of the same size. */
export function Skeleton({ className }: { readonly className?: string }) {
  return <div aria-hidden className={cx("animate-breathe rounded-1 bg-press", className ?? "h-3")} />;
}

interface BlockShapesProps {
  /** The columns of the page. */
  readonly className: string;
  /** Of the blocks, column by column. */
  readonly heights: readonly (readonly string[])[];
}

/** The blocks of a page in columns, below each other on narrow screens. */
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

/** For those who cannot see the shapes. */
export function Loading({ what, children }: { readonly what: string; readonly children: ReactNode }) {
  return (
    <div role="status" aria-label={`Loading ${what}`}>
      {children}
    </div>
  );
}
