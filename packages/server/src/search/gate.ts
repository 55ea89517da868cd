/** Lets so many pieces of work run at once; the rest wait in the order they came. */
export type Gate = <Result>(work: () => Promise<Result>) => Promise<Result>;

export function createGate(width: number): Gate {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= width) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next(); // takes over this place
    }
  };
}
