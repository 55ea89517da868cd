export interface AdaptiveConcurrencyOptions {
  /** Never less at once; where it begins. */
  readonly min: number;
  readonly max: number;
}

/** One piece of work that ended well. */
interface MeasuredWork {
  /** What was allowed at once when it began; work from before a change says nothing about the present. */
  readonly level: number;
  readonly ms: number;
  /** What the time depends on beside the load: tokens, rows. */
  readonly units: number;
}

/**
 * How much work at once is right for a server of unknown size, learned from its pace: twice as much as long as a unit
 * takes about as long as before, half as much when it takes longer. A server that works on one thing after another takes
 * twice as long for twice as much, one with room equally long.
 *
 * It only decides: the number itself may belong to several processes, and `adopt` says which one is in force.
 */
export interface AdaptiveConcurrency {
  readonly level: number;
  /** @returns the level to change to; null: stay. */
  record(work: MeasuredWork): number | null;
  /** Work failed since there was too much at once. @returns the level to change to; null: stay. */
  recordOverload(level: number): number | null;
  adopt(level: number): void;
}

/** A unit may take this much longer for twice as much at once: a third more is then done in all. */
const FLAT = 1.5;
/** Pieces of work that are measured before a decision: at least so many, and as many as are allowed at once. */
const WINDOW_LEAST = 8;
/** Windows at a level after more of it was too much. */
const PAUSE_WINDOWS = 8;
/** Windows at a level that was reached without comparing it with the one below, until that is done. */
const UNCOMPARED_WINDOWS = 1;

const EMPTY = { count: 0, ms: 0, units: 0 };

export function createAdaptiveConcurrency({ min, max }: AdaptiveConcurrencyOptions): AdaptiveConcurrency {
  let level = Math.min(min, max);
  let window = EMPTY;
  /** Milliseconds of a unit here, and at the levels below and above if the way here led over them; null: not known. */
  let cost: { here: number | null; below: number | null; above: number | null } = {
    here: null,
    below: null,
    above: null,
  };
  /** How many windows ago more may be tried; below 0: it is too early. */
  let windowsReady = 0;
  const raised = (): number | null => (level < max ? Math.min(max, 2 * level) : null);
  const lowered = (): number | null => {
    windowsReady = -PAUSE_WINDOWS;
    window = EMPTY;
    return level > min ? Math.max(min, Math.floor(level / 2)) : null;
  };
  const decide = (here: number): number | null => {
    const { below, above } = cost;
    cost = { here, below, above: null };
    window = EMPTY;
    if (below !== null && here > FLAT * below) return lowered();
    // Less was much quicker, so still less may be; or it was not, and more is right.
    if (above !== null) return above > FLAT * here ? lowered() : raised();
    windowsReady += 1;
    if (windowsReady <= 0) return null;
    return below === null && windowsReady > UNCOMPARED_WINDOWS ? lowered() : raised();
  };
  return {
    get level() {
      return level;
    },
    record(work) {
      if (work.level !== level) return null;
      window = { count: window.count + 1, ms: window.ms + work.ms, units: window.units + work.units };
      const isFull = window.count >= Math.max(WINDOW_LEAST, level);
      return isFull ? decide(window.ms / Math.max(1, window.units)) : null;
    },
    recordOverload: (failed) => (failed === level ? lowered() : null),
    adopt(next) {
      if (next === level) return;
      const { here } = cost;
      const isOneStep = next === raised() || next === Math.max(min, Math.floor(level / 2));
      if (!isOneStep) windowsReady = 0;
      const known = isOneStep ? here : null;
      cost = { here: null, below: next > level ? known : null, above: next < level ? known : null };
      [level, window] = [next, EMPTY];
    },
  };
}
