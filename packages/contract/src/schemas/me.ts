import { z } from "zod";
import { USER_FLAGS } from "../user-flags.ts";
import { countSchema } from "./answer-fields.ts";

export const meSchema = z.strictObject({
  username: z.string().nullable(),
  displayName: z.string().nullable(),
  userFlags: countSchema.meta({
    description: `The sum of ${USER_FLAGS.planActive} (the account's plan is active) and ${USER_FLAGS.author} (the account has published a prompt). More may be added.`,
  }),
});

export const creditsSchema = z.strictObject({
  credits: z.int().meta({
    description: "Credits that can be spent now: granted, minus spent, minus held by unfinished runs, minus expired.",
  }),
});
