import type { EndpointSchemas } from "../schemas.ts";
import { peopleSchemas } from "./schemas/people.ts";

export { MANAGE_ERROR_SCHEMAS } from "./schemas/errors.ts";

/** By the names of MANAGE_ENDPOINTS. */
export const manageSchemas = {
  ...peopleSchemas,
} satisfies Record<string, EndpointSchemas>;
