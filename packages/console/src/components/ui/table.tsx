import { Fragment, type MouseEvent, type ReactNode } from "react";
import { cx } from "./class-names.ts";
import { useScrolling } from "./use-scrolling.ts";

/** A heading with options for its cells. A plain string is a text column as wide as its content. */
export type Column = string | (Omit<CellProps, "children"> & { readonly label: string; readonly isHidden?: boolean });

/** A column of buttons, which label themselves. */
export const ACTIONS_COLUMN: Column = { label: "Actions", isHidden: true };

interface TableProps {
  readonly label: string;
  readonly columns: readonly Column[];
  /** The rows. */
  readonly children: ReactNode;
}

/** A dense table. Rows are 36 px and one line, or two lines below 1024 px. It scrolls horizontally if needed. */
export function Table({ label, columns, children }: TableProps) {
  const scrolling = useScrolling(label);
  return (
    // Positioned, so that text only for screen readers stays inside the scrolling area.
    <div {...scrolling} className="relative overflow-x-auto">
      <table aria-label={label} className="w-full border-collapse text-13">
        <thead>
          <tr className="text-left text-12 text-dim">
            {columns.map((column, index) => (
              <Th key={index} column={column} />
            ))}
          </tr>
        </thead>
        <tbody onClick={openRow} className="[&>tr:has([data-row])]:cursor-pointer [&>tr:last-child>td]:border-b-0">
          {children}
        </tbody>
      </table>
    </div>
  );
}

/** Opens a row at a click anywhere in it: follows its link marked `data-row`. The keyboard uses the link itself. */
function openRow({ target, ctrlKey, metaKey, shiftKey }: MouseEvent<HTMLElement>): void {
  if (!(target instanceof Element) || target.closest("a, button, input, select") !== null) return;
  if (getSelection()?.isCollapsed === false) return; // the click ended a selection of text
  const link = target.closest("tr")?.querySelector("a[data-row]");
  link?.dispatchEvent(
    new globalThis.MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }),
  );
}

interface CellProps {
  /** A number: right-aligned with tabular figures. */
  readonly num?: boolean;
  /** Fills the remaining width and truncates with an ellipsis, below 1024 px after the second line. */
  readonly fill?: boolean;
  /** Below 1024 px it wraps and shows all of its text, for cells that name what the row is about. */
  readonly whole?: boolean;
  /** The minimum width at which the column is shown. */
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

/** Class names for a name in a filling cell, truncated before it hides what follows. */
export const NAME_OF_ROW = "font-medium lg:inline-block lg:max-w-3/5 lg:truncate lg:align-bottom";

/** A word that may be longer than a line, such as an address. It can break after punctuation. */
export function Breakable({ text }: { readonly text: string }) {
  return text.split(/(?<=[@./])/).map((part, index) => (
    <Fragment key={index}>
      {index === 0 ? null : <wbr />}
      {part}
    </Fragment>
  ));
}
