import { ERROR_SCHEMAS, errorOf, unauthorizedSchema } from "../../schemas/errors.ts";

/** The management API's error envelopes: the same as under /v1, plus a reason with every 401. */
export const MANAGE_ERROR_SCHEMAS = {
  ...ERROR_SCHEMAS,
  UNAUTHORIZED_ERROR: errorOf("UNAUTHORIZED_ERROR", unauthorizedSchema),
} as const;
