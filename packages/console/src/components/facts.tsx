import type { ReactNode } from "react";
import { cx } from "./ui/class-names.ts";

export interface Fact {
  readonly label: string;
  readonly value: ReactNode;
  /** The last line of a receipt. */
  readonly isSum?: boolean;
}

/** Labels and values; numbers to the right where it is a receipt. */
export function Facts({ facts, isReceipt = false }: { readonly facts: readonly Fact[]; readonly isReceipt?: boolean }) {
  return (
    <dl className="grid gap-1.5">
      {facts.map(({ label, value, isSum = false }) => (
        <div
          key={label}
          className={cx(
            "grid grid-cols-[minmax(72px,auto)_minmax(0,1fr)] gap-4",
            isSum && "border-t border-line pt-1.5 font-semibold",
          )}
        >
          <dt className={isSum ? "" : "text-dim"}>{label}</dt>
          <dd className={cx("min-w-0 tabular-nums [overflow-wrap:anywhere]", isReceipt && "text-right")}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
