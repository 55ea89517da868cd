import type { ReactNode } from "react";
import { cx } from "./class-names.ts";

export type StateTone = "neutral" | "live" | "ok" | "warn" | "bad";

const FIELDS: Readonly<Record<StateTone, string>> = {
  neutral: "bg-press text-dim",
  live: "bg-accent-soft text-accent",
  ok: "bg-ok-soft text-ok",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
};

export function Badge({ tone = "neutral", children }: { readonly tone?: StateTone; readonly children: ReactNode }) {
  return (
    <span className={cx("inline-flex h-5 items-center rounded-1 px-1.5 text-12 whitespace-nowrap", FIELDS[tone])}>
      {children}
    </span>
  );
}

const DOTS: Readonly<Record<StateTone, string>> = {
  neutral: "border-[1.5px] border-faint",
  live: "bg-accent animate-breathe",
  ok: "bg-ok",
  warn: "bg-warn",
  bad: "bg-bad",
};

/** A state as a dot and a word. Only live, warning, and bad states color the word. */
export function Status({ tone, children }: { readonly tone: StateTone; readonly children: ReactNode }) {
  const word = tone === "live" ? "text-accent" : tone === "bad" ? "text-bad" : tone === "warn" ? "text-warn" : "";
  return (
    <span className={cx("inline-flex min-w-0 items-center gap-2", word)}>
      <i aria-hidden className={cx("size-2 shrink-0 rounded-full", DOTS[tone])} />
      <span className="truncate">{children}</span>
    </span>
  );
}
