import { z } from "zod";
import { countSchema } from "./answer-fields.ts";

export const meSchema = z.strictObject({
  username: z.string().nullable(),
  displayName: z.string().nullable(),
  /** Sum of USER_FLAGS. */
  userFlags: countSchema,
});

export const creditsSchema = z.strictObject({
  /** Credits that can be spent now: granted minus spent, minus held by runs in progress, minus expired. */
  credits: z.int(),
});
