import type { WriteAudit } from "../endpoint.ts";
import type { Exchange } from "./exchange.ts";

/**
 * The row that a request leaves in the audit log, by the name of the entry in the contract. A request that nobody was
 * admitted with leaves none: it has changed nothing, and anybody could fill the log.
 * @param outcome how the request ended: `SUCCESS` or the code of its error.
 * @param data the content of its answer.
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
  if (caller === null && subject === null) return; // a link was opened, and nothing is done yet
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

/** A file may hold hundreds of prompts. */
const SUBJECTS_MAX = 20;

/** The path parameter of that name, else the member of the answer, else that of the rows of the answer's list. */
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
  if (typeof data !== "object" || data === null) return null;
  const member = Object.entries(data).find(([one]) => one === name);
  return typeof member?.[1] === "string" ? member[1] : null;
}
