import { z } from "zod";
import { leaf, report } from "../../schema-leaves.ts";
import type { EndpointSchemas } from "../../schemas.ts";
import type { Client, ClientAuthorization, ClientAuthorizationBody, ClientTokenBody } from "../keys.ts";
import { integerLeaf, none, scopesLeaf, textLeaf } from "./leaves.ts";

const CLIENT_ID_LENGTH_MAX = 4_000;
const ADDRESS_LENGTH_MAX = 500;
const STATE_LENGTH_MAX = 2_000;
const CAP_MAX = 1_000_000_000_000;
const DAYS_MAX = 365;

const clientSchema: z.ZodType<Client> = z.strictObject({ name: z.string(), redirectUri: z.string() });
const authorizationSchema: z.ZodType<ClientAuthorization> = z.strictObject({ redirectTo: z.string() });

/** SHA-256 as Base64url. */
const challengeLeaf = leaf<string>({ type: "string", pattern: "^[A-Za-z0-9_-]{43}$" }, (payload) => {
  if (typeof payload.value === "string" && /^[A-Za-z0-9_-]{43}$/.test(payload.value)) return;
  const message = "codeChallenge must be the SHA-256 of the verifier as Base64url, 43 characters (PKCE, S256).";
  report(payload, { code: "invalid_value", message });
});

const program = {
  clientId: textLeaf("clientId", CLIENT_ID_LENGTH_MAX),
  redirectUri: textLeaf("redirectUri", ADDRESS_LENGTH_MAX),
};
const request = {
  ...program,
  codeChallenge: challengeLeaf,
  state: textLeaf("state", STATE_LENGTH_MAX).optional(),
};
const days = integerLeaf("days", [1, DAYS_MAX]);

export const clientsSchemas = {
  showClient: { params: none, query: z.object(program), body: null, data: clientSchema },
  authorizeClient: {
    params: none,
    query: none,
    body: z.object({
      ...request,
      monthlyCap: integerLeaf("monthlyCap", [1, CAP_MAX]).nullable(),
      days,
    }) satisfies z.ZodType<ClientAuthorizationBody>,
    data: authorizationSchema,
  },
  authorizeClientWithToken: {
    params: none,
    query: none,
    body: z.object({ ...request, scopes: scopesLeaf, days }) satisfies z.ZodType<ClientTokenBody>,
    data: authorizationSchema,
  },
} satisfies Record<string, EndpointSchemas>;
