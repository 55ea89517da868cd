import type { ComponentProps, MouseEvent } from "react";
import { cx } from "./class-names.ts";

type Tone = "main" | "plain" | "quiet" | "danger";

const TONES: Readonly<Record<Tone, string>> = {
  main: "bg-accent text-on-accent border-transparent hover:bg-accent-hover",
  plain: "bg-panel text-ink border-edge shadow-1 hover:bg-hover",
  quiet: "bg-transparent text-dim border-transparent hover:bg-hover hover:text-ink",
  danger: "bg-panel text-bad border-edge shadow-1 hover:bg-bad-soft",
};

interface Look {
  readonly tone?: Tone | undefined;
  /** 28 px: in bars and tables. */
  readonly small?: boolean | undefined;
  /** Icon only. Needs an `aria-label`. */
  readonly square?: boolean | undefined;
}

/** Class names for links that look like buttons. */
export function buttonClass({ tone = "plain", small = false, square = false }: Look = {}): string {
  return cx(
    "inline-flex items-center justify-center gap-2 rounded-2 border font-medium whitespace-nowrap select-none",
    "transition-colors duration-[80ms] disabled:bg-transparent disabled:text-faint disabled:shadow-none disabled:border-line",
    small ? "h-7 text-12" : "h-8 text-13",
    square ? (small ? "w-7" : "w-8") : small ? "px-2" : "px-3",
    TONES[tone],
  );
}

type ButtonProps = ComponentProps<"button"> & Look;

/** Treats a double click as one press. The second click could hit what the first one made, such as a finished run. */
export function Button({ tone, small, square, className, type = "button", onClick, ...rest }: ButtonProps) {
  const press = (event: MouseEvent<HTMLButtonElement>) => {
    if (event.detail > 1) event.preventDefault();
    else onClick?.(event);
  };
  return (
    <button type={type} className={cx(buttonClass({ tone, small, square }), className)} onClick={press} {...rest} />
  );
}
