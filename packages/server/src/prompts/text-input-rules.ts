/** Rules for keys and values of text inputs, both when a prompt is published and when it is run. */
import { INPUT_NAME_LENGTH_MAX } from "@promptd/contract";
import type { InputField } from "./prompt-definition.ts";

export const INPUT_KEYS_MAX = 64;

/**
 * Callers cannot type these; they come from pasted text. Joiners (U+200C, U+200D) are not listed, since some languages
 * need them.
 */
const HIDDEN = /[\u00AD\u200B\u200E\u200F\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/;

/** Why a text cannot be an input key, or null. */
export function keyProblem(key: string): string | null {
  const length = codePointLength(key);
  if (length < 1 || length > INPUT_NAME_LENGTH_MAX)
    return `a key must have 1 to ${INPUT_NAME_LENGTH_MAX} characters; this one has ${length}`;
  if (key !== key.trim()) return "a key must not start or end with a space";
  if (/\p{Cc}/u.test(key) || !key.isWellFormed()) return "a key must not contain control characters";
  const [hidden] = HIDDEN.exec(key) ?? [];
  if (hidden !== undefined)
    return `a key must not contain the invisible character U+${hidden.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  if (key !== key.normalize("NFC")) return "a key must be in Unicode normalization form C (composed letters)";
  return key === "__proto__" ? "this key is not allowed" : null;
}

/** The field of a key in a file without `inputs`: a required text. */
export function requiredField(key: string): InputField {
  return {
    key,
    label: key,
    description: "",
    default: null,
    allowEmpty: false,
    maxLength: null,
    choices: null,
    multiple: null,
  };
}

/** Splits the value of a multiple select into names, in the caller's order. */
export function splitChoices(value: string): string[] {
  return value.trim() === "" ? [] : value.split(",").map((name) => name.trim());
}

export interface ValueProblem {
  readonly code: "too_long" | "invalid_value";
  /** The rest of a sentence that starts with the input's name. */
  readonly text: string;
}

export const LIST_ITEMS_MAX = 100;

/** Splits a list into items: one per line, or on a single line separated by commas. */
export function splitList(value: string): string[] {
  const items = value.includes("\n") ? value.split(/\r?\n/) : value.split(",");
  return items.map((item) => item.trim()).filter((item) => item !== "");
}

/** A number as callers write it: like a JSON number, but without an exponent. */
const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,10})?$/;

/** Why a value does not have its field's type, or null. */
function typeProblem(field: InputField, value: string): string | null {
  if (field.type === "number") return numberProblem(field, value.trim());
  if (field.type === "boolean") return /^(?:true|false)$/.test(value.trim()) ? null : "must be true or false.";
  if (field.type === "date") return isDate(value.trim()) ? null : "must be a date such as 2026-01-31.";
  if (field.type !== "list") return null;
  const { min, max } = field.multiple ?? { min: 1, max: LIST_ITEMS_MAX };
  const { length } = splitList(value);
  if (length >= min && length <= max) return null;
  return `must have ${min === max ? String(min) : `${min} to ${max}`} items, one per line or separated by commas.`;
}

function numberProblem({ min, max }: InputField, value: string): string | null {
  if (!NUMBER.test(value)) return "must be a number such as 7 or 2.5.";
  const number = Number(value);
  if (min !== undefined && number < min) return `must be at least ${min}.`;
  return max !== undefined && number > max ? `must be at most ${max}.` : null;
}

function isDate(value: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value)) return false;
  const ms = Date.parse(`${value}T00:00:00Z`);
  return Number.isFinite(ms) && new Date(ms).toISOString().startsWith(value);
}

/** Why a value that is not blank does not fit its field, or null. */
export function valueProblem(field: InputField, value: string): ValueProblem | null {
  const unfit = typeProblem(field, value);
  if (unfit !== null) return { code: "invalid_value", text: unfit };
  const length = field.maxLength === null ? 0 : codePointLength(value);
  if (field.maxLength !== null && length > field.maxLength)
    return { code: "too_long", text: `is ${length} characters long; the limit is ${field.maxLength}.` };
  if (field.choices === null) return null;
  const names = field.choices.map((choice) => choice.name);
  if (field.multiple !== null) return choicesProblem(splitChoices(value), names, field.multiple);
  return names.includes(value) ? null : { code: "invalid_value", text: `must be one of: ${names.join(", ")}.` };
}

function choicesProblem(
  given: readonly string[],
  names: readonly string[],
  { min, max }: { readonly min: number; readonly max: number },
): ValueProblem | null {
  const range = min === max ? String(min) : `${min} to ${max}`;
  const text = `must list ${range} of: ${names.join(", ")}, without repeats, separated by commas.`;
  const fits =
    given.every((name) => names.includes(name)) &&
    new Set(given).size === given.length &&
    given.length >= min &&
    given.length <= max;
  return fits ? null : { code: "invalid_value", text };
}

export function codePointLength(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}
