export interface Me {
  readonly username: string | null;
  readonly displayName: string | null;
  /** Sum of USER_FLAGS. */
  readonly userFlags: number;
}

/** Bits of `userFlags`; a bit is never reused. */
export const USER_FLAGS = { planActive: 1, author: 2 } as const;

export interface Credits {
  /** What can be spent now: granted, minus spent, minus held by runs in progress, minus expired. */
  readonly credits: number;
}
