import type { ManageEndpointName, ManageShapes } from "./endpoints.ts";
import { systemExamples } from "./examples/system.ts";
import { clientsExamples } from "./examples/clients.ts";
import { keysExamples } from "./examples/keys.ts";
import { passkeysExamples } from "./examples/passkeys.ts";
import { peopleExamples } from "./examples/people.ts";
import { usageExamples } from "./examples/usage.ts";
import { membersExamples } from "./examples/members.ts";
import { creditsAndModelsExamples } from "./examples/credits-and-models.ts";
import { promptsExamples } from "./examples/prompts.ts";
import { marketplaceExamples } from "./examples/marketplace.ts";
import { runsExamples } from "./examples/runs.ts";
import { webhooksExamples } from "./examples/webhooks.ts";
import { ERROR_EXAMPLES, type ExamplesOf } from "../examples/endpoint-examples.ts";

/** For each endpoint of the management API: a request as a caller writes it, and the response. */
export const MANAGE_EXAMPLES: ExamplesOf<Pick<ManageShapes, ManageEndpointName>> = {
  ...peopleExamples,
  ...passkeysExamples,
  ...keysExamples,
  ...clientsExamples,
  ...usageExamples,
  ...membersExamples,
  ...promptsExamples,
  ...marketplaceExamples,
  ...runsExamples,
  ...webhooksExamples,
  ...creditsAndModelsExamples,
  ...systemExamples,
};

/** Error envelopes for each code, without their `status`. */
export const MANAGE_ERROR_EXAMPLES = {
  ...ERROR_EXAMPLES,
  UNAUTHORIZED_ERROR: {
    signedOut: {
      message: "You are not signed in. Sign in, or send a management token.",
      data: { reason: "SIGN_IN_REQUIRED" },
    },
    scope: {
      message: "This endpoint needs a management token with the scope keys:write; the token sent has prompts:read.",
      data: { reason: "SCOPE_REQUIRED", scope: "keys:write" },
    },
  },
} as const;
