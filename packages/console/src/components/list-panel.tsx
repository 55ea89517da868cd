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
  /** How many rows the shape has that stands there while it loads. */
  readonly shapes?: number;
  readonly title?: ReactNode;
  readonly aside?: ReactNode;
  /** At the right end of the head of a list that has rows. */
  readonly actions?: ReactNode;
  /** Stands there while there is no row. */
  readonly empty: ReactNode;
  /** In the foot, beside "Show more"; null: the foot is left out when all rows are shown. */
  readonly note?: ((rows: number) => ReactNode) | null;
  /** The table of the rows. */
  readonly children: (rows: readonly Row[]) => ReactNode;
}

/** True: it is known to have no row. */
export function hasNothing({ data }: { readonly data: InfiniteData<Page<unknown>> | undefined }): boolean {
  return data?.pages.every(({ rows }) => rows.length === 0) === true;
}

const shown = (rows: number) => `${formatWhole(rows)} shown, newest first`;

/** A list that grows page by page, in each of its states: loading, failed, empty, and with rows. */
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
