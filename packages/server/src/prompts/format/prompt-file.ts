/**
 * Reads the text of a file: `*.prompt.md` (YAML front matter, then the Liquid body, in parts if there are steps), YAML
 * without a body, or the JSON import form `{promptd: 1, prompts: [...]}`.
 */
import type { SlicedWork } from "../../platform/time-slice.ts";
import type { FaultList } from "../prompt-fault.ts";
import { FIELD_LIMITS } from "./field-limits.ts";
import { FieldReader, MEMBERS_READ_MAX, NOT_TEXT } from "./field-reader.ts";
import { checkFormat, notStepId, readPromptFields, STEP_ID, type RawPrompt, type RawStep } from "./prompt-fields.ts";
import { NO_CALL } from "./call-fields.ts";
import { blankLinesBefore, cleanTemplate, type TemplateText } from "../template/template-text.ts";
import { importHint } from "./foreign-format.ts";
import { readJsonSource, readYamlSource } from "./read-source.ts";
import { kindName } from "./source-tree.ts";

const FRONT_MATTER_BYTES_MAX = 64 * 1_024;
const FILE_BYTES_MAX = 64 * 1_024 * 1_024;
/** A file is published as a whole or not at all, in one transaction. */
const PROMPTS_MAX = 5_000;

/** An author's prompt file: its name, for messages, and its text. */
export interface PromptFile {
  readonly name: string;
  readonly text: string;
}

/** One prompt of a file, and the list of its faults. */
export interface WrittenPrompt {
  readonly raw: RawPrompt;
  readonly faults: FaultList;
}

/**
 * Reads any form of file: one that starts with `{` is JSON, one that starts with `promptd:` is YAML without a body.
 * Prompts that cannot be read are left out and reported in `faults`.
 */
export function* readPromptFile(text: string, faults: FaultList): SlicedWork<WrittenPrompt[]> {
  const clean = text.startsWith("\uFEFF") ? text.slice(1) : text;
  if (clean.trimStart().startsWith("{")) return yield* readJson(clean, faults);
  return yield* PLAIN_YAML.test(clean) ? readPlainYaml(clean, faults) : readPromptMd(clean, faults);
}

/** Comments, then the field `promptd`: a file without a body, whose template is in a field. */
const PLAIN_YAML = /^(?:[ \t]*(?:#.*)?\r?\n)*promptd[ \t]*:/;

function* readPlainYaml(text: string, faults: FaultList): SlicedWork<WrittenPrompt[]> {
  if (!checkSize(text, FILE_BYTES_MAX, faults)) return [];
  const root = yield* readYamlSource(text, 1, faults);
  if (root?.kind !== "map") return []; // null: already reported; text that starts with a field is a map
  const reader = new FieldReader(root, "", faults);
  checkFormat(reader);
  const entries = root.entries.filter(({ key }) => key !== "promptd");
  return [{ raw: readPromptFields({ ...root, entries }, "json", faults), faults }];
}

function* readJson(text: string, faults: FaultList): SlicedWork<WrittenPrompt[]> {
  if (!checkSize(text, FILE_BYTES_MAX, faults)) return [];
  const root = yield* readJsonSource(text, faults);
  if (root?.kind !== "map") return []; // null: already reported; JSON that starts with { is an object
  const hint = importHint(text);
  if (hint !== null) {
    faults.add({ line: 1, field: "file", code: "FILE_SYNTAX", message: `has no member "promptd". ${hint}` });
    return [];
  }
  const reader = new FieldReader(root, "", faults);
  checkFormat(reader);
  const items = reader.list("prompts");
  if (reader.node("prompts") === null) reader.fault("prompts", "is required and must be a list of prompts");
  reader.finish();
  if ((items ?? []).length > PROMPTS_MAX) {
    const most = PROMPTS_MAX.toLocaleString("en");
    reader.fault(
      "prompts",
      `has ${items?.length.toLocaleString("en")} prompts; the limit is ${most} per file. Split them into several files`,
    );
    return [];
  }
  const prompts: WrittenPrompt[] = [];
  for (const [index, item] of (items ?? []).entries()) {
    if (faults.isFull) break;
    const own = faults.within(`prompts[${index + 1}].`);
    if (item.kind === "map") prompts.push({ raw: readPromptFields(item, "json", own), faults: own });
    else faults.addField(item.line, `prompts[${index + 1}]`, `must be an object, got ${kindName(item)}`);
    yield;
  }
  return prompts;
}

function* readPromptMd(text: string, faults: FaultList): SlicedWork<WrittenPrompt[]> {
  const parts = yield* splitFrontMatter(text, faults);
  if (parts === null) return [];
  const root = yield* readYamlSource(parts.frontMatter, 2, faults);
  if (root === null) return [];
  if (root.kind !== "map") {
    const message = `must be a map of fields, got ${kindName(root)}`;
    faults.add({ line: 2, field: "front matter", code: "FILE_SYNTAX", message });
    return [];
  }
  const hint = importHint(text);
  if (hint !== null) {
    faults.add({ line: 2, field: "promptd", code: "FILE_SYNTAX", message: `is missing. ${hint}` });
    return [];
  }
  const prompt = readPromptFields(root, "file", faults);
  yield;
  return [{ raw: yield* withBody(prompt, parts, faults), faults }];
}

/** Prompts without the object around them. */
const JSON_LIST = /^\s*\[\s*\{/;

interface FileParts {
  readonly frontMatter: string;
  readonly body: string;
  /** Line of the file where the body starts. */
  readonly bodyLine: number;
}

function* splitFrontMatter(text: string, faults: FaultList): SlicedWork<FileParts | null> {
  const plain = text.replaceAll(/\r\n?/g, "\n");
  yield;
  const lines = plain.split("\n");
  yield;
  const end =
    lines[0]?.trimEnd() === "---" ? lines.findIndex((line, index) => index > 0 && line.trimEnd() === "---") : -1;
  if (end === -1) {
    const expected = JSON_LIST.test(text)
      ? 'is a JSON list; a JSON file is an object with the list as a member: {"promptd": 1, "prompts": [...]}'
      : 'must start with a "---" line, followed by the fields in YAML, another "---" line, and the prompt text';
    const hint = importHint(text);
    const message = hint === null ? expected : `${expected}. ${hint}`;
    faults.add({ line: 1, field: "file", code: "FILE_SYNTAX", message });
    return null;
  }
  const frontMatter = lines.slice(1, end).join("\n");
  const body = lines.slice(end + 1).join("\n");
  if (!checkSize(frontMatter, FRONT_MATTER_BYTES_MAX, faults) || !checkSize(body, FILE_BYTES_MAX, faults)) return null;
  yield;
  const isFit = !body.includes("\0") && body.isWellFormed();
  const unfit = isFit ? -1 : lines.findIndex((line, at) => at > end && (line.includes("\0") || !line.isWellFormed()));
  if (unfit !== -1) {
    faults.add({ line: unfit + 1, field: "body", code: "FILE_SYNTAX", message: NOT_TEXT });
    return null;
  }
  return { frontMatter, body, bodyLine: end + 2 };
}

function checkSize(text: string, bytesMax: number, faults: FaultList): boolean {
  const bytes = Buffer.byteLength(text);
  if (bytes <= bytesMax) return true;
  const message = `is ${bytes.toLocaleString("en")} bytes long; the limit is ${bytesMax.toLocaleString("en")}`;
  faults.add({ line: null, field: "file", code: "LIMITS", message });
  return false;
}

/** Read within a millisecond. */
const LINES_PER_YIELD = 1_000;
const STEP_MARKER = /^<!-- step: (\S+) -->[ \t]*$/;

/** Adds the body to the prompt, or its parts to the steps, which run in the order of the body. */
function* withBody(prompt: RawPrompt, parts: FileParts, faults: FaultList): SlicedWork<RawPrompt> {
  const lines = parts.body.split("\n");
  const markers: { readonly id: string; readonly index: number }[] = [];
  for (const [index, line] of lines.entries()) {
    const id = STEP_MARKER.exec(line)?.[1];
    if (id !== undefined) markers.push({ id, index });
    if (index % LINES_PER_YIELD === 0) yield;
  }
  if (markers.length === 0 && prompt.steps === null)
    return { ...prompt, template: bodyPart(lines, 0, lines.length, parts.bodyLine) };
  if (markers.length > FIELD_LIMITS.steps) {
    const message = `has ${markers.length} parts; a prompt can have 1 to ${FIELD_LIMITS.steps} steps`;
    faults.add({ line: parts.bodyLine, field: "body", code: "LIMITS", message });
  }
  const first = markers[0]?.index ?? lines.length;
  const stray = lines.slice(0, first).findIndex((line) => line.trim() !== "");
  if (stray !== -1) {
    const message =
      'a body with steps must start with a line such as "<!-- step: draft -->"; only blank lines may come before it';
    faults.add({ line: parts.bodyLine + stray, field: "body", code: "FILE_SYNTAX", message });
  }
  const steps = markers.slice(0, MEMBERS_READ_MAX).map(({ id, index }, position): RawStep => {
    const line = parts.bodyLine + index;
    const fault = (message: string) => faults.add({ line, field: "body", code: "FILE_SYNTAX", message });
    if (!STEP_ID.test(id)) fault(notStepId(id));
    else if (markers.findIndex((marker) => marker.id === id) !== position) fault(`the step "${id}" is used twice`);
    const declared = prompt.steps?.find((step) => step.id === id);
    if (declared === undefined && prompt.steps !== null)
      faults.addField(line, `steps.${id}`, "has a part in the body but is not listed under steps");
    const template = bodyPart(lines, index + 1, markers[position + 1]?.index ?? lines.length, parts.bodyLine);
    return { ...(declared ?? bareStep(id, line)), template };
  });
  for (const step of prompt.steps ?? []) {
    if (!markers.some((marker) => marker.id === step.id))
      faults.addField(
        step.line,
        `steps.${step.id}`,
        `has no part in the body: add a line "<!-- step: ${step.id} -->", followed by its text`,
      );
  }
  return { ...prompt, steps };
}

function bareStep(id: string, line: number): RawStep {
  return {
    id,
    line,
    lineOf: () => null,
    model: null,
    ...NO_CALL,
    images: null,
    template: null,
  };
}

function bodyPart(lines: readonly string[], from: number, to: number, bodyLine: number): TemplateText {
  const part = lines.slice(from, to).join("\n");
  return { text: cleanTemplate(part), line: bodyLine + from + blankLinesBefore(part), indent: 0 };
}
