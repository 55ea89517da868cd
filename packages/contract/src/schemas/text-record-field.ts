import type { z } from "zod";
import { describeType, quoteText } from "../printable-text.ts";
import { REQUEST_LIMITS } from "./request-limits.ts";
import { defineField, report, textFault, type CheckPayload, type Fault } from "./request-fields.ts";

interface TextRecordNames {
  readonly field: string;
  /** "Text input" or "Run option": starts the message about one entry. */
  readonly entry: string;
}

/**
 * A record of the caller's texts. Absent, null, and {} are equivalent. Keys become NFC, because names are matched in
 * NFC.
 */
export function textRecordField(names: TextRecordNames): z.ZodType<Readonly<Record<string, string>>> {
  const schema = { type: ["object", "null"], additionalProperties: { type: "string" } };
  return defineField<Readonly<Record<string, string>>>(schema, (payload) => {
    const given = payload.value ?? {};
    if (typeof given !== "object" || Array.isArray(given)) {
      const message = `${names.field} must be an object, got ${describeType(given)}.`;
      report(payload, { code: "invalid_type", message });
      return;
    }
    payload.value = checkTextRecord(payload, Object.entries(given), names);
  }).prefault({});
}

function checkTextRecord(payload: CheckPayload, entries: [string, unknown][], names: TextRecordNames): object {
  const { textKeysMax, textBytesMaxTotal } = REQUEST_LIMITS;
  const checked: Record<string, string> = {};
  if (entries.length > textKeysMax) {
    const message = `${names.field} has ${entries.length} keys; at most ${textKeysMax} are accepted.`;
    report(payload, { code: "too_many", message });
    return checked;
  }
  let bytes = 0;
  for (const [key, value] of entries) {
    const fault = entryFault(names.entry, key, value);
    if (fault !== null) report(payload, { ...fault, path: [key] });
    const name = key.normalize("NFC");
    if (Object.hasOwn(checked, name)) {
      const message = `${names.entry} ${quoteText(name)} is given twice: two keys are equal after Unicode normalization.`;
      report(payload, { code: "conflict", message, path: [key] });
    }
    if (typeof value !== "string") continue;
    checked[name] = value;
    bytes += utf8Length(value, 0);
  }
  if (bytes > textBytesMaxTotal) {
    const message = `${names.field} is ${kibibytes(bytes)} in total; the limit is 1,024 KiB.`;
    report(payload, { code: "too_long", message });
  }
  return checked;
}

/** Builds messages only for invalid entries: this runs for every text of every run. */
function entryFault(entry: string, key: string, value: unknown): Fault | null {
  const what = () => `${entry} ${quoteText(key)}`;
  if (typeof value !== "string") {
    return { code: "invalid_type", message: `${what()} must be a string, got ${describeType(value)}.` };
  }
  if (!isSound(key)) return textFault(`The name of ${entry.toLowerCase()} ${quoteText(key)}`, key);
  if (!isSound(value)) return textFault(what(), value);
  const { textBytesMax } = REQUEST_LIMITS;
  const bytes = utf8Length(value, textBytesMax);
  if (bytes <= textBytesMax) return null;
  return { code: "too_long", message: `${what()} is ${kibibytes(bytes)}; the limit is 100 KiB.` };
}

function isSound(text: string): boolean {
  return text.isWellFormed() && !text.includes("\u0000");
}

function kibibytes(bytes: number): string {
  return `${(Math.ceil((bytes * 10) / 1024) / 10).toLocaleString("en-US")} KiB`;
}

/** UTF-8 length of a well-formed text; stops counting at `stopAt`. */
function utf8Length(text: string, stopAt: number): number {
  if (text.length * 3 <= stopAt) return text.length;
  let bytes = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit < 0xd800 || unit > 0xdfff) bytes += 3;
    else bytes += 2; // each half of a pair: four bytes together
  }
  return bytes;
}
