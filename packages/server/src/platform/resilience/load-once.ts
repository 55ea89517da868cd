export interface LoadedOnce<Loaded> {
  (): Promise<Loaded>;
  /** Returns what is loaded or being loaded; null: nothing. */
  readonly current: () => Promise<Loaded | null>;
}

/** Loads something when it is first needed. A load that failed is repeated. */
export function loadOnce<Loaded>(load: () => Promise<Loaded>): LoadedOnce<Loaded> {
  let loading: Promise<Loaded> | null = null;
  const get = (): Promise<Loaded> => {
    loading ??= load().catch((error: unknown) => {
      loading = null;
      throw error;
    });
    return loading;
  };
  return Object.assign(get, { current: async () => (await loading?.catch(() => null)) ?? null });
}
