import { ID_FORM } from "@promptd/contract";
import { CommandFailure } from "./command.ts";

const TIME = /^(?<day>\d{4}-\d\d-\d\d)(?<clock>T\d\d:\d\d(:\d\d(\.\d{1,9})?)?)?(?<zone>Z|[+-]\d\d:\d\d)?$/;

/** A time without a zone is UTC, wherever the command runs. @returns milliseconds since 1970; null without a value. */
export function readTime(value: string | undefined, flag: string): number | null {
  if (value === undefined) return null;
  const { day = "", clock = "T00:00", zone = "Z" } = TIME.exec(value)?.groups ?? {};
  const ms = Date.parse(`${day}${clock}${zone}`);
  // Otherwise a day that does not exist, such as February 30, would silently become a day of the next month.
  const isRealDay = Number.isFinite(ms) && new Date(Date.parse(day)).toISOString().startsWith(day);
  if (isRealDay && ms >= 0) return ms;
  throw new CommandFailure(`${flag} must be a time such as 2027-01-31T18:00:00Z, got "${value}".`);
}

/** @returns undefined without a value. */
export function readWholeNumber(value: string | undefined, flag: string): number | undefined {
  if (value === undefined) return undefined;
  if (/^[0-9]{1,12}$/.test(value)) return Number(value);
  throw new CommandFailure(`${flag} must be a whole number, got "${value}".`);
}

/** @throws CommandFailure for anything but an id, by the flag's name: the server knows the parameter by another name. */
export function readId(text: string | undefined, flag: string, kind: "run" | "batch"): string | undefined {
  if (text === undefined || ID_FORM.test(text)) return text;
  const list = { run: "promptd runs list", batch: "promptd batches list" }[kind];
  throw new CommandFailure(`${flag} must be the id of a ${kind}, got "${text}".`, { hint: `Find it with "${list}".` });
}
