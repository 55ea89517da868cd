import type { ShapesOf } from "../../endpoints.ts";
import type { ExamplesOf } from "../../examples/endpoint-examples.ts";
import type { clientsSchemas } from "../schemas/clients.ts";

const program = {
  clientId: "eyJuIjoiQWdlbnQifQ.Zk3v0mB1Qx8cT5rJ7wLh2A",
  redirectUri: "http://127.0.0.1:33418/callback",
} as const;

const request = {
  ...program,
  codeChallenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
  state: "af0ifjsldkj",
} as const;

export const clientsExamples: ExamplesOf<ShapesOf<typeof clientsSchemas>> = {
  showClient: { parameters: program, data: { name: "Agent", redirectUri: program.redirectUri } },
  authorizeClient: {
    bodies: {
      agent: {
        ...request,
        monthlyCap: 500,
        days: 90,
      },
    },
    data: { redirectTo: `${program.redirectUri}?code=SplxlOBeZQQYbYS6WxSbIA&state=af0ifjsldkj` },
  },
  authorizeClientWithToken: {
    bodies: { commandLine: { ...request, scopes: ["prompts:write", "runs:read"], days: 90 } },
    data: { redirectTo: `${program.redirectUri}?code=SplxlOBeZQQYbYS6WxSbIA&state=af0ifjsldkj` },
  },
};
