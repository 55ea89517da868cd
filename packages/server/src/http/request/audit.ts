import type { WriteAudit } from "../endpoint.ts";
import type { Exchange } from "./exchange.ts";

/**
 * The row that a write leaves in the audit log, by the name of the entry in the contract. A request that nobody was
 * admitted with leaves none: it has changed nothing, and anybody could fill the log.
 */
export async function audit(exchange: Exchange, writeAudit: WriteAudit | null, { outcome, data }: End): Promise<void> {
  const { admission, endpoint } = exchange;
  if (writeAudit === null || endpoint.name === null) return;
  const caller = admission?.kind === "admitted" ? admission.caller : null;
  if (caller === null && (endpoint.auth !== "none" || outcome !== "SUCCESS")) return;
  await writeAudit({
    action: endpoint.name,
    caller,
    subject: endpoint.subject === undefined ? null : subjectOf(endpoint.subject, exchange.params, data),
    address: exchange.address,
    requestId: exchange.requestId,
    outcome,
  });
}

/** How a request ended: `SUCCESS` or the code of its error, and the content of its answer. */
interface End {
  readonly outcome: string;
  readonly data: unknown;
}

/** The path parameter of that name, else the member of the answer. */
function subjectOf(name: string, params: Exchange["params"], data: unknown): string | null {
  const given = params[name];
  if (given !== undefined) return given.toLowerCase();
  const member =
    typeof data === "object" && data !== null ? Object.entries(data).find(([one]) => one === name) : undefined;
  return typeof member?.[1] === "string" ? member[1] : null;
}
