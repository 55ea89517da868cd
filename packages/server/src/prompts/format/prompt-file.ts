/**
 * From the text of a file to prompts that can be published: `*.prompt.md` (YAML front matter, then the Liquid body,
 * in parts where there are steps) or the JSON import form `{promptd: 1, prompts: [...]}`.
 */
import type { Catalogue } from "../../models/index.ts";
import { FieldReader } from "./field-reader.ts";
import { readJsonSource } from "./json-source.ts";
import type { PromptSource } from "../prompt-definition.ts";
import { PromptFileError } from "./prompt-fault.ts";
import {
  blankLinesBefore,
  checkFormat,
  cleanTemplate,
  readPromptFields,
  STEP_ID,
  type RawPrompt,
  type RawStep,
  type TemplateText,
} from "./prompt-fields.ts";
import { joinSlug } from "./prompt-slug.ts";
import { resolvePrompt, type ResolveOptions } from "../publishing/resolve-prompt.ts";
import { FaultList, kindName, lineFinder, type LineOf } from "./source-tree.ts";
import { readYamlSource } from "./yaml-source.ts";

const FRONT_MATTER_BYTES_MAX = 64 * 1_024;
const FILE_BYTES_MAX = 64 * 1_024 * 1_024;
const CREDITS_MAX_DEFAULT = 10_000;

/**
 * Reads either form of file; one that begins with `{` is JSON.
 * @throws PromptFileError with every fault of the file.
 */
export function parsePromptFile(
  text: string,
  catalogue: Catalogue,
  limits: { creditsMax?: number } = {},
): PromptSource[] {
  const options = { catalogue, creditsMax: limits.creditsMax ?? CREDITS_MAX_DEFAULT };
  const clean = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const faults = new FaultList();
  const sources = clean.trimStart().startsWith("{")
    ? readJson(clean, faults, options)
    : readPromptMd(clean, faults, options);
  if (faults.faults.length > 0) throw new PromptFileError(faults.faults);
  return sources;
}

function readJson(text: string, faults: FaultList, options: ResolveOptions): PromptSource[] {
  if (!checkSize(text, FILE_BYTES_MAX, faults)) return [];
  const root = readJsonSource(text, faults);
  if (root === null) return [];
  if (root.kind !== "map") {
    faults.add({
      line: root.line,
      field: "file",
      code: "FILE_SYNTAX",
      message: `must be an object, got ${kindName(root)}`,
    });
    return [];
  }
  const reader = new FieldReader(root, "", faults);
  checkFormat(reader);
  const items = reader.list("prompts");
  if (items === null) reader.fault("prompts", "is required: the list of prompts");
  reader.finish(["promptd", "prompts"]);
  const sources = (items ?? []).flatMap((item, index) => {
    const own = new FaultList(`prompts[${index + 1}].`);
    const source = item.kind === "map" ? resolvePrompt(readPromptFields(item, "json", own), own, options) : null;
    if (item.kind !== "map")
      faults.addField(item.line, `prompts[${index + 1}]`, `must be an object, got ${kindName(item)}`);
    for (const fault of own.faults) faults.add(fault);
    return source === null ? [] : [{ source, lineOf: lineFinder(root), index }];
  });
  return separate(sources, faults);
}

/** A prompt of a JSON file with its index there. */
interface PlacedSource {
  readonly source: PromptSource;
  readonly lineOf: LineOf;
  readonly index: number;
}

/** One file never makes two versions of one prompt: equal ids and equal slugs of its own words are faults. */
function separate(placed: readonly PlacedSource[], faults: FaultList): PromptSource[] {
  const ids = new Set<string>();
  const slugs = new Set<string>();
  const claim = (taken: Set<string>, value: string, { source, lineOf, index }: PlacedSource) => {
    const name = taken === ids ? "id" : "slug";
    const message = `"${source.title}": this ${name} stands in the file twice`;
    if (taken.has(value)) faults.addField(lineOf("prompts", index, name), `prompts[${index + 1}].${name}`, message);
    taken.add(value);
  };
  for (const each of placed) {
    if (each.source.promptId !== null) claim(ids, each.source.promptId, each);
    if (each.source.slugGiven) claim(slugs, each.source.slug, each);
  }
  return placed.map(({ source }) => {
    if (source.slugGiven) return source;
    let { slug } = source;
    for (let number = 2; slugs.has(slug); number += 1) slug = joinSlug(source.slug, number);
    slugs.add(slug);
    return { ...source, slug };
  });
}

function readPromptMd(text: string, faults: FaultList, options: ResolveOptions): PromptSource[] {
  const parts = splitFrontMatter(text, faults);
  if (parts === null) return [];
  const root = readYamlSource(parts.frontMatter, 2, faults);
  if (root === null) return [];
  if (root.kind !== "map") {
    faults.add({
      line: 2,
      field: "front matter",
      code: "FILE_SYNTAX",
      message: `must be a map of fields, got ${kindName(root)}`,
    });
    return [];
  }
  const prompt = withBody(readPromptFields(root, "file", faults), { parts, faults });
  const source = resolvePrompt(prompt, faults, options);
  return source === null ? [] : [source];
}

interface FileParts {
  readonly frontMatter: string;
  readonly body: string;
  /** Line of the file where the body begins. */
  readonly bodyLine: number;
}

function splitFrontMatter(text: string, faults: FaultList): FileParts | null {
  const lines = text.replaceAll(/\r\n?/g, "\n").split("\n");
  const end =
    lines[0]?.trimEnd() === "---" ? lines.findIndex((line, index) => index > 0 && line.trimEnd() === "---") : -1;
  if (end === -1) {
    const message = 'must begin with a line "---", the fields in YAML, and another line "---"; the prompt follows';
    faults.add({ line: 1, field: "file", code: "FILE_SYNTAX", message });
    return null;
  }
  const frontMatter = lines.slice(1, end).join("\n");
  const body = lines.slice(end + 1).join("\n");
  if (!checkSize(frontMatter, FRONT_MATTER_BYTES_MAX, faults) || !checkSize(body, FILE_BYTES_MAX, faults)) return null;
  const unfit = lines.findIndex((line, index) => index > end && (line.includes("\0") || !line.isWellFormed()));
  if (unfit !== -1) {
    faults.add({
      line: unfit + 1,
      field: "body",
      code: "FILE_SYNTAX",
      message: "holds U+0000 or half a surrogate pair, which is no text",
    });
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

const STEP_MARKER = /^<!-- step: (\S+) -->[ \t]*$/;

/** Gives the body to the prompt, or its parts to the steps, which run in the order of the body. */
function withBody(prompt: RawPrompt, file: { parts: FileParts; faults: FaultList }): RawPrompt {
  const { parts, faults } = file;
  const lines = parts.body.split("\n");
  const markers = lines.flatMap((line, index) => {
    const id = STEP_MARKER.exec(line)?.[1];
    return id === undefined ? [] : [{ id, index }];
  });
  if (markers.length === 0 && prompt.steps === null)
    return { ...prompt, template: bodyPart(lines, 0, lines.length, parts.bodyLine) };
  const first = markers[0]?.index ?? lines.length;
  const stray = lines.slice(0, first).findIndex((line) => line.trim() !== "");
  if (stray !== -1) {
    const message =
      'a body in steps begins with a line such as "<!-- step: draft -->"; only blank lines may stand before it';
    faults.add({ line: parts.bodyLine + stray, field: "body", code: "FILE_SYNTAX", message });
  }
  const steps = markers.map(({ id, index }, position): RawStep => {
    const line = parts.bodyLine + index;
    if (markers.findIndex((marker) => marker.id === id) !== position || !STEP_ID.test(id))
      faults.add({ line, field: "body", code: "FILE_SYNTAX", message: `"${id}" is no step id, or stands here twice` });
    const declared = prompt.steps?.find((step) => step.id === id);
    if (declared === undefined && prompt.steps !== null)
      faults.addField(line, `steps.${id}`, "has a part in the body but is not named under steps");
    const template = bodyPart(lines, index + 1, markers[position + 1]?.index ?? lines.length, parts.bodyLine);
    return { ...(declared ?? bareStep(id, line)), template };
  });
  for (const step of prompt.steps ?? []) {
    if (!markers.some((marker) => marker.id === step.id))
      faults.addField(
        step.line,
        `steps.${step.id}`,
        `has no part in the body: a line "<!-- step: ${step.id} -->" and its text`,
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
    instructions: null,
    options: {},
    images: null,
    maxOutputTokens: null,
    count: null,
    template: null,
  };
}

function bodyPart(lines: readonly string[], from: number, to: number, bodyLine: number): TemplateText {
  const part = lines.slice(from, to).join("\n");
  return { text: cleanTemplate(part), line: bodyLine + from + blankLinesBefore(part), hasLines: true };
}
