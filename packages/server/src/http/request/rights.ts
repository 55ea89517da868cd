import type { Unauthorized } from "@promptd/contract";
import { Problem } from "../../platform/problem.ts";
import type { Actor, Endpoint } from "../endpoint.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Checks whether an admitted person or token may use the endpoint at all, by its entry in the contract. The slice
 * checks what belongs to whom. This check reads no row, so it reveals nothing about what exists.
 * @throws Problem UNAUTHORIZED_ERROR that names what is missing.
 */
export function requireRights({ admission, route }: Exchange): void {
  const actor = admission?.kind === "admitted" ? admission.caller.actor : undefined;
  const endpoint = route?.endpoint;
  if (actor === undefined || endpoint === undefined) return;
  requireScope(actor, endpoint);
  requireRole(actor, endpoint);
}

function requireScope({ scopes }: Actor, { scope }: Endpoint): void {
  if (scopes === null || scope === undefined || scopes.includes(scope)) return;
  const granted = scopes.join(", ");
  throw missing(`This endpoint needs a management token with the scope ${scope}; the token sent has ${granted}.`, {
    reason: "SCOPE_REQUIRED",
    scope,
  });
}

function requireRole({ role, isOperator }: Actor, endpoint: Endpoint): void {
  const needed = endpoint.role;
  if (needed === undefined || needed === "member" || role === needed || (needed === "operator" && isOperator)) return;
  const [who, next] =
    needed === "operator"
      ? ["an operator of this installation", "an operator"]
      : ["an owner of this account", "an owner, or choose another account"];
  throw missing(`Only ${who} can do this, and you are not one. Ask ${next}.`, {
    reason: "ROLE_REQUIRED",
    role: needed,
  });
}

function missing(message: string, data: Unauthorized): Problem {
  return new Problem("UNAUTHORIZED_ERROR", message, { data });
}
