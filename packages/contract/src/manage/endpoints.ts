import { systemEndpoints } from "./endpoints/system.ts";
import type { EndpointEntry } from "../endpoints.ts";
import { clientsEndpoints } from "./endpoints/clients.ts";
import { keysEndpoints } from "./endpoints/keys.ts";
import { passkeysEndpoints } from "./endpoints/passkeys.ts";
import { peopleEndpoints } from "./endpoints/people.ts";
import { usageEndpoints } from "./endpoints/usage.ts";
import { membersEndpoints } from "./endpoints/members.ts";
import { creditsAndModelsEndpoints } from "./endpoints/credits-and-models.ts";
import { promptsEndpoints } from "./endpoints/prompts.ts";
import { marketplaceEndpoints } from "./endpoints/marketplace.ts";
import { runsEndpoints } from "./endpoints/runs.ts";
import { webhooksEndpoints } from "./endpoints/webhooks.ts";
import type { manageSchemas } from "./schemas.ts";

/**
 * Every endpoint of the management API, by resource. The server mounts this table, the client calls it, and the docs
 * and /manage/openapi.json print it. It contains no schemas, because the client loads it.
 */
export const MANAGE_ENDPOINTS = {
  ...peopleEndpoints,
  ...passkeysEndpoints,
  ...keysEndpoints,
  ...clientsEndpoints,
  ...usageEndpoints,
  ...membersEndpoints,
  ...promptsEndpoints,
  ...marketplaceEndpoints,
  ...runsEndpoints,
  ...webhooksEndpoints,
  ...creditsAndModelsEndpoints,
  ...systemEndpoints,
} as const satisfies Record<keyof typeof manageSchemas, EndpointEntry>;

export type ManageEndpointName = keyof typeof MANAGE_ENDPOINTS;
export type { ManageShapes } from "../schema-types/manage-shapes.ts";
