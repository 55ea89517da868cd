/** The format of the shipped files (catalogue.json, entries/) and of an operator's overlay file. Unknown members are faults, so typos are found. */
import { describeType, listWords, MODALITIES, quoteText, suggestName } from "@promptd/contract";
import { z } from "zod";
import { isDecimal } from "../../credits/index.ts";
import { environmentName, serverSchema } from "../providers/provider.ts";
import { decimal, mappingSchema, priceTextsSchema } from "./option-mapping.ts";

const count = z.int().min(0).max(10_000_000);
const id = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._/:-]{0,99}$/, "must consist of lowercase letters, digits, and . _ / : -");
const dayText = z.iso.date('must be a date such as "2027-01-31"');
const optionText = z.string().min(1).max(64);

/** How a model searches the web while it answers, if the prompt's author asks for it. */
const webSearch = z.strictObject({
  /** The most searches per answer: covered by the hold, and sent to the provider if it supports a limit. */
  searchesMax: z.int().min(1).max(20),
  pricePerSearch: decimal,
  /** `prompt`: the price is per answer, however often the model searches. Absent: per search. */
  per: z.literal("prompt").optional(),
  /** Assumed input tokens of one search's results, for holds and estimates. */
  inputTokens: count,
  /** True: the same call may also require a JSON schema. */
  withSchema: z.boolean().optional(),
  /** Like the entry's priceToConfirm, for this price only. */
  priceToConfirm: z.boolean().optional(),
  /** Where these terms are from and when they were read; for people. */
  source: z.string().max(500).optional(),
});

const limits = z.strictObject({
  maxOutputTokens: count,
  /** The output limit of a text step whose author sets none; at most `maxOutputTokens`. */
  defaultOutputTokens: z.int().min(1).max(10_000_000).optional(),
  /** Tokens beyond the answer for a model that reasons by default; a reasoning level named by a run takes precedence. */
  reasoningTokens: count.optional(),
  contextTokens: count.optional(),
  timeoutMs: z.int().min(1_000).max(3_600_000),
  /** Concurrent calls to this model, across all workers. */
  concurrency: z.int().min(1).max(100_000),
});

/** The images that a model accepts. */
const imageInputs = z.strictObject({
  max: z.int().min(1).max(16),
  bytes: z.int().min(10_000).max(20_971_520),
  maxSide: z.int().min(64).max(8_192),
  /** The most input tokens that one image is billed as. */
  tokens: count,
  /** How a video model uses the first image. */
  as: z.enum(["frame", "reference"]).optional(),
  /** True: accepts one more image, a mask that says which parts of the others may change. */
  mask: z.boolean().optional(),
});

const recordShape = {
  index: z.int().min(1).max(19_999),
  model: id,
  provider: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, "must consist of lowercase letters, digits, and -"),
  providerModel: z.string().min(1).max(200),
  api: z.enum(["responses", "chat"]).optional(),
  modality: z.enum(MODALITIES),
  status: z.enum(["active", "deprecated", "retired"]),
  /** The announced first day (UTC) on which the provider no longer runs it. The entry is retired automatically on that day. */
  retiresAt: dayText.optional(),
  retiredAt: dayText.optional(),
  successor: id.optional(),
  inputs: z.strictObject({ images: imageInputs.optional() }).optional(),
  webSearch: webSearch.optional(),
  runOptions: z.record(
    optionText,
    z.strictObject({ default: optionText.optional(), values: z.record(optionText, mappingSchema) }),
  ),
  defaults: mappingSchema.optional(),
  price: priceTextsSchema.extend({ minimum: z.int().min(0).max(1_000_000).optional() }),
  /** Where the price is from and when it was read; for people. */
  priceSource: z.string().max(500).optional(),
  priceDate: dayText.optional(),
  /** No source was found, or sources differ: the operator must confirm the price by setting it in the overlay. */
  priceToConfirm: z.boolean().optional(),
  /** Where id, life and options are from, and how certain that is; for people. */
  source: z.string().max(500).optional(),
  limits,
  typical: z.strictObject({ outputTokens: count.optional() }).optional(),
  requires: environmentName.optional(),
  fallback: id.optional(),
};

export const modelRecordSchema = z.strictObject(recordShape);
export type ModelRecord = Readonly<z.output<typeof modelRecordSchema>>;
/** An overlay needs only the fields and limits that it changes; the rest comes from the shipped entry. */
const overlayRecordSchema = z
  .strictObject(recordShape)
  .partial()
  .extend({ model: id, limits: limits.partial().optional() });
export type OverlayRecord = z.output<typeof overlayRecordSchema>;

const providers = z.record(recordShape.provider, serverSchema);

const roles = z.record(z.string().regex(/^[a-z][a-z-]{0,62}$/, "must consist of lowercase letters and -"), z.array(id));

const head = {
  formatVersion: z.literal(1),
  /** For people: what the shipped prices were converted with. */
  creditUsd: z.string().refine(isDecimal, 'must be a decimal such as "0.01"').optional(),
  priceDate: dayText.optional(),
  priceNote: z.string().optional(),
  providers: providers.optional(),
  /** What a prompt may name instead of a model, and the models that it can mean, best first. */
  roles: roles.optional(),
};

/** catalogue.json: what applies to all entries. */
export const catalogueFileSchema = z.strictObject(head).omit({ providers: true });
/** A file in entries/: one provider, which its entries do not repeat. */
export const entriesFileSchema = z.strictObject({
  provider: recordShape.provider,
  /** For an OpenAI-compatible provider that has no source file of its own. */
  server: serverSchema.optional(),
  models: z.array(modelRecordSchema.omit({ provider: true })),
});
export const overlayFileSchema = z.strictObject({
  ...head,
  /** The operator's margin: every price, shipped or own, is multiplied by it. */
  priceFactor: z.string().refine(isDecimal, 'must be a decimal such as "1.25"').optional(),
  models: z.array(overlayRecordSchema).optional(),
});
export type OverlayFile = z.output<typeof overlayFileSchema>;

/** All faults of the shipped files and the overlay. */
export class CatalogueError extends Error {
  override readonly name = "CatalogueError";
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(
      `The model catalogue has ${faults.length === 1 ? "an error" : `${faults.length} errors`}:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`,
    );
    this.faults = faults;
  }
}

const TYPES: Readonly<Record<string, string>> = {
  object: "an object",
  record: "an object",
  array: "an array",
  string: "a string",
  boolean: "true or false",
  number: "a number",
  int: "a whole number",
};

/** For parsing files that people write: the library's own messages talk about its types. A schema's own messages stay. */
export const IN_OUR_WORDS: z.core.ParseContext<z.core.$ZodIssue> = {
  error: (issue) => {
    const { input } = issue;
    const got = showInput(input);
    if (issue.code === "unrecognized_keys") return issue.keys.map((key) => describeUnknown(key, issue)).join(" ");
    if (issue.code === "invalid_type") return `must be ${TYPES[issue.expected] ?? issue.expected}, ${got}`;
    if (issue.code === "invalid_value") return `must be ${listWords(issue.values.map(quoteValue), "or")}, ${got}`;
    if (issue.code === "too_big") return `must ${lengthOr(input)} at most ${issue.maximum}, ${got}`;
    if (issue.code === "too_small") return `must ${lengthOr(input)} at least ${issue.minimum}, ${got}`;
    return issue.code === "invalid_key" ? "is not a valid name" : undefined;
  },
};

const quoteValue = (value: unknown) => JSON.stringify(value);

function showInput(input: unknown): string {
  if (input === undefined) return "but is missing";
  if (typeof input === "string") return `got ${quoteText(input)}`;
  return `got ${typeof input === "object" ? describeType(input) : JSON.stringify(input)}`;
}

const lengthOr = (input: unknown) => (typeof input === "string" ? "have a length of" : "be");

function describeUnknown(key: string, { inst, input }: { readonly inst?: unknown; readonly input?: unknown }): string {
  const known = inst instanceof z.ZodObject ? Object.keys(inst.shape) : [];
  const meant = suggestName(
    key,
    known.filter((name) => !Object.hasOwn(Object(input), name)),
  );
  return `"${key}" is not a known field here. ${meant === null ? `Known fields: ${known.join(", ")}.` : `Did you mean "${meant}"?`}`;
}

/** Formats one line per fault, such as `models[3].limits.timeoutMs: …`, after the file name if one is given. */
export function describeIssues(error: z.ZodError, file = ""): string[] {
  return error.issues.map((issue) => {
    const path = issue.path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
    return `${file === "" ? "" : `${file}: `}${path.replace(/^\./, "") || "the file"}: ${issue.message}`;
  });
}

/**
 * Returns the record as of a day, so that an announced end needs no release. Until that day the model is deprecated, so
 * that nobody builds on it.
 */
export function recordOn<Record extends ModelRecord>(record: Record, day: string): Record {
  const { status, retiresAt } = record;
  if (status === "retired" || retiresAt === undefined) return record;
  return retiresAt <= day
    ? { ...record, status: "retired", retiredAt: retiresAt }
    : { ...record, status: "deprecated" };
}
