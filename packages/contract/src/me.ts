import type { EndpointShapes } from "./schema-types/v1-shapes.ts";

export type Me = EndpointShapes["getMe"]["data"];
export type Credits = EndpointShapes["getCredits"]["data"];

/** Bits of `userFlags`; a bit is never reused. */
export const USER_FLAGS = { planActive: 1, author: 2 } as const;
