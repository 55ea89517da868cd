import { isVisible, steeringCharacter } from "@promptd/contract";
import type { Operator } from "@promptd/server/operator";
import { CommandFailure, type CommandIo } from "../../command.ts";

/** Loads the server only now, and shows what an operator did wrong as a message without a stack. */
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

/** A flag that has no default and no meaning when it is left out. */
export function requireText(value: string | undefined, flag: string, example: string): string {
  if (value !== undefined && value.trim() !== "") return value.trim();
  throw new CommandFailure(`${flag} is required.`, { hint: `Example: ${flag} ${example}` });
}

export function readPlan(value: string): "pro" | "none" {
  if (value === "pro" || value === "none") return value;
  throw new CommandFailure(`--plan must be pro or none, got "${value}".`);
}

const TEXT_LENGTH_MAX = 200;

/** A flag that may be left out, but not given empty: a name that cannot be seen helps nobody. */
export function readText(value: string | undefined, flag: string, max = TEXT_LENGTH_MAX): string | undefined {
  if (value === undefined) return undefined;
  const text = value.normalize("NFC").trim();
  const length = Array.from(text).length;
  if (length === 0 || length > max)
    throw new CommandFailure(`${flag} must have 1 to ${max} characters, got ${length}.`);
  const steering = steeringCharacter(text);
  if (steering !== null) throw new CommandFailure(`${flag} contains ${steering}, which cannot be seen. Leave it out.`);
  if (!isVisible(text)) throw new CommandFailure(`${flag} must have a character that can be seen.`);
  return text;
}

/** Why an operator did something that is recorded forever. */
export function requireReason(value: string | undefined, example: string): string {
  const reason = readText(value, "--reason");
  return reason ?? requireText(reason, "--reason", `"${example}"`);
}

/** More than any account needs, and far below where sums of it would lose digits. */
const AMOUNT_MAX = 1_000_000_000_000;

/** A whole number of credits from `min` on. */
export function readAmount(value: string, flag: string, min: number): number {
  const amount = /^\d{1,13}$/.test(value) ? Number(value) : Number.NaN;
  if (amount >= min && amount <= AMOUNT_MAX) return amount;
  throw new CommandFailure(`${flag} must be a whole number from ${min} to ${AMOUNT_MAX}, got "${value}".`);
}

/** A whole number of credits, negative too. */
export function readSignedAmount(value: string, flag: string): number {
  const amount = /^-?\d{1,13}$/.test(value) ? Number(value) + 0 : Number.NaN; // + 0: "-0" is 0
  if (Math.abs(amount) <= AMOUNT_MAX) return amount;
  throw new CommandFailure(`${flag} must be a whole number from -${AMOUNT_MAX} to ${AMOUNT_MAX}, got "${value}".`);
}

/** A time that is over is taken, since a record may be of old, but is most often a slip of the year. */
export function warnOfPast(io: CommandIo, flag: string, ms: number | null, meaning: string): void {
  if (ms === null || ms > Date.now()) return;
  io.note(`${flag} is in the past: ${new Date(ms).toISOString()}. ${meaning}`);
}
