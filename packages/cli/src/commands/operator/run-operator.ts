import { CommandFailure, type CommandIo } from "../../command.ts";

type Server = typeof import("@promptd/server/operator");
type Operator = import("@promptd/server/operator").Operator;

/** Loads the server only now, and shows what an operator did wrong as a message without a stack. */
export async function runOnServer<Result>(work: (server: Server) => Promise<Result>): Promise<Result> {
  const server = await import("@promptd/server/operator");
  try {
    return await work(server);
  } catch (error) {
    const message = server.explainFailure(error);
    throw message === null ? error : new CommandFailure(message, { cause: error });
  }
}

export function runAsOperator<Result>(io: CommandIo, work: (operator: Operator) => Promise<Result>): Promise<Result> {
  return runOnServer((server) => server.withOperator(io.env, work));
}

/** A flag that has no default and no meaning when it is left out. */
export function requireText(value: string | undefined, flag: string, example: string): string {
  if (value !== undefined && value.trim() !== "") return value;
  throw new CommandFailure(`${flag} is required.`, { hint: `Example: ${flag} ${example}` });
}

export function readPlan(value: string | undefined): "pro" | "none" {
  if (value === "pro" || value === "none") return value;
  throw new CommandFailure(`--plan must be pro or none, got "${value ?? ""}".`);
}

/** Whole number from `min` up to what the ledger can hold. */
export function readAmount(value: string, flag: string, min: number): number {
  const amount = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
  if (amount >= min) return amount;
  throw new CommandFailure(`${flag} must be a whole number from ${min}, got "${value}".`);
}

/** @returns milliseconds since 1970, or null when nothing was given. */
export function readTime(value: string | undefined, flag: string): number | null {
  if (value === undefined) return null;
  const ms = /^\d{4}-\d\d-\d\d/.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isFinite(ms)) return ms;
  throw new CommandFailure(`${flag} must be a time such as 2027-01-31T00:00:00Z, got "${value}".`);
}
