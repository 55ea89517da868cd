import type { EndpointEntry } from "../../endpoints.ts";

/** Programs that request access through OAuth, and the person who decides. */
export const clientsEndpoints = {
  showClient: {
    method: "GET",
    path: "/manage/v1/clients",
    summary: "Show which program requests access through OAuth",
    auth: "session",
    role: "member",
    errors: ["VALIDATION_ERROR"],
  },
  authorizeClient: {
    method: "POST",
    path: "/manage/v1/clients",
    summary: "Give a program access: it exchanges the code in the response for an API key of the account",
    auth: "session",
    role: "owner",
    errors: ["VALIDATION_ERROR"],
  },
  authorizeClientWithToken: {
    method: "POST",
    path: "/manage/v1/clients/token",
    summary:
      "Let a program act for the person: it exchanges the code in the response for a management token of the account",
    auth: "session",
    role: "member",
    errors: ["VALIDATION_ERROR"],
  },
} as const satisfies Record<string, EndpointEntry>;
