import { z } from "zod";
import { defineField, report } from "../../schemas/request-fields.ts";
import type { EndpointSchemas } from "../../schemas/endpoint-schemas.ts";
import type { Client, ClientAuthorization, ClientAuthorizationBody, ClientTokenBody } from "../keys.ts";
import { integerField, none, scopesField, textField } from "./request-fields.ts";

const CLIENT_ID_LENGTH_MAX = 4_000;
const ADDRESS_LENGTH_MAX = 500;
const STATE_LENGTH_MAX = 2_000;
const CAP_MAX = 1_000_000_000_000;
const DAYS_MAX = 365;

const clientSchema: z.ZodType<Client> = z.strictObject({ name: z.string(), redirectUri: z.string() });
const authorizationSchema: z.ZodType<ClientAuthorization> = z.strictObject({ redirectTo: z.string() });

/** SHA-256 as Base64url. */
const challengeField = defineField<string>({ type: "string", pattern: "^[A-Za-z0-9_-]{43}$" }, (payload) => {
  if (typeof payload.value === "string" && /^[A-Za-z0-9_-]{43}$/.test(payload.value)) return;
  const message = "codeChallenge must be the SHA-256 of the verifier as Base64url, 43 characters (PKCE, S256).";
  report(payload, { code: "invalid_value", message });
});

const program = {
  clientId: textField("clientId", CLIENT_ID_LENGTH_MAX),
  redirectUri: textField("redirectUri", ADDRESS_LENGTH_MAX),
};
const request = {
  ...program,
  codeChallenge: challengeField,
  state: textField("state", STATE_LENGTH_MAX).optional(),
};
const days = integerField("days", [1, DAYS_MAX]);

export const clientsSchemas = {
  showClient: { params: none, query: z.object(program), body: null, data: clientSchema },
  authorizeClient: {
    params: none,
    query: none,
    body: z.object({
      ...request,
      monthlyCap: integerField("monthlyCap", [1, CAP_MAX]).nullable(),
      days,
    }) satisfies z.ZodType<ClientAuthorizationBody>,
    data: authorizationSchema,
  },
  authorizeClientWithToken: {
    params: none,
    query: none,
    body: z.object({ ...request, scopes: scopesField, days }) satisfies z.ZodType<ClientTokenBody>,
    data: authorizationSchema,
  },
} satisfies Record<string, EndpointSchemas>;
