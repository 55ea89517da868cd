import { isUuid } from "../../platform/ids.ts";
import { readCallFields, readTemplate, type RawCall } from "./call-fields.ts";
import { FIELD_LIMITS, SLUG } from "./field-limits.ts";
import { FieldReader, MEMBERS_READ_MAX, type TextRule } from "./field-reader.ts";
import { readImageSlots } from "./file-inputs.ts";
import { readInputFields } from "./text-input-fields.ts";
import type { ImageSlot, InputField } from "../prompt-definition.ts";
import type { FaultList } from "../prompt-fault.ts";
import { readTests, type RawTest } from "./test-fields.ts";
import type { TemplateText } from "../template/template-text.ts";
import { kindName, lineFinder, type LineOf, type SourceMap, type SourceNode } from "./source-tree.ts";

export const STEP_ID = /^[a-z][a-z0-9_]{0,31}$/;
export function notStepId(id: string): string {
  return `"${id}" is not a valid step id: use at most 32 lowercase letters, digits, and "_", starting with a letter`;
}
/** Id of the single step of a file without steps. */
export const ONLY_STEP = "main";

/** A step as written in the file; null: absent. */
export interface RawStep extends RawCall {
  readonly id: string;
  readonly line: number;
  /** Lines of the step's own members. */
  readonly lineOf: LineOf;
  readonly model: string | null;
  /** Slot numbers from 1. */
  readonly images: readonly number[] | null;
  readonly template: TemplateText | null;
}

export interface RawSample {
  readonly line: number;
  readonly lineOf: LineOf;
  readonly textInputs: Readonly<Record<string, string>>;
  readonly images: readonly string[];
  readonly outputs: readonly { readonly type: "text" | "image" | "video" | null; readonly data: string }[];
}

/**
 * One prompt as written in the file: every field has the right form, but fields are not compared with each other yet.
 */
export interface RawPrompt extends RawCall {
  readonly line: number;
  readonly lineOf: LineOf;
  readonly id: string | null;
  readonly title: string;
  readonly slug: string | null;
  readonly description: string;
  readonly tags: readonly string[];
  readonly model: string;
  readonly inputs: readonly InputField[] | null;
  readonly images: readonly ImageSlot[];
  readonly steps: readonly RawStep[] | null;
  readonly samples: readonly RawSample[];
  readonly tests: readonly RawTest[];
  readonly template: TemplateText | null;
}

const DESCRIPTION_RULE: TextRule = { max: FIELD_LIMITS.descriptionLength, mayBeEmpty: true, mayHaveLines: true };

/** @param form `file`: front matter, with the templates in the body; `json`: templates are fields. */
export function readPromptFields(map: SourceMap, form: "file" | "json", faults: FaultList): RawPrompt {
  const reader = new FieldReader(map, "", faults);
  if (form === "file") checkFormat(reader);
  const id = reader.text("id", { max: 36 });
  if (id !== null && !isUuid(id)) reader.fault("id", `must be a UUID, got "${id}"`);
  const title = reader.requiredText("title", { max: FIELD_LIMITS.titleLength })?.trim() ?? "";
  const slug = reader.text("slug", { max: FIELD_LIMITS.slugLength });
  if (slug !== null && !SLUG.test(slug))
    reader.fault("slug", `must be 1 to ${FIELD_LIMITS.slugLength} characters from a-z, 0-9, and "-", got "${slug}"`);
  const prompt: RawPrompt = {
    line: map.line,
    lineOf: lineFinder(map),
    id: id?.toLowerCase() ?? null,
    title,
    slug,
    description: reader.text("description", DESCRIPTION_RULE)?.trim() ?? "",
    tags: readTags(reader),
    model: reader.requiredText("model", { max: 100 }) ?? "",
    inputs: readInputFields(reader),
    images: readImageSlots(reader),
    ...readCallFields(reader),
    steps: readSteps(reader, form),
    samples: readSamples(reader),
    tests: readTests(reader),
    template: form === "json" ? readTemplate(reader, "template") : null,
  };
  reader.finish();
  return prompt;
}

export function checkFormat(reader: FieldReader): void {
  const node = reader.node("promptd");
  if (node?.kind === "number" && node.value === 1) return;
  reader.fault("promptd", "is required and must be 1: it is the version of the file format");
}

function readTags(reader: FieldReader): string[] {
  const items = reader.list("tags") ?? [];
  const { tags: tagsMax, tagLength } = FIELD_LIMITS;
  if (items.length > tagsMax) reader.fault("tags", `has ${items.length} tags; the limit is ${tagsMax}`);
  const tags = items.map((item) => reader.asText(item, "tags", { max: tagLength })?.trim() ?? "");
  return [...new Set(tags)].filter((tag) => tag !== "");
}

/** Reads steps by id; a JSON file may also have a list of steps with ids. */
function readSteps(reader: FieldReader, form: "file" | "json"): RawStep[] | null {
  const node = reader.node("steps");
  if (node === null) return null;
  const pairs = stepNodes(node, reader);
  if (pairs.length < 1 || pairs.length > FIELD_LIMITS.steps) {
    const message = `must have 1 to ${FIELD_LIMITS.steps} steps, got ${pairs.length}`;
    reader.faults.add({ line: node.line, field: "steps", code: "LIMITS", message });
  }
  const steps: RawStep[] = [];
  for (const [id, value] of pairs.slice(0, MEMBERS_READ_MAX)) {
    const fault = (message: string) => reader.faults.addField(value.line, `steps.${id}`, message);
    if (!STEP_ID.test(id)) fault(notStepId(id));
    if (steps.some((step) => step.id === id)) fault(`the step "${id}" is used twice here`);
    steps.push(readStep(id, value, { reader, form }));
  }
  return steps;
}

function stepNodes(node: SourceNode, reader: FieldReader): [id: string, value: SourceNode][] {
  if (node.kind === "map") return node.entries.map((entry) => [entry.key, entry.value]);
  if (node.kind !== "list") {
    reader.fault("steps", `must be a map from step ids to steps, got ${kindName(node)}`);
    return [];
  }
  return node.items.map((item) => {
    const id = item.kind === "map" ? item.entries.find((entry) => entry.key === "id")?.value : undefined;
    if (id?.kind !== "text") reader.faults.addField(item.line, "steps", "every step in a list needs an id");
    return [id?.kind === "text" ? id.value : "", item];
  });
}

function readStep(id: string, node: SourceNode, from: { reader: FieldReader; form: "file" | "json" }): RawStep {
  const path = `steps.${id}`;
  if (node.kind !== "map" && node.kind !== "nothing")
    from.reader.faults.addField(node.line, path, `must be a map, got ${kindName(node)}`);
  const map: SourceMap = node.kind === "map" ? node : { kind: "map", line: node.line, entries: [] };
  const reader = new FieldReader(map, path, from.reader.faults);
  if (from.form === "json") reader.node("id");
  const step: RawStep = {
    id,
    line: node.line,
    lineOf: lineFinder(map),
    model: reader.text("model", { max: 100 }),
    ...readCallFields(reader),
    images: readSlotNumbers(reader),
    template: from.form === "json" ? readTemplate(reader, "template") : null,
  };
  reader.finish();
  return step;
}

function readSlotNumbers(reader: FieldReader): number[] | null {
  const items = reader.list("images");
  if (items === null) return null;
  const numbers: number[] = [];
  for (const item of items.slice(0, MEMBERS_READ_MAX)) {
    const number = item.kind === "number" ? item.value : Number.NaN;
    if (!Number.isInteger(number) || number < 1 || number > FIELD_LIMITS.images || numbers.includes(number))
      reader.faults.addField(
        item.line,
        reader.fieldPath("images"),
        "must list image slot numbers, starting at 1, without repeats",
      );
    else numbers.push(number);
  }
  return numbers;
}

/** Reads sample values: `inputs` maps keys to texts, `images` are URLs. */
function readSamples(reader: FieldReader): RawSample[] {
  return (reader.readers("samples", FIELD_LIMITS.samples, "with inputs and outputs") ?? []).map(readSample);
}

const SAMPLE_RULE: TextRule = { max: 100_000, mayBeEmpty: true, mayHaveLines: true };

function readSample(reader: FieldReader): RawSample {
  const textInputs = reader.textMap("inputs", SAMPLE_RULE);
  const images = (reader.list("images") ?? []).map((item) => {
    const url = reader.asText(item, "images", { max: 2_048 }) ?? "";
    if (!url.startsWith("https://"))
      reader.faults.addField(item.line, reader.fieldPath("images"), "must be URLs that start with https://");
    return url;
  });
  const outputs = (reader.list("outputs") ?? []).map((item) => readSampleOutput(item, reader));
  reader.finish();
  return { line: reader.source.line, lineOf: lineFinder(reader.source), textInputs, images, outputs };
}

function readSampleOutput(node: SourceNode, reader: FieldReader): RawSample["outputs"][number] {
  if (node.kind !== "map") return { type: null, data: reader.asText(node, "outputs", SAMPLE_RULE) ?? "" };
  const output = new FieldReader(node, reader.fieldPath("outputs"), reader.faults);
  const type = output.requiredText("type", { max: 10 });
  const data = output.requiredText("data", SAMPLE_RULE) ?? "";
  output.finish();
  if (type === "text" || type === "image" || type === "video") return { type, data };
  if (type !== null) output.fault("type", `must be text, image, or video, got "${type}"`);
  return { type: null, data };
}
