import { memberOf } from "../../platform/json.ts";
import type { WriteAudit } from "../endpoint.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Writes the request's row in the audit log, under the name of its entry in the contract. A request that was not
 * admitted leaves no row: it has changed nothing, and otherwise anyone could fill the log.
 * @param outcome how the request ended: `SUCCESS` or its error code.
 * @param data the content of the response.
 */
export async function audit(
  exchange: Exchange,
  writeAudit: WriteAudit | null,
  outcome: string,
  data: unknown,
): Promise<void> {
  const { admission, endpoint } = exchange;
  if (writeAudit === null || endpoint.name === null) return;
  const caller = admission?.kind === "admitted" ? admission.caller : null;
  if (caller === null && (endpoint.auth !== "none" || outcome !== "SUCCESS")) return;
  const subject = endpoint.subject === undefined ? null : subjectOf(endpoint.subject, exchange.params, data);
  if (caller === null && subject === null) return; // somebody opened a link; nothing has happened yet
  await writeAudit({
    action: endpoint.name,
    caller,
    personId: endpoint.subject === "personId" ? subject : null,
    subject,
    address: exchange.address,
    requestId: exchange.requestId,
    outcome,
  });
}

/** A prompt file may contain hundreds of prompts. */
const SUBJECTS_MAX = 20;

/**
 * Takes the path parameter `name`, else the response's member of that name, else that member of the rows in its list.
 */
function subjectOf(name: string, params: Exchange["params"], data: unknown): string | null {
  const given = params[name];
  if (given !== undefined) return given.toLowerCase().replaceAll("\0", "\uFFFD"); // PostgreSQL has no U+0000
  const own = textOf(data, name);
  if (own !== null || typeof data !== "object" || data === null) return own;
  const rows: unknown[] = Object.values(data).find(Array.isArray) ?? [];
  const named = rows.flatMap((row) => textOf(row, name) ?? []);
  const others = named.length > SUBJECTS_MAX ? [`and ${named.length - SUBJECTS_MAX} more`] : [];
  return named.length === 0 ? null : [...named.slice(0, SUBJECTS_MAX), ...others].join(", ");
}

function textOf(data: unknown, name: string): string | null {
  const member = memberOf(data, name);
  return typeof member === "string" ? member : null;
}
