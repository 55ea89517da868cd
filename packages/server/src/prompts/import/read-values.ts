/** Reads values from files that have not been validated. */
import { isPlainObject, type PlainObject } from "../../platform/json.ts";
export function objectOf(value: unknown): PlainObject {
  return isPlainObject(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** One text, or a list of them. */
export function textsOf(value: unknown): readonly string[] | undefined {
  const list = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
  const texts = list.flatMap((item) => textOf(item) ?? []);
  return texts.length === 0 ? undefined : texts;
}

/** Notes for members that have no counterpart. */
export function notesOnOthers(members: PlainObject, known: readonly string[]): string[] {
  return Object.entries(members)
    .filter(([name, value]) => !known.includes(name) && value !== null && value !== undefined)
    .filter(([, value]) => !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => `${name}: ${shorten(JSON.stringify(value))}`);
}

function shorten(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/**
 * Reads one prompt, a list of prompts, or a response that has them under `data`.
 * @throws Error when it is a server's error.
 */
export function entriesOf(value: unknown): readonly unknown[] {
  refuseErrors(value);
  if (Array.isArray(value)) return value;
  const data = listOf(objectOf(value)["data"]);
  return data.length > 0 ? data : [value];
}

function refuseErrors(value: unknown): void {
  const { error, message } = objectOf(value);
  const said = textOf(objectOf(error)["message"]) ?? (error === undefined ? undefined : textOf(message));
  if (said !== undefined) throw new Error(`it contains a server's error, "${shorten(said)}"`);
}
