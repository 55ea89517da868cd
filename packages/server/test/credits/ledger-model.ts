/** The ledger as plain sums, which the database's functions must match step by step. */
import * as fc from "fast-check";

const ACCOUNTS = 3;
const RUNS = 4;
const KEYS = 4;

/** When a grant expires: in the first hour or in the second; null: never. */
export type Hour = 1 | 2;

export type Act = { readonly account: number; readonly run: number } & (
  | { readonly kind: "grant"; readonly amount: number; readonly key: number; readonly hour: Hour | null }
  /** `share`: what the author of its prompt earns, in percent; the author is the next account. */
  | { readonly kind: "hold"; readonly amount: number; readonly share: number }
  | { readonly kind: "finish"; readonly credits: number }
  /** By an operator; 0 is refused, because every balance matches its journal. */
  | { readonly kind: "adjust"; readonly amount: number }
  /**
   * All grants up to this hour expire; that, and what authors have earned, is written to the journal now, or by whatever
   * happens next.
   */
  | { readonly kind: "expire"; readonly hour: Hour; readonly isSwept: boolean }
);

const target = { account: fc.nat(ACCOUNTS - 1), run: fc.nat(RUNS - 1) };
const amount = fc.integer({ min: 1, max: 30 });
const someHour = fc.constantFrom<Hour[]>(1, 2);

/** Few accounts, runs, and keys, so that duplicates and repeats of every kind occur on their own. */
export const ledgerActions: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    ...target,
    kind: fc.constant("grant" as const),
    amount,
    key: fc.nat(KEYS - 1),
    hour: fc.option(someHour),
  }),
  fc.record({ ...target, kind: fc.constant("hold" as const), amount, share: fc.constantFrom(0, 0, 33, 70, 100) }),
  fc.record({ ...target, kind: fc.constant("adjust" as const), amount: fc.integer({ min: -30, max: 30 }) }),
  fc.record({ ...target, kind: fc.constant("finish" as const), credits: fc.integer({ min: 0, max: 40 }) }),
  fc.record({ ...target, kind: fc.constant("expire" as const), hour: someHour, isSwept: fc.boolean() }),
);

interface Hold {
  /** 0 once its run is final. */
  amount: number;
  /** The part of `amount` that comes from expired grants. */
  backing: number;
  readonly share: number;
}

interface Account {
  posted: number;
  /** Parts of `posted` that will expire. */
  readonly expiring: Map<Hour, number>;
  readonly keys: Set<number>;
  readonly holds: Map<number, Hold>;
  /** Everything it has earned as an author, in hundredths of a credit; only whole credits can be spent. */
  earned: number;
}

/** Who earns from the runs of an account. */
export function authorOf(account: number): number {
  return (account + 1) % ACCOUNTS;
}

export class LedgerModel {
  readonly #accounts: Account[] = Array.from({ length: ACCOUNTS }, () => ({
    posted: 0,
    expiring: new Map(),
    keys: new Set(),
    holds: new Map(),
    earned: 0,
  }));

  available(account: number): number {
    const { posted, holds, earned } = this.#at(account);
    return [...holds.values()].reduce((left, hold) => left - hold.amount, posted + Math.floor(earned / 100));
  }

  /** @returns whether the step had an effect. */
  act(act: Act): boolean {
    const account = this.#at(act.account);
    switch (act.kind) {
      case "grant":
        if (account.keys.has(act.key)) return false;
        account.keys.add(act.key);
        account.posted += act.amount;
        if (act.hour !== null) account.expiring.set(act.hour, (account.expiring.get(act.hour) ?? 0) + act.amount);
        return true;
      case "hold":
        if (account.holds.has(act.run)) return true; // a repeated run has already been created
        if (this.available(act.account) < act.amount) return false;
        account.holds.set(act.run, { amount: act.amount, backing: 0, share: act.share });
        return true;
      case "adjust":
        if (act.amount === 0 || this.available(act.account) + act.amount < 0) return false;
        account.posted += act.amount;
        if (act.amount < 0) spendExpiring(account, -act.amount);
        return true;
      case "finish":
        return finish(account, this.#at(authorOf(act.account)), act);
      case "expire":
        for (const hour of HOURS) if (hour <= act.hour) expire(account, hour);
        return true;
      default:
        return act satisfies never;
    }
  }

  #at(index: number): Account {
    const account = this.#accounts[index];
    if (account === undefined) throw new RangeError(`no account ${index}`);
    return account;
  }
}

const HOURS: readonly Hour[] = [1, 2];

/** Expired credits back the open holds, oldest first; the rest is written off. */
function expire(account: Account, hour: Hour): void {
  let left = account.expiring.get(hour) ?? 0;
  account.expiring.delete(hour);
  for (const [, hold] of [...account.holds].sort(([one], [other]) => one - other)) {
    const backing = Math.min(left, hold.amount - hold.backing);
    hold.backing += backing;
    left -= backing;
  }
  account.posted -= left;
}

/** A run pays with the backing of its hold, then with what expires earliest; unused backing is written off. */
function finish(
  account: Account,
  author: Account,
  { run, credits }: { readonly run: number; readonly credits: number },
): boolean {
  const { amount: held, backing, share } = account.holds.get(run) ?? { amount: 0, backing: 0, share: 0 };
  if (held === 0) return false;
  const captured = Math.min(credits, held);
  account.holds.set(run, { amount: 0, backing: 0, share });
  author.earned += captured * share;
  account.posted -= Math.max(captured, backing);
  spendExpiring(account, captured - Math.min(captured, backing));
  return true;
}

/** What expires earliest goes first. */
function spendExpiring(account: Account, spent: number): void {
  let left = spent;
  for (const hour of HOURS) {
    const part = account.expiring.get(hour) ?? 0;
    account.expiring.set(hour, part - Math.min(part, left));
    left -= Math.min(part, left);
  }
}
