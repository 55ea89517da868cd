export interface SharedCalls<Given extends readonly unknown[], Result> {
  (...given: Given): Promise<Result>;
  /** Resolves when no call is in progress. Never rejects. */
  readonly untilIdle: () => Promise<void>;
}

/** Runs at most one call of `work` at a time: everyone who calls in the meantime gets that call's result. */
export function shareCalls<Given extends readonly unknown[], Result>(
  work: (...given: Given) => Promise<Result>,
): SharedCalls<Given, Result> {
  let current: Promise<Result> | null = null;
  const call = (...given: Given): Promise<Result> =>
    (current ??= work(...given).finally(() => {
      current = null;
    }));
  const untilIdle = async (): Promise<void> => {
    await current?.catch(() => {});
  };
  return Object.assign(call, { untilIdle });
}
