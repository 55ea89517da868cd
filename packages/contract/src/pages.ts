/** A page of a list, newest first. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** True: more rows lie beyond the page in the direction of travel. */
  readonly hasMore: boolean;
}

/** Which page of a list; one of the two cursors at most. */
export interface PageQuery {
  /** 1 to 50; 10 when absent. */
  readonly limit?: number | undefined;
  readonly startingAfter?: string | undefined;
  readonly endingBefore?: string | undefined;
}
