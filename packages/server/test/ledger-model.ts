/** The ledger as a sum of numbers: what the database's functions must agree with, act for act. */
import * as fc from "fast-check";

const ACCOUNTS = 3;
const RUNS = 4;
const KEYS = 4;

export type Act = { readonly account: number; readonly run: number } & (
  | { readonly kind: "grant"; readonly amount: number; readonly key: number; readonly expiresIn: number | null }
  | { readonly kind: "hold"; readonly amount: number }
  | { readonly kind: "finish"; readonly credits: number }
  | { readonly kind: "expire" }
);

const place = { account: fc.nat(ACCOUNTS - 1), run: fc.nat(RUNS - 1) };
const amount = fc.integer({ min: 1, max: 30 });

/** Few accounts, runs and keys, so that duplicates and repeats of every kind come up by themselves. */
export const ledgerActs: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    ...place,
    kind: fc.constant("grant" as const),
    amount,
    key: fc.nat(KEYS - 1),
    expiresIn: fc.constantFrom(null, 1_000),
  }),
  fc.record({ ...place, kind: fc.constant("hold" as const), amount }),
  fc.record({ ...place, kind: fc.constant("finish" as const), credits: fc.integer({ min: 0, max: 40 }) }),
  fc.record({ ...place, kind: fc.constant("expire" as const) }),
);

interface Account {
  posted: number;
  /** Part of `posted` that will expire. */
  expiring: number;
  /** Part of `posted` whose hour has come and that is there only because a run holds it. */
  expired: number;
  keys: Set<number>;
  /** Amount of each hold; 0 once its run is final. */
  holds: Map<number, number>;
}

export class LedgerModel {
  readonly #accounts: Account[] = Array.from({ length: ACCOUNTS }, () => ({
    posted: 0,
    expiring: 0,
    expired: 0,
    keys: new Set(),
    holds: new Map(),
  }));

  available(account: number): number {
    const { posted, holds } = this.#at(account);
    return posted - held(holds);
  }

  /** @returns whether the act had an effect. */
  act(act: Act): boolean {
    const account = this.#at(act.account);
    switch (act.kind) {
      case "grant":
        if (account.keys.has(act.key)) return false;
        account.keys.add(act.key);
        account.posted += act.amount;
        if (act.expiresIn !== null) account.expiring += act.amount;
        return true;
      case "hold":
        if (account.holds.has(act.run)) return true; // the same run sent again is created already
        if (this.available(act.account) < act.amount) return false;
        account.holds.set(act.run, act.amount);
        return true;
      case "finish":
        return this.#finish(account, act.run, act.credits);
      case "expire":
        account.expired += account.expiring;
        account.expiring = 0;
        loseExpired(account);
        return true;
      default:
        return act satisfies never;
    }
  }

  #finish(account: Account, run: number, credits: number): boolean {
    const hold = account.holds.get(run) ?? 0;
    if (hold === 0) return false;
    const captured = Math.min(credits, hold);
    const ofExpired = Math.min(captured, account.expired); // earliest expiry first, and the rest never expires
    account.posted -= captured;
    account.expired -= ofExpired;
    account.expiring -= Math.min(captured - ofExpired, account.expiring);
    account.holds.set(run, 0);
    loseExpired(account); // what comes back from a hold after its hour is gone
    return true;
  }

  #at(index: number): Account {
    const account = this.#accounts[index];
    if (account === undefined) throw new RangeError(`no account ${index}`);
    return account;
  }
}

/** Of the expired credits, as many as runs hold stay: they were promised before they expired. */
function loseExpired(account: Account): void {
  const lost = Math.max(0, account.expired - held(account.holds));
  account.posted -= lost;
  account.expired -= lost;
}

function held(holds: ReadonlyMap<number, number>): number {
  return [...holds.values()].reduce((sum, one) => sum + one, 0);
}
