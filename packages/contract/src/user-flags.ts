/** Bits of `userFlags`; a bit is never reused. */
export const USER_FLAGS = { planActive: 1, author: 2 } as const;
