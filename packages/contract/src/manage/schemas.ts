import type { EndpointSchemas } from "../schemas/endpoint-schemas.ts";
import { systemSchemas } from "./schemas/system.ts";
import { clientsSchemas } from "./schemas/clients.ts";
import { keysSchemas } from "./schemas/keys.ts";
import { passkeysSchemas } from "./schemas/passkeys.ts";
import { peopleSchemas } from "./schemas/people.ts";
import { usageSchemas } from "./schemas/usage.ts";
import { membersSchemas } from "./schemas/members.ts";
import { creditsAndModelsSchemas } from "./schemas/credits-and-models.ts";
import { promptsSchemas } from "./schemas/prompts.ts";
import { marketplaceSchemas } from "./schemas/marketplace.ts";
import { runsSchemas } from "./schemas/runs.ts";
import { webhooksSchemas } from "./schemas/webhooks.ts";

export { MANAGE_ERROR_SCHEMAS } from "./schemas/errors.ts";
export { shownNameField } from "./schemas/request-fields.ts";

/** Keyed by the names in MANAGE_ENDPOINTS. */
export const manageSchemas = {
  ...peopleSchemas,
  ...passkeysSchemas,
  ...keysSchemas,
  ...clientsSchemas,
  ...usageSchemas,
  ...membersSchemas,
  ...promptsSchemas,
  ...marketplaceSchemas,
  ...runsSchemas,
  ...webhooksSchemas,
  ...creditsAndModelsSchemas,
  ...systemSchemas,
} satisfies Record<string, EndpointSchemas>;
