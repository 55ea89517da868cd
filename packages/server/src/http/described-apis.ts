/** The two APIs as their OpenAPI documents describe them. */
import { ENDPOINTS } from "@promptd/contract";
import { ENDPOINT_EXAMPLES, ERROR_EXAMPLES } from "@promptd/contract/examples";
import { ACCOUNT_HEADER, MANAGE_ENDPOINTS } from "@promptd/contract/manage";
import { MANAGE_ERROR_EXAMPLES, MANAGE_EXAMPLES } from "@promptd/contract/manage/examples";
import { MANAGE_ERROR_SCHEMAS, manageSchemas } from "@promptd/contract/manage/schemas";
import { endpointSchemas, ERROR_SCHEMAS } from "@promptd/contract/schemas";
import { openJson, openPath, openPaths } from "./open-paths.ts";
import type { DescribedApi } from "./openapi.ts";

/** `/v1`, for programs with an API key. */
export const CALLERS_API: DescribedApi = {
  info: { title: "promptd", description: "Runs published prompt versions and returns what they generate." },
  entries: ENDPOINTS,
  schemas: endpointSchemas,
  examples: ENDPOINT_EXAMPLES,
  errorSchemas: ERROR_SCHEMAS,
  errorExamples: ERROR_EXAMPLES,
  securitySchemes: {
    apiKey: { type: "http", scheme: "bearer", description: "Authorization: Bearer <API_KEY>" },
  },
  headers: [
    {
      name: "cli-agent",
      description: "resources_hash=<hash> of the models that a client knows; see the response header action-require.",
    },
  ],
  otherPaths: openPaths,
};

/** `/manage/v1`, for the console, the command line and automation. */
export const MANAGE_API: DescribedApi = {
  info: {
    title: "Management API of promptd",
    description: "Accounts, keys, prompts, runs, and credits, for signed-in people and management tokens.",
  },
  entries: MANAGE_ENDPOINTS,
  schemas: manageSchemas,
  examples: MANAGE_EXAMPLES,
  errorSchemas: MANAGE_ERROR_SCHEMAS,
  errorExamples: MANAGE_ERROR_EXAMPLES,
  securitySchemes: {
    token: { type: "http", scheme: "bearer", description: "Authorization: Bearer <management token>" },
    session: {
      type: "apiKey",
      in: "cookie",
      name: "promptd.session_token",
      description: `Set by a sign-in; named __Host-promptd.session_token over https. Every write also needs the header ${ACCOUNT_HEADER}.`,
    },
  },
  headers: [
    {
      name: ACCOUNT_HEADER,
      description:
        "Id of the account to act in; the person must belong to it. Absent: the personal account. A token names its own account.",
    },
  ],
  otherPaths: () => ({
    "/manage/openapi.json": openPath("getManageOpenApi", "This document", {
      "200": openJson("OpenAPI 3.1", { openapi: "3.1.0", info: { title: "Management API of promptd" }, paths: {} }),
    }),
  }),
};
