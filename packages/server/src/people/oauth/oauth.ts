/** OAuth access for programs: what a person decides in the console, and what the program does before and after. */
import { CARRIED_CODE, type ClientRequest } from "@promptd/contract/manage";
import { randomBytes } from "node:crypto";
import type { Endpoint, ManageHandlers } from "../../http/endpoint.ts";
import { invalid } from "../../platform/problem.ts";
import type { PeopleContext } from "../people-context.ts";
import { ownerOf } from "../people-manage-routes.ts";
import { findClient } from "./clients.ts";
import { identifierOf, oauthEndpoints, type Authorization } from "./oauth-endpoints.ts";

export interface OAuth {
  readonly endpoints: readonly Endpoint[];
  readonly handlers: Pick<ManageHandlers, "showClient" | "authorizeClient" | "authorizeClientWithToken">;
}

const CODE_BYTES = 32;
/** A browser returns the code at once; a person who carries it to another machine types it in there. */
const CODE_SECONDS = 60;
const CARRIED_CODE_SECONDS = 600;

export function createOAuth(people: PeopleContext): OAuth {
  const { publicUrl, sessions, clientsKey } = people;
  const requireClient = (
    { clientId, redirectUri }: Pick<ClientRequest, "clientId" | "redirectUri">,
    part: "query" | "body",
  ) => {
    const client = findClient(clientId, redirectUri, clientsKey);
    if (client !== null) return client;
    const message = "This program is not registered with this redirect address. Register it again.";
    throw invalid([{ path: [part, "clientId"], code: "invalid_value", message }]);
  };
  const authorize = async (
    request: ClientRequest,
    granted: Pick<Authorization, "accountId" | "personId" | "terms" | "days">,
  ): Promise<string> => {
    const { clientId, redirectUri, codeChallenge, state } = request;
    const { name: clientName } = requireClient(request, "body");
    const code = randomBytes(CODE_BYTES).toString("base64url");
    const authorization: Authorization = { ...granted, clientId, clientName, redirectUri, codeChallenge };
    const seconds = redirectUri === CARRIED_CODE ? CARRIED_CODE_SECONDS : CODE_SECONDS;
    await sessions.storeOnce(identifierOf(code), JSON.stringify(authorization), seconds);
    const address = new URL(redirectUri);
    address.searchParams.set("code", code);
    if (state !== undefined) address.searchParams.set("state", state);
    address.searchParams.set("iss", publicUrl());
    return address.href;
  };
  return {
    endpoints: oauthEndpoints(people),
    handlers: {
      showClient: async ({ query }) => ({ data: requireClient(query, "query") }),
      authorizeClient: async ({ body: { monthlyCap, days, ...request } }, context) => ({
        data: { redirectTo: await authorize(request, { ...ownerOf(context), terms: { monthlyCap }, days }) },
      }),
      authorizeClientWithToken: async ({ body: { scopes, days, ...request } }, context) => ({
        data: { redirectTo: await authorize(request, { ...ownerOf(context), terms: { scopes }, days }) },
      }),
    },
  };
}
