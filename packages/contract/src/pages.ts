/** A page of a list, newest first. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** True: there are more rows after this page, in the direction of paging. */
  readonly hasMore: boolean;
}

/** Selects a page of a list, with at most one of the two cursors. */
export interface PageQuery {
  /** 1 to 50; default 10. */
  readonly limit?: number | undefined;
  readonly startingAfter?: string | undefined;
  readonly endingBefore?: string | undefined;
}
