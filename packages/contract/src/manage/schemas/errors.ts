import { ERROR_SCHEMAS, errorOf, unauthorizedSchema } from "../../schemas/errors.ts";

/** The error envelopes of the management API: those of /v1, and a reason with every 401. */
export const MANAGE_ERROR_SCHEMAS = {
  ...ERROR_SCHEMAS,
  UNAUTHORIZED_ERROR: errorOf("UNAUTHORIZED_ERROR", unauthorizedSchema),
} as const;
