import { presentMembers } from "../../platform/json.ts";
import { INPUT_KEYS_MAX, keyProblem, LIST_ITEMS_MAX, requiredField, valueProblem } from "../text-input-rules.ts";
import type { Choice, InputField, InputType } from "../prompt-definition.ts";
import type { FaultList } from "../prompt-fault.ts";
import { FieldReader, MEMBERS_READ_MAX } from "./field-reader.ts";
import { kindName, type SourceMap, type SourceNode } from "./source-tree.ts";

const CHOICES_MAX = 200;
const VALUE_LENGTH_MAX = 100_000;
export const INPUT_TYPES = ["text", "number", "boolean", "date", "select", "list"] as const;

/** Reads `inputs`: key -> field, in file order. Null: the file has no `inputs`. */
export function readInputFields(reader: FieldReader): InputField[] | null {
  const map = reader.map("inputs", "{ topic: {} }");
  if (map === null) return null;
  const { faults } = reader;
  if (map.entries.length > INPUT_KEYS_MAX) {
    const message = `has ${map.entries.length} keys; the limit is ${INPUT_KEYS_MAX}`;
    faults.add({ line: map.line, field: "inputs", code: "LIMITS", message });
  }
  const fields: InputField[] = [];
  for (const { key, line, value } of map.entries.slice(0, MEMBERS_READ_MAX)) {
    const problem = keyProblem(key);
    if (problem !== null) faults.addField(line, `inputs.${key}`, problem);
    const field = readInputField(key, value, faults);
    if (problem === null) fields.push(field);
  }
  return fields;
}

function readInputField(key: string, node: SourceNode, faults: FaultList): InputField {
  if (node.kind === "nothing") return requiredField(key);
  if (node.kind !== "map") {
    faults.addField(node.line, `inputs.${key}`, `must be a map such as { default: "7" } or {}, got ${kindName(node)}`);
    return requiredField(key);
  }
  const reader = new FieldReader(node, `inputs.${key}`, faults);
  const choices = readChoices(reader);
  const type = readType(reader, choices);
  const bound = (name: "min" | "max") => (type === "number" ? reader.number(name, -1e15, 1e15) : null);
  const [min, max] = [bound("min"), bound("max")];
  if (min !== null && max !== null && min > max) reader.fault("min", `min (${min}) is greater than max (${max})`);
  const field: InputField = {
    key,
    label: reader.text("label", { max: 200 }) ?? key,
    description: reader.text("description", { max: 1_000, mayBeEmpty: true, mayHaveLines: true }) ?? "",
    default: readDefault(reader, type),
    allowEmpty: reader.flag("allowEmpty"),
    maxLength: reader.integer("maxLength", 1, VALUE_LENGTH_MAX),
    choices,
    multiple: readMultiple(reader, choices, type),
    ...presentMembers({ type, min, max }),
  };
  reader.finish();
  checkDefault(field, reader);
  return field;
}

/** Null: a text, or a select if there are options. */
function readType(reader: FieldReader, choices: readonly Choice[] | null): InputType | null {
  const written = reader.text("type", { max: 20 });
  const type = INPUT_TYPES.find((each) => each === written);
  if (written !== null && type === undefined)
    reader.fault("type", `must be one of: ${INPUT_TYPES.join(", ")}, got "${written}"`);
  if (type === "select" && choices === null) reader.fault("type", "is select, but the input has no options");
  if (type !== undefined && type !== "select" && choices !== null)
    reader.fault("options", `can be used only with type: select, not ${type}`);
  return type === undefined || type === "text" || type === "select" ? null : type;
}

/** The default of a number or boolean needs no quotes. The default of a list may be a list. */
function readDefault(reader: FieldReader, type: InputType | null): string | null {
  const node = reader.node("default");
  const rule = { max: VALUE_LENGTH_MAX, mayBeEmpty: true, mayHaveLines: true };
  if (node?.kind === "number" && type === "number") return node.source;
  if (node?.kind === "boolean" && type === "boolean") return String(node.value);
  if (node?.kind !== "list" || type !== "list") return reader.text("default", rule);
  return node.items.map((item) => reader.asText(item, "default", { max: 10_000 }) ?? "").join("\n");
}

function readChoices(reader: FieldReader): Choice[] | null {
  const node = reader.node("options");
  if (node === null) return null;
  if (node.kind !== "map" && node.kind !== "list") {
    reader.fault("options", `must be a list of names or a map from names to texts, got ${kindName(node)}`);
    return null;
  }
  const pairs: [name: string | null, text: SourceNode, line: number][] =
    node.kind === "map"
      ? node.entries.map((entry) => [entry.key, entry.value, entry.line])
      : node.items.map((item) => [reader.asText(item, "options", { max: 100 }), item, item.line]);
  const choices: Choice[] = [];
  for (const [name, value, line] of pairs.slice(0, MEMBERS_READ_MAX)) {
    if (name === null) continue;
    const fault = (message: string) => reader.faults.addField(line, reader.fieldPath("options"), message);
    const problem = keyProblem(name);
    if (problem !== null) fault(`option ${JSON.stringify(name)}: ${problem.replace("a key", "a name")}`);
    const text =
      node.kind === "list"
        ? name
        : reader.asText(value, `options.${name}`, { max: 10_000, mayBeEmpty: true, mayHaveLines: true });
    if (choices.some((choice) => choice.name === name)) fault(`the option "${name}" is listed twice`);
    else choices.push({ name, text: text ?? "" });
  }
  if (pairs.length < 1 || pairs.length > CHOICES_MAX) reader.fault("options", `must have 1 to ${CHOICES_MAX} options`);
  return choices;
}

function readMultiple(
  reader: FieldReader,
  choices: readonly Choice[] | null,
  type: InputType | null,
): InputField["multiple"] {
  const map = reader.map("multiple");
  if (map === null) return null;
  if (type === "list") return readRange(map, reader, LIST_ITEMS_MAX);
  if (choices === null) {
    reader.fault("multiple", "needs options or type: list: other inputs have a single value");
    return null;
  }
  const range = readRange(map, reader, choices.length);
  const commas = choices.filter((choice) => choice.name.includes(","));
  for (const { name } of commas)
    reader.fault(
      "options",
      `option "${name}": commas separate the choices of a multiple select, so a name must not contain one`,
    );
  return range;
}

function readRange(map: SourceMap, reader: FieldReader, most: number): { min: number; max: number } {
  const range = new FieldReader(map, reader.fieldPath("multiple"), reader.faults);
  const min = range.integer("min", 0, most) ?? 1;
  const max = range.integer("max", 1, most) ?? most;
  range.finish();
  if (min > max) reader.fault("multiple", `min (${min}) is greater than max (${max})`);
  return { min, max };
}

function checkDefault(field: InputField, reader: FieldReader): void {
  const problem = field.default === null ? null : valueProblem(field, field.default);
  if (problem !== null && field.default?.trim() !== "") reader.fault("default", problem.text);
  if (field.default?.trim() === "" && field.choices !== null && !field.allowEmpty)
    reader.fault("default", "is empty, but a select has no empty choice. Name an option, or set allowEmpty: true");
}
