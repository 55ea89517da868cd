/** Generates part of the Python client from the contract: endpoints, retry rules, and response types. */
import { ENDPOINTS, ERRORS, ID_FORM } from "@promptd/contract";
import {
  batchResultSchema,
  batchSchema,
  promptVersionSchema,
  runSchema,
  searchResultSchema,
} from "@promptd/contract/schemas";
import { z } from "zod";

export const PYTHON_PAGE = "python/promptd/_generated.py";

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
}

export function describePython(): string {
  const classes: Classes = new Map();
  const run = toSchema(runSchema).properties?.["outputs"]?.items ?? {};
  const row = toSchema(searchResultSchema).properties?.["rows"]?.items ?? {};
  typeOf("OutputItem", run, classes);
  typeOf("Batch", toSchema(batchSchema), classes);
  typeOf("BatchResult", toSchema(batchResultSchema), classes);
  typeOf("PromptVersion", toSchema(promptVersionSchema), classes);
  typeOf("SearchRow", row, classes);
  const endpoints = Object.entries(ENDPOINTS).map(
    ([name, { method, path }]) => `    "${name}": ("${method}", "${path}"),`,
  );
  const rules = Object.entries(ERRORS).map(([code, { retry }]) => `    "${code}": "${retry}",`);
  return `"""Generated from the contract by \`npm run docs\`. Do not edit."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, Tuple, TypedDict, Union

#: Endpoint name -> method and path.
ENDPOINTS: Dict[str, Tuple[str, str]] = {
${endpoints.join("\n")}
}

#: The form of an id, in lower or upper case. Slugs never have this form.
ID_FORM = r"${ID_FORM.source}"

#: Error code -> whether and when to retry the request.
RETRY_RULES: Dict[str, Literal["never", "after-delay", "backoff", "poll"]] = {
${rules.join("\n")}
}

${[...classes.values()].map(({ text }) => text).join("\n\n")}
`;
}

function toSchema(schema: z.ZodType): Schema {
  return z.toJSONSchema(schema, { unrepresentable: "any" }) as Schema;
}

/** Name and text of each class, by its content: two schemas with the same members become one class. */
type Classes = Map<string, { readonly name: string; readonly text: string }>;

/** The Python type of a schema; objects become classes with this name, defined before they are used. */
function typeOf(name: string, schema: Schema, classes: Classes): string {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) {
    const isNull = (choice: Schema) => choice.type === "null";
    const others = choices.filter((choice) => !isNull(choice));
    const types = others.map((choice, at) => typeOf(others.length === 1 ? name : `${name}${at + 1}`, choice, classes));
    const union = types.length === 1 ? (types[0] ?? "Any") : `Union[${types.join(", ")}]`;
    return choices.some(isNull) ? `Optional[${union}]` : union;
  }
  if (schema.enum !== undefined) return `Literal[${schema.enum.map((value) => JSON.stringify(value)).join(", ")}]`;
  if (schema.const !== undefined) return `Literal[${JSON.stringify(schema.const)}]`;
  if (Array.isArray(schema.type)) {
    const anyOf = schema.type.map((type: string): Schema => ({ ...schema, type }));
    return typeOf(name, { anyOf }, classes);
  }
  switch (schema.type) {
    case "string":
      return "str";
    case "integer":
      return "int";
    case "number":
      return "float";
    case "boolean":
      return "bool";
    case "array":
      return `List[${typeOf(`${name}Item`, schema.items ?? {}, classes)}]`;
    case "object":
      return schema.properties === undefined ? dictOf(name, schema, classes) : classOf(name, schema, classes);
    case undefined:
    default:
      return "Any";
  }
}

function dictOf(name: string, { additionalProperties }: Schema, classes: Classes): string {
  const value = typeof additionalProperties === "object" ? additionalProperties : {};
  return `Dict[str, ${typeOf(`${name}Value`, value, classes)}]`;
}

function classOf(name: string, { properties = {}, required = [] }: Schema, classes: Classes): string {
  const fields = Object.entries(properties).map(([key, schema]) => {
    const type = typeOf(`${name}${key.charAt(0).toUpperCase()}${key.slice(1)}`, schema, classes);
    return { line: `    ${key}: ${type}`, isRequired: required.includes(key) };
  });
  const linesOf = (isRequired: boolean) =>
    fields.filter((field) => field.isRequired === isRequired).map(({ line }) => line);
  const optional = linesOf(false);
  const textOf = (as: string) => {
    const whole = `class ${optional.length === 0 ? as : `_${as}`}(TypedDict):\n${linesOf(true).join("\n") || "    pass"}\n`;
    const rest = optional.length === 0 ? "" : `\n\nclass ${as}(_${as}, total=False):\n${optional.join("\n")}\n`;
    return whole + rest;
  };
  const found = classes.get(textOf("")) ?? { name, text: textOf(name) };
  classes.set(textOf(""), found);
  return found.name;
}
