import { isVisible, steeringCharacter } from "@promptd/contract";
import type { Operator } from "@promptd/server/operator";
import { CommandFailure, type CommandIo } from "../../command.ts";

/** Loads the server only now, and shows an operator's mistake as a message without a stack trace. */
export async function runOnServer<Result>(
  work: (server: typeof import("@promptd/server/operator")) => Promise<Result>,
): Promise<Result> {
  const server = await import("@promptd/server/operator");
  try {
    return await work(server);
  } catch (error) {
    const message = server.explainFailure(error);
    throw message === null ? error : new CommandFailure(message, { cause: error });
  }
}

export function runAsOperator<Result>(io: CommandIo, work: (operator: Operator) => Promise<Result>): Promise<Result> {
  return runOnServer((server) => server.withOperator(io.env, work, io.command));
}

export function readPlan(value: string): "pro" | "none" {
  if (value === "pro" || value === "none") return value;
  throw new CommandFailure(`--plan must be pro or none, got "${value}".`);
}

const TEXT_LENGTH_MAX = 200;

/** Reads a flag that must not be empty: an invisible name helps nobody. */
export function readText(value: string, flag: string, max?: number): string;
export function readText(value: string | undefined, flag: string, max?: number): string | undefined;
export function readText(value: string | undefined, flag: string, max = TEXT_LENGTH_MAX): string | undefined {
  if (value === undefined) return undefined;
  const text = value.normalize("NFC").trim();
  const length = Array.from(text).length;
  if (length === 0 || length > max)
    throw new CommandFailure(`${flag} must have 1 to ${max} characters, got ${length}.`);
  const steering = steeringCharacter(text);
  if (steering !== null) throw new CommandFailure(`${flag} contains ${steering}, which is invisible. Remove it.`);
  if (!isVisible(text)) throw new CommandFailure(`${flag} must contain a visible character.`);
  return text;
}

/** More than any account needs, and small enough that sums never lose digits. */
const AMOUNT_MAX = 1_000_000_000_000;

/** Reads a whole number of credits of at least `min`. */
export function readAmount(value: string, flag: string, min: number): number {
  const amount = /^\d{1,13}$/.test(value) ? Number(value) : Number.NaN;
  if (amount >= min && amount <= AMOUNT_MAX) return amount;
  throw new CommandFailure(`${flag} must be a whole number from ${min} to ${AMOUNT_MAX}, got "${value}".`);
}

/** Reads a whole number of credits, which may be negative. */
export function readSignedAmount(value: string, flag: string): number {
  const amount = /^-?\d{1,13}$/.test(value) ? Number(value) + 0 : Number.NaN; // + 0: "-0" is 0
  if (Math.abs(amount) <= AMOUNT_MAX) return amount;
  throw new CommandFailure(`${flag} must be a whole number from -${AMOUNT_MAX} to ${AMOUNT_MAX}, got "${value}".`);
}

/** Accepts a time in the past, because a record may be old, but warns: most often the year is a typo. */
export function warnOfPast(io: CommandIo, flag: string, ms: number | null, meaning: string): void {
  if (ms === null || ms > Date.now()) return;
  io.note(`${flag} is in the past: ${new Date(ms).toISOString()}. ${meaning}`);
}
