import type { ReactNode } from "react";
import { cx } from "./ui/class-names.ts";

export interface Fact {
  readonly label: string;
  readonly value: ReactNode;
  /** The total on the last line of a receipt. */
  readonly isSum?: boolean;
}

/** Labels and values. A receipt aligns its numbers to the right. */
export function Facts({ facts, isReceipt = false }: { readonly facts: readonly Fact[]; readonly isReceipt?: boolean }) {
  return (
    <dl className="grid grid-cols-[fit-content(45%)_minmax(0,1fr)] gap-x-4 gap-y-1.5">
      {facts.map(({ label, value, isSum = false }, index) => (
        <div
          key={`${index} ${label}`}
          className={cx("col-span-2 grid grid-cols-subgrid", isSum && "border-t border-line pt-1.5 font-semibold")}
        >
          <dt className={cx("min-w-18 [overflow-wrap:anywhere]", !isSum && "text-dim")}>{label}</dt>
          <dd className={cx("min-w-0 tabular-nums [overflow-wrap:anywhere]", isReceipt && "text-right")}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
