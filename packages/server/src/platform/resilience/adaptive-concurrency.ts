export interface AdaptiveConcurrencyOptions {
  /** The initial and lowest level. */
  readonly min: number;
  readonly max: number;
}

/** One piece of work that succeeded. */
interface MeasuredWork {
  /** The level when the work began; work from before a change says nothing about the current level. */
  readonly level: number;
  readonly ms: number;
  /** What the time depends on besides the load: tokens, rows. */
  readonly units: number;
}

/**
 * Learns how much concurrent work is right for a server of unknown size from the time per unit: the level doubles while
 * a unit takes about as long as before, and halves when it takes longer. A server that works on one thing at a time
 * takes twice as long for twice as much work; a server with spare capacity takes equally long.
 *
 * It only decides. The level itself may be shared by several processes, and `adopt` sets the one in force.
 */
export interface AdaptiveConcurrency {
  readonly level: number;
  /** @returns the level to change to; null: no change. */
  record(work: MeasuredWork): number | null;
  /** Records that work failed because there was too much at once. @returns the level to change to; null: no change. */
  recordOverload(level: number): number | null;
  adopt(level: number): void;
}

/** A unit may take this much longer at twice the level: total throughput is then a third higher. */
const FLAT = 1.5;
/** The least number of pieces of work to measure before a decision; at higher levels, as many as the level. */
const WINDOW_LEAST = 8;
/** How many windows to stay at a level after a higher one was too much. */
const PAUSE_WINDOWS = 8;
/**
 * How many windows to stay at a level that was reached without comparing it with the level below, until it is compared.
 */
const UNCOMPARED_WINDOWS = 1;

const EMPTY = { count: 0, ms: 0, units: 0 };

export function createAdaptiveConcurrency({ min, max }: AdaptiveConcurrencyOptions): AdaptiveConcurrency {
  let level = Math.min(min, max);
  let window = EMPTY;
  /**
   * Milliseconds per unit at this level, and at the level below or above if that was the previous one; null: not known.
   */
  let cost: { here: number | null; below: number | null; above: number | null } = {
    here: null,
    below: null,
    above: null,
  };
  /** How many windows ago a higher level could first be tried; below 0: it is too early. */
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
    // If this level is much quicker than the one above, a lower one may be quicker still. Otherwise the higher is
    // right.
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
