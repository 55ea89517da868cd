import { codePointLength, FieldReader } from "./field-reader.ts";
import type { Choice, InputField } from "../prompt-definition.ts";
import { kindName, type FaultList, type SourceMap, type SourceNode } from "./source-tree.ts";

export const INPUT_KEYS_MAX = 64;
const KEY_LENGTH_MAX = 100;
const CHOICES_MAX = 200;
const VALUE_LENGTH_MAX = 100_000;
const FIELDS = ["label", "description", "default", "allowEmpty", "maxLength", "options", "multiple"];

/** Reads `inputs`: key -> field, in file order. */
export function readInputFields(map: SourceMap, faults: FaultList): InputField[] {
  if (map.entries.length > INPUT_KEYS_MAX) {
    const message = `has ${map.entries.length} keys; the limit is ${INPUT_KEYS_MAX}`;
    faults.add({ line: map.line, field: "inputs", code: "LIMITS", message });
  }
  const fields: InputField[] = [];
  for (const { key, line, value } of map.entries) {
    const problem = keyProblem(key);
    if (problem !== null) faults.addField(line, `inputs.${key}`, problem);
    const field = readInputField(key, value, faults);
    if (problem === null) fields.push(field);
  }
  return fields;
}

/** What keeps a text from being an input key, or null. */
export function keyProblem(key: string): string | null {
  const length = codePointLength(key);
  if (length < 1 || length > KEY_LENGTH_MAX) return `a key has 1 to ${KEY_LENGTH_MAX} characters, this one ${length}`;
  if (key !== key.trim()) return "a key must not begin or end with a blank";
  if (/\p{Cc}/u.test(key) || !key.isWellFormed()) return "a key must not hold control characters";
  if (key !== key.normalize("NFC")) return "a key must be in Unicode normal form C (composed letters)";
  return key === "__proto__" ? "this key is not allowed" : null;
}

/** A key the file does not declare, because it has no `inputs` at all: a required text. */
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

function readInputField(key: string, node: SourceNode, faults: FaultList): InputField {
  if (node.kind === "nothing") return requiredField(key);
  if (node.kind !== "map") {
    faults.addField(node.line, `inputs.${key}`, `must be a map such as { default: "7" } or {}, got ${kindName(node)}`);
    return requiredField(key);
  }
  const reader = new FieldReader(node, `inputs.${key}`, faults);
  const choices = readChoices(reader);
  const field: InputField = {
    key,
    label: reader.text("label", { max: 200 }) ?? key,
    description: reader.text("description", { max: 1_000, mayBeEmpty: true, mayHaveLines: true }) ?? "",
    default: reader.text("default", { max: VALUE_LENGTH_MAX, mayBeEmpty: true, mayHaveLines: true }),
    allowEmpty: reader.flag("allowEmpty"),
    maxLength: reader.integer("maxLength", 1, VALUE_LENGTH_MAX),
    choices,
    multiple: readMultiple(reader, choices),
  };
  reader.finish(FIELDS);
  checkDefault(field, reader);
  return field;
}

function readChoices(reader: FieldReader): Choice[] | null {
  const node = reader.node("options");
  if (node === null) return null;
  if (node.kind !== "map" && node.kind !== "list") {
    reader.fault("options", `must be a list of names, or a map of names and texts, got ${kindName(node)}`);
    return null;
  }
  const pairs: [name: string | null, text: SourceNode, line: number][] =
    node.kind === "map"
      ? node.entries.map((entry) => [entry.key, entry.value, entry.line])
      : node.items.map((item) => [reader.asText(item, "options", { max: 100 }), item, item.line]);
  const choices: Choice[] = [];
  for (const [name, value, line] of pairs) {
    if (name === null) continue;
    const fault = (message: string) => reader.faults.addField(line, reader.fieldPath("options"), message);
    const problem = keyProblem(name);
    if (problem !== null) fault(`option ${JSON.stringify(name)}: ${problem.replace("a key", "a name")}`);
    const text =
      node.kind === "list"
        ? name
        : reader.asText(value, `options.${name}`, { max: 10_000, mayBeEmpty: true, mayHaveLines: true });
    if (choices.some((choice) => choice.name === name)) fault(`the option "${name}" stands here twice`);
    else choices.push({ name, text: text ?? "" });
  }
  if (pairs.length < 1 || pairs.length > CHOICES_MAX) reader.fault("options", `must have 1 to ${CHOICES_MAX} options`);
  return choices;
}

function readMultiple(reader: FieldReader, choices: readonly Choice[] | null): { min: number; max: number } | null {
  const map = reader.map("multiple");
  if (map === null) return null;
  if (choices === null) {
    reader.fault("multiple", "goes with options only");
    return null;
  }
  const range = new FieldReader(map, reader.fieldPath("multiple"), reader.faults);
  const min = range.integer("min", 0, choices.length) ?? 1;
  const max = range.integer("max", 1, choices.length) ?? choices.length;
  range.finish(["min", "max"]);
  if (min > max) reader.fault("multiple", `min (${min}) is greater than max (${max})`);
  const commas = choices.filter((choice) => choice.name.includes(","));
  for (const { name } of commas)
    reader.fault(
      "options",
      `option "${name}": a comma separates the choices of a multiple select, so no name may hold one`,
    );
  return { min, max };
}

function checkDefault(field: InputField, reader: FieldReader): void {
  const problem = field.default === null ? null : valueProblem(field, field.default);
  if (problem !== null && field.default?.trim() !== "") reader.fault("default", problem.text);
  if (field.default?.trim() === "" && field.choices !== null && !field.allowEmpty)
    reader.fault("default", "a select has no empty choice: name an option, or set allowEmpty");
}

/** Names of a multiple select, in the caller's order. */
export function splitChoices(value: string): string[] {
  return value.trim() === "" ? [] : value.split(",").map((name) => name.trim());
}

export interface ValueProblem {
  readonly code: "too_long" | "invalid_value";
  /** The rest of a sentence that begins with the input's name. */
  readonly text: string;
}

/** Why a value that is not blank does not fit its field, or null. */
export function valueProblem(field: InputField, value: string): ValueProblem | null {
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
  const text = `takes ${range} of: ${names.join(", ")}, each once, separated by commas.`;
  const fits =
    given.every((name) => names.includes(name)) &&
    new Set(given).size === given.length &&
    given.length >= min &&
    given.length <= max;
  return fits ? null : { code: "invalid_value", text };
}
