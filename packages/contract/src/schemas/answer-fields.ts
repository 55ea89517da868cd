import { z } from "zod";

/*
 * Responses: strict objects with exactly the specified members, used by tests, clients, and the OpenAPI document.
 */

/** UTC, always three decimals. */
export const timeSchema = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  .meta({ format: "date-time" });
/** Returned in lower case. */
export const idSchema = z
  .guid()
  .refine((id) => id === id.toLowerCase(), "ids are emitted in lower case")
  .meta({ format: "uuid" });
export const countSchema = z.int().min(0);
