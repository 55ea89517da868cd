import { z } from "zod";
import { type EventStream, OUTPUT_TYPES, type OutputItem, type Run, RUN_STATUSES, type RunEvent } from "../runs.ts";
import { countSchema, idSchema } from "./answer-fields.ts";

export const outputItemSchema = z.strictObject({
  type: z.enum(OUTPUT_TYPES),
  data: z.string(),
}) satisfies z.ZodType<OutputItem>;

export const runSchema: z.ZodType<Run> = z.strictObject({
  runId: idSchema,
  outputs: z.array(outputItemSchema),
  runStatus: z.enum(RUN_STATUSES),
  tokens: countSchema.meta({ description: "Credits charged; 0 if the run is unfinished, failed, or free." }),
});

const runEventSchema: z.ZodType<RunEvent> = z.discriminatedUnion("event", [
  z.strictObject({
    event: z.literal("status"),
    data: z.strictObject({ runId: idSchema, runStatus: z.enum(RUN_STATUSES) }),
  }),
  z.strictObject({
    event: z.literal("text"),
    id: z.string(),
    data: z.strictObject({ index: countSchema, call: countSchema, text: z.string() }),
  }),
  z.strictObject({ event: z.literal("output"), data: outputItemSchema.extend({ index: countSchema }) }),
  z.strictObject({ event: z.literal("done"), data: runSchema }),
]);

/** In the order in which they are sent. */
export const runEventStreamSchema: z.ZodType<EventStream> = z.strictObject({ events: z.array(runEventSchema) });
