import type { SlicedWork } from "../../platform/time-slice.ts";
import { rewriteForeignPlaceholders } from "../template/foreign-placeholders.ts";
import { findForeignSyntax, type ForeignSyntax } from "../template/foreign-syntax.ts";
import { locator, shortened, type Locate } from "../template/locate.ts";
import { INPUT_KEYS_MAX, keyProblem, requiredField } from "../text-input-rules.ts";
import type { Conversion, InputField, StepMessage } from "../prompt-definition.ts";
import type { RawPrompt, RawStep } from "../format/prompt-fields.ts";
import type { TemplateText } from "../template/template-text.ts";
import type { FaultCode, FaultList } from "../prompt-fault.ts";
import { expressionOf, TEMPLATE_LENGTH_MAX, WORK_MAX } from "../template/template-language.ts";
import { FAULTS_MAX, type Read, type ScanFault } from "../template/expression-scan.ts";
import { scanInSlices, type TemplateFacts } from "../template/template-scan.ts";

/** One Liquid text of a prompt, with what it reads. */
interface CheckedTemplate {
  readonly text: string;
  readonly facts: TemplateFacts;
  readonly field: string;
  readonly locate: Locate;
  /** Placeholders of other languages that may be literal text. */
  readonly foreign: readonly ForeignSyntax[];
}

export interface CheckedStep {
  readonly raw: RawStep;
  readonly template: CheckedTemplate;
  readonly instructions: CheckedTemplate;
  readonly messages: readonly { readonly role: StepMessage["role"]; readonly template: CheckedTemplate }[];
  /** Ids of the steps it reads, without duplicates. */
  readonly reads: readonly string[];
}

export interface CheckedTemplates {
  readonly steps: readonly CheckedStep[];
  /** Declared fields, or a required field for every key found. */
  readonly inputs: readonly InputField[];
  readonly conversions: readonly Conversion[];
  readonly warnings: readonly string[];
  /** The work of one rendering, as WORK_MAX counts it. */
  readonly work: number;
}

/** Checks all templates of a prompt together: their syntax, and that what they read matches the declared inputs. */
export function* checkTemplates(
  prompt: RawPrompt,
  steps: readonly RawStep[],
  faults: FaultList,
): SlicedWork<CheckedTemplates> {
  const declared = prompt.inputs === null ? null : new Set(prompt.inputs.map((input) => input.key));
  const conversions: Conversion[] = [];
  let workMax = WORK_MAX;
  const check = function* (source: TemplateText | null, field: string): SlicedWork<CheckedTemplate> {
    // Once there is too much work, the rest is not checked.
    const written = source === null || workMax < 0 ? { text: "", line: prompt.line, indent: null } : source;
    const checked = yield* checkTemplate(written, field, declared, workMax);
    workMax -= checked.facts.work;
    conversions.push(...checked.conversions);
    for (const fault of checked.facts.faults) addScanFault(fault, checked, faults);
    return checked;
  };
  const checkedSteps: CheckedStep[] = [];
  for (const raw of steps) {
    const isOnly = prompt.steps === null;
    const template = yield* check(raw.template, isOnly ? "template" : `steps.${raw.id}.template`);
    const instructions = yield* check(raw.instructions, isOnly ? "instructions" : `steps.${raw.id}.instructions`);
    const messages: CheckedStep["messages"][number][] = [];
    for (const [at, { role, text }] of (raw.messages ?? []).entries()) {
      const path = `${isOnly ? "" : `steps.${raw.id}.`}messages[${at + 1}]`;
      messages.push({ role, template: yield* check(text, path) });
    }
    const all = [instructions, ...messages.map((message) => message.template), template];
    const reads = new Set(all.flatMap(({ facts }) => [...facts.steps.keys()]));
    checkedSteps.push({ raw, template, instructions, messages, reads: [...reads] });
  }
  const templates = checkedSteps.flatMap(templatesOf);
  const inputs = prompt.inputs ?? inputsOf(templates, faults);
  if (prompt.inputs !== null) checkDeclarations(prompt, templates, faults);
  checkLists(templates, inputs, faults);
  checkLocals(templates, new Set(inputs.map((input) => input.key)), faults);
  return {
    steps: checkedSteps,
    inputs,
    conversions,
    warnings: [...foreignWarnings(templates), ...truthWarnings(templates, inputs)],
    work: WORK_MAX - workMax,
  };
}

/** The templates of a step, its body first, as in a form. */
export function templatesOf({ template, instructions, messages }: CheckedStep): CheckedTemplate[] {
  return [template, instructions, ...messages.map((message) => message.template)];
}

function* checkTemplate(source: TemplateText, field: string, declared: ReadonlySet<string> | null, workMax: number) {
  const isTooLong = source.text.length > TEMPLATE_LENGTH_MAX; // a fault, which the scan reports
  const foreign = isTooLong ? [] : yield* findForeignSyntax(source.text, declared);
  const faults = foreign.filter((each) => each.isFault);
  // Nothing more is reported, and the rest of the template was not searched for foreign syntax.
  const blanked = faults.length < FAULTS_MAX ? blank(source.text, faults) : "";
  const { text, changes } = isTooLong
    ? { text: blanked, changes: [] }
    : yield* rewriteForeignPlaceholders(blanked, declared);
  const locate = locator(source, changes);
  const conversions = changes.map(({ offset, from, to }) => ({ line: locate.line(offset), from, to }));
  const scanned = yield* scanInSlices(text, workMax);
  const facts: TemplateFacts = {
    ...scanned,
    faults: [
      ...faults.map((piece) => ({ ...piece, code: "TEMPLATE_SYNTAX" as const })),
      ...scanned.faults.map((fault) => ({ ...fault, offset: locate.sourceOffset(fault.offset) })),
    ],
  };
  return { text, facts, field, locate, foreign: foreign.filter((each) => !each.isFault), conversions };
}

/** Replaces pieces that are already faults by spaces, so that none is reported twice. */
function blank(text: string, pieces: readonly ForeignSyntax[]): string {
  let blanked = "";
  for (const piece of pieces) blanked += text.slice(blanked.length, piece.offset) + " ".repeat(piece.text.length);
  return blanked + text.slice(blanked.length);
}

/** @param fault with its offset in the author's text. */
function addScanFault(fault: ScanFault, template: CheckedTemplate, faults: FaultList): void {
  const { offset, code, message, text } = fault;
  const location = template.locate.at(offset);
  const excerpt = text === undefined ? template.locate.excerpt(offset) : shortened(text);
  faults.add({ ...location, excerpt, field: template.field, code, message });
}

function addReadFault(found: [CheckedTemplate, Read], code: FaultCode, message: string, faults: FaultList): void {
  const [template, read] = found;
  addScanFault({ offset: template.locate.sourceOffset(read.offset), code, message }, template, faults);
}

/** Maps each key to its first read. Bodies come before instructions, which is the order of a form. */
function readKeys(templates: readonly CheckedTemplate[]): Map<string, [CheckedTemplate, Read]> {
  const found = new Map<string, [CheckedTemplate, Read]>();
  for (const template of templates)
    for (const [key, read] of template.facts.inputs) if (!found.has(key)) found.set(key, [template, read]);
  return found;
}

function inputsOf(templates: readonly CheckedTemplate[], faults: FaultList): InputField[] {
  const found = readKeys(templates);
  for (const [key, first] of found) {
    const problem = keyProblem(key);
    if (problem !== null) addReadFault(first, "FIELD", `the key "${key}" cannot be an input: ${problem}`, faults);
  }
  const beyond = [...found.values()][INPUT_KEYS_MAX];
  if (beyond !== undefined) {
    const line = beyond[0].locate.line(beyond[0].locate.sourceOffset(beyond[1].offset));
    const message = `the templates use ${found.size} keys; the limit is ${INPUT_KEYS_MAX}`;
    faults.add({ line, field: "inputs", code: "LIMITS", message });
  }
  const lists = new Set(templates.flatMap(({ facts }) => facts.loops.map(({ key }) => key)));
  return [...found.keys()].map((key) =>
    lists.has(key) ? { ...requiredField(key), type: "list" } : requiredField(key),
  );
}

/** Loops must iterate over lists, and lists must be looped over or joined. */
function checkLists(templates: readonly CheckedTemplate[], inputs: readonly InputField[], faults: FaultList): void {
  const lists = new Set(inputs.filter(({ type }) => type === "list").map(({ key }) => key));
  const known = new Set(inputs.map(({ key }) => key));
  for (const template of templates) {
    for (const read of template.facts.loops) {
      if (lists.has(read.key) || !known.has(read.key)) continue;
      const message = `"${read.key}" is not a list. A loop must iterate over an input of type list.`;
      addReadFault([template, read], "TEMPLATE_SYNTAX", message, faults);
    }
    for (const read of template.facts.bare) {
      if (!lists.has(read.key) || read.kind === "step") continue;
      const message = `"${read.key}" is a list: write {{ ${expressionOf(read.key)} | join: ", " }}, or loop over it.`;
      addReadFault([template, read], "TEMPLATE_SYNTAX", message, faults);
    }
  }
}

function checkDeclarations(prompt: RawPrompt, templates: readonly CheckedTemplate[], faults: FaultList): void {
  const declared = new Set((prompt.inputs ?? []).map((input) => input.key));
  const found = readKeys(templates);
  for (const [key, first] of found) {
    if (declared.has(key)) continue;
    const names = [...declared].map((name) => `"${name}"`).join(", ");
    const message = `"${key}" is used here but not declared under inputs. Declared: ${names === "" ? "none" : names}. Add "${key}: {}" under inputs, or remove it here.`;
    addReadFault(first, "INPUT_UNDECLARED", message, faults);
  }
  // A template that cannot be parsed may use them.
  if (templates.some((template) => template.facts.faults.length > 0)) return;
  for (const key of declared) {
    if (found.has(key)) continue;
    const message = "is declared, but no template uses it. Use it or remove it";
    faults.add({ line: prompt.lineOf("inputs", key), field: `inputs.${key}`, code: "INPUT_UNUSED", message });
  }
}

/** An assignment to an input's name would hide the caller's value from everything after it. */
function checkLocals(templates: readonly CheckedTemplate[], keys: ReadonlySet<string>, faults: FaultList): void {
  for (const template of templates) {
    for (const [name, offset] of template.facts.locals) {
      if (!keys.has(name)) continue;
      const message = `"${name}" is an input and cannot be assigned: use another name.`;
      addScanFault({ offset: template.locate.sourceOffset(offset), code: "SHADOWED", message }, template, faults);
    }
  }
}

function truthWarnings(templates: readonly CheckedTemplate[], inputs: readonly InputField[]): string[] {
  const booleans = new Set(inputs.filter(({ type }) => type === "boolean").map(({ key }) => key));
  return templates.flatMap(({ facts, locate }) =>
    facts.truthTests.flatMap((read) => {
      if (read.kind !== "step" && booleans.has(read.key)) return [];
      const line = locate.line(locate.sourceOffset(read.offset));
      return `line ${line}: an empty text counts as true in Liquid. To test whether "${read.key}" was given, write "!= blank".`;
    }),
  );
}

/** One warning per placeholder, however often it is used. */
function foreignWarnings(templates: readonly CheckedTemplate[]): string[] {
  const found = templates.flatMap(({ foreign, locate }) => foreign.map((syntax) => ({ ...syntax, locate })));
  const first = [...new Map(found.toReversed().map((syntax) => [syntax.text, syntax])).values()].toReversed();
  return first.map(({ offset, text, message, locate }) => {
    const { line, column } = locate.at(offset);
    return `line ${line}${column === undefined ? "" : `, column ${column}`}: ${text}: ${message}`;
  });
}
