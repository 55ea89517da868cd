import { countOf, describeUnknownNames, listWords, quoteText, type CreateRunBody, type Issue } from "@promptd/contract";
import type { Catalogue } from "../../models/index.ts";
import { valueProblem } from "../text-input-rules.ts";
import type { InputField, LiveVersion } from "../prompt-definition.ts";
import { defaultsOf, publicRunOptions } from "./run-options.ts";

export interface CheckedInputs {
  /** Every problem, in the order of the form; empty: the run can be created. */
  readonly issues: Issue[];
  /** Every declared key with its final value; choices by name. Null prototype. */
  readonly textInputs: Record<string, string>;
  /** The caller's choices, and defaults from the author and the catalogue. */
  readonly options: Record<string, string>;
  /** Keys that have no effect, as X-Ignored names them. */
  readonly ignored: string[];
}

/** How many possibly misspelled keys an issue names, since every issue repeats them. `X-Ignored` names all of them. */
const UNKNOWN_NAMED_MAX = 3;

/** Compares a run's inputs with what its prompt version expects, and fills in what is optional. */
export function checkInputs(version: LiveVersion, body: CreateRunBody, catalogue: Catalogue): CheckedInputs {
  const issues: Issue[] = [];
  const given = normalizeKeys(body.inputs.textInputs ?? {}, issues);
  const declared = new Set(version.definition.inputs.map((input) => input.key));
  const unknown = [...given.keys()].filter((key) => !declared.has(key));
  const { values: textInputs, missing, wrong } = fillInputs(version.definition.inputs, given);
  if (missing.length > 0) {
    const inputs = unknown.slice(0, UNKNOWN_NAMED_MAX);
    const blank = missing.some((key) => given.has(key)) ? ["Blank text counts as missing."] : [];
    issues.push(
      ...missingIssues(missing, [...blank, ...describeUnknownNames(version.config, { inputs, options: [] })]),
    );
  }
  issues.push(...wrong);
  checkImageCount(version.config.imageCount, body.inputs.imageInputs?.length ?? 0, issues);
  const options = fillOptions(version, body.runOptions ?? {}, catalogue, issues);
  return { issues, textInputs, options, ignored: unknown.map((key) => `textInputs.${key}`) };
}

/** Composes the keys (NFC), since keyboards and file systems write "é" in two ways. */
function normalizeKeys(textInputs: Readonly<Record<string, string>>, issues: Issue[]): Map<string, string> {
  const given = new Map<string, string>();
  for (const [key, value] of Object.entries(textInputs)) {
    const name = key.normalize("NFC");
    if (given.has(name)) {
      const message = `Text input ${quoteText(name)} is given twice: two keys are equal after Unicode normalization.`;
      issues.push({ path: textPath(key), code: "conflict", message });
    }
    given.set(name, value);
  }
  return given;
}

function fillInputs(fields: readonly InputField[], given: ReadonlyMap<string, string>) {
  const filled = Object.create(null) as Record<string, string>;
  const missing: string[] = [];
  const wrong: Issue[] = [];
  for (const field of fields) {
    const value = given.get(field.key);
    const final = value === undefined || (value.trim() === "" && !field.allowEmpty) ? field.default : value;
    if (final === null) missing.push(field.key);
    else filled[field.key] = final;
    if (final === null || final === field.default) continue;
    // A blank that counts as a value is not one of the choices, but its length is limited.
    const issue = valueIssue(final.trim() === "" ? { ...field, choices: null } : field, final);
    if (issue !== null) wrong.push(issue);
  }
  return { values: filled, missing, wrong };
}

/**
 * Every issue has the same message, which names all keys, so the envelope's message says it once.
 * @param why further sentences, such as that an ignored key may be one of them, misspelled.
 */
function missingIssues(keys: readonly string[], why: readonly string[]): Issue[] {
  const names = keys.map((key) => `"${key}"`);
  const sentence =
    names.length < 2
      ? `Text input ${names.join("")} is required.`
      : `Text inputs ${listWords(names, "and")} are required.`;
  const message = [sentence, ...why].join(" ");
  return keys.map((key) => ({ path: textPath(key), code: "required", message }));
}

function valueIssue(field: InputField, value: string): Issue | null {
  const problem = valueProblem(field, value);
  if (problem === null) return null;
  const got = problem.code === "invalid_value" ? ` Got ${quoteText(value)}.` : "";
  const message = `Text input "${field.key}" ${problem.text}${got}`;
  return { path: textPath(field.key), code: problem.code, message };
}

function checkImageCount(expected: number, given: number, issues: Issue[]): void {
  if (given === expected) return;
  const message = `This prompt expects ${countOf(expected, "image")}, but ${given} ${given === 1 ? "was" : "were"} given.`;
  issues.push({ path: ["body", "inputs", "imageInputs"], code: "image_count", message });
}

/** Accepts the keys and values that the version's config shows now. */
function fillOptions(
  version: LiveVersion,
  given: Readonly<Record<string, string>>,
  catalogue: Catalogue,
  issues: Issue[],
): Record<string, string> {
  const runOptions = publicRunOptions(version.config, version.definition.steps, catalogue);
  const accepted = new Map(Object.entries(runOptions).map(([key, option]) => [key, option.options]));
  const chosen: Record<string, string> = {};
  for (const [key, value] of Object.entries(given)) {
    const values = accepted.get(key);
    const path = ["body", "runOptions", key];
    if (values === undefined) {
      const keys = [...accepted.keys()];
      const hint = keys.length === 0 ? "This model has no run options." : `Accepted: ${keys.join(", ")}.`;
      const message = `${quoteText(key)} is not a run option of the model ${version.model}. ${hint}`;
      issues.push({ path, code: "unsupported_option", message });
    } else if (!values.includes(value)) {
      const message = `${quoteText(value)} is not a valid value for ${key}. Accepted: ${values.join(", ")}.`;
      issues.push({ path, code: "unsupported_option_value", message });
    } else chosen[key] = value;
  }
  return { ...defaultsOf(runOptions), ...chosen };
}

function textPath(key: string): Issue["path"] {
  return ["body", "inputs", "textInputs", key];
}
