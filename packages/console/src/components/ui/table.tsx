import { Fragment, type ReactNode } from "react";
import { cx } from "./class-names.ts";
import { useScrolling } from "./use-scrolling.ts";

/** A heading with what its cells are; a word alone: text that takes what room it needs. */
export type Column = string | (Omit<CellProps, "children"> & { readonly label: string; readonly isHidden?: boolean });

/** Buttons: what they do stands on them. */
export const ACTIONS_COLUMN: Column = { label: "Actions", isHidden: true };

interface TableProps {
  readonly label: string;
  readonly columns: readonly Column[];
  /** The rows. */
  readonly children: ReactNode;
}

/** A dense table: rows of 36 px, one line each, or two below 1024 px. Scrolls by itself where it does not fit. */
export function Table({ label, columns, children }: TableProps) {
  const scrolling = useScrolling(label);
  return (
    // Positioned, so that words for screen readers alone do not stand outside of what scrolls.
    <div {...scrolling} className="relative overflow-x-auto">
      <table aria-label={label} className="w-full border-collapse text-13">
        <thead>
          <tr className="text-left text-12 text-dim">
            {columns.map((column, index) => (
              <Th key={index} column={column} />
            ))}
          </tr>
        </thead>
        <tbody className="[&>tr:last-child>td]:border-b-0">{children}</tbody>
      </table>
    </div>
  );
}

interface CellProps {
  /** A number: to the right, figures below each other. */
  readonly num?: boolean;
  /** Takes the room that is left, and is cut with an ellipsis: below 1024 px after its second line. */
  readonly fill?: boolean;
  /** Below 1024 px all of it is shown, in as many lines as it takes: whom something is about. */
  readonly whole?: boolean;
  /** From which width on it is shown. */
  readonly from?: "sm" | "xl";
  readonly children?: ReactNode;
}

const FROM = { sm: "hidden sm:table-cell", xl: "hidden xl:table-cell" } as const;

function cellClass({ num = false, fill = false, from }: CellProps): string {
  return cx(
    "h-9 border-b border-line px-3 whitespace-nowrap first:pl-4 last:pr-4",
    num && "text-right tabular-nums",
    fill && "w-full max-w-0 min-w-24 max-lg:py-1.5 sm:min-w-36",
    from !== undefined && FROM[from],
  );
}

const FILLED = "max-lg:whitespace-normal max-lg:[overflow-wrap:anywhere] lg:truncate";

function Th({ column }: { readonly column: Column }) {
  const { label, isHidden = false, ...cell } = typeof column === "string" ? { label: column } : column;
  return (
    <th scope="col" className={cx(cellClass(cell), "font-normal")}>
      {isHidden ? <span className="sr-only">{label}</span> : label}
    </th>
  );
}

export function Td(props: CellProps) {
  const { fill = false, whole = false, children } = props;
  const content = fill ? <div className={cx(FILLED, !whole && "max-lg:line-clamp-2")}>{children}</div> : children;
  return <td className={cellClass(props)}>{content}</td>;
}

/** A name at the head of a cell that is filled: cut where it would hide what stands after it. */
export const NAME_OF_ROW = "font-medium lg:inline-block lg:max-w-3/5 lg:truncate lg:align-bottom";

/** A word that is as long as a line, such as an address: it breaks behind its signs. */
export function Breakable({ text }: { readonly text: string }) {
  return text.split(/(?<=[@./])/).map((part, index) => (
    <Fragment key={index}>
      {index === 0 ? null : <wbr />}
      {part}
    </Fragment>
  ));
}
