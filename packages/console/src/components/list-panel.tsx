import type { Page } from "@promptd/contract/manage";
import type { InfiniteData } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { formatWhole } from "./format.ts";
import { QueryFailure, RowShapes, ShowMore, type GrowingList } from "./query-states.tsx";
import { Panel } from "./ui/panel.tsx";

interface ListPanelProps<Row> {
  readonly list: GrowingList & {
    readonly data: InfiniteData<Page<Row>> | undefined;
    readonly isError: boolean;
    readonly error: unknown;
    readonly refetch: () => unknown;
  };
  /** With its article: "The runs". */
  readonly what: string;
  /** How many placeholder rows to show while the list loads. */
  readonly shapes?: number;
  readonly title?: ReactNode;
  readonly aside?: ReactNode;
  /** Shown at the right end of the header when the list has rows. */
  readonly actions?: ReactNode;
  /** Shown when the list has no rows. */
  readonly empty: ReactNode;
  /** Shown in the footer next to "Show more". Null omits the footer when all rows are shown. */
  readonly note?: ((rows: number) => ReactNode) | null;
  /** Renders the rows, usually as a table. */
  readonly children: (rows: readonly Row[]) => ReactNode;
}

/** True when the list has loaded and has no rows. */
export function hasNothing({ data }: { readonly data: InfiniteData<Page<unknown>> | undefined }): boolean {
  return data?.pages.every(({ rows }) => rows.length === 0) === true;
}

const shown = (rows: number) => `${formatWhole(rows)} shown, newest first`;

/** A paginated list in each of its states: loading, failed, empty, and with rows. */
export function ListPanel<Row>(props: ListPanelProps<Row>) {
  const { list, what, shapes = 6, title, aside, actions, empty, note = shown, children } = props;
  if (list.data === undefined) {
    if (list.isError) return <QueryFailure what={what} query={list} />;
    return <RowShapes what={what.charAt(0).toLowerCase() + what.slice(1)} rows={shapes} title={title} />;
  }
  const rows = list.data.pages.flatMap((page) => page.rows);
  if (rows.length === 0) return <Panel title={title}>{empty}</Panel>;
  const hasFoot = note !== null || list.hasNextPage;
  return (
    <Panel
      title={title}
      aside={aside}
      actions={actions}
      flush
      foot={
        hasFoot ? (
          <ShowMore list={list}>
            {note === null ? null : <span className="tabular-nums">{note(rows.length)}</span>}
          </ShowMore>
        ) : undefined
      }
    >
      {children(rows)}
    </Panel>
  );
}
