import { z } from "zod";

/** The envelope of every successful response under /v1. */
export function successEnvelopeSchema<Data extends z.ZodType>(data: Data) {
  return z.strictObject({ status: z.literal("SUCCESS"), data });
}
