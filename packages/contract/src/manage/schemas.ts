import type { EndpointSchemas } from "../schemas.ts";
import { installationSchemas } from "./schemas/installation.ts";
import { clientsSchemas } from "./schemas/clients.ts";
import { keysSchemas } from "./schemas/keys.ts";
import { passkeysSchemas } from "./schemas/passkeys.ts";
import { peopleSchemas } from "./schemas/people.ts";
import { usageSchemas } from "./schemas/usage.ts";
import { membersSchemas } from "./schemas/members.ts";
import { operationsSchemas } from "./schemas/operations.ts";
import { promptsSchemas } from "./schemas/prompts.ts";
import { marketplaceSchemas } from "./schemas/marketplace.ts";
import { runsSchemas } from "./schemas/runs.ts";
import { webhooksSchemas } from "./schemas/webhooks.ts";

export { MANAGE_ERROR_SCHEMAS } from "./schemas/errors.ts";
export { textField } from "./schemas/request-fields.ts";

/** By the names of MANAGE_ENDPOINTS. */
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
  ...operationsSchemas,
  ...installationSchemas,
} satisfies Record<string, EndpointSchemas>;
