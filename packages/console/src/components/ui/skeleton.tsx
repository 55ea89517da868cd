import { cx } from "./class-names.ts";
import type { ReactNode } from "react";

/** A gray shape where something is about to stand, of the same size. */
export function Skeleton({ className }: { readonly className?: string }) {
  return <div aria-hidden className={cx("animate-breathe rounded-1 bg-press", className ?? "h-3")} />;
}

/** For those who cannot see the shapes. */
export function Loading({ what, children }: { readonly what: string; readonly children: ReactNode }) {
  return (
    <div role="status" aria-label={`Loading ${what}`}>
      {children}
    </div>
  );
}
