/** The form of the shipped files (catalogue.json, entries/) and of an operator's overlay file. Unknown members are faults: a slip must not pass. */
import { describeType, MODALITIES, quoteText, suggestName } from "@promptd/contract";
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

/** How a model searches the web while it answers, where the author of a prompt asks for it. */
const webSearch = z.strictObject({
  /** The most searches of one answer: what the hold covers, and what the provider is told where it can be. */
  searchesMax: z.int().min(1).max(20),
  pricePerSearch: decimal,
  /** `prompt`: the price is for an answer, however often the model searches for it. Absent: for each search. */
  per: z.literal("prompt").optional(),
  /** Input tokens that the finds of one search are assumed to have, for holds and estimates. */
  inputTokens: count,
  /** True: it may be held to a JSON schema in the same call. */
  withSchema: z.boolean().optional(),
  /** As priceToConfirm of the entry, for this price alone. */
  priceToConfirm: z.boolean().optional(),
  /** Where these terms are from and when they were read; for people. */
  source: z.string().max(500).optional(),
});

const limits = z.strictObject({
  maxOutputTokens: count,
  /** The output limit of a text step whose author sets none; at most `maxOutputTokens`. */
  defaultOutputTokens: z.int().min(1).max(10_000_000).optional(),
  /** Room beside the answer for a model that reasons unasked; where a run names a level, that decides. */
  reasoningTokens: count.optional(),
  contextTokens: count.optional(),
  timeoutMs: z.int().min(1_000).max(3_600_000),
  /** Calls at once to this model, over all workers. */
  concurrency: z.int().min(1).max(100_000),
});

/** What a model takes as images. */
const imageInputs = z.strictObject({
  max: z.int().min(1).max(16),
  bytes: z.int().min(10_000).max(20_971_520),
  maxSide: z.int().min(64).max(8_192),
  /** Ceiling of input tokens one image is billed as. */
  tokens: count,
  /** How a video model uses the first one. */
  as: z.enum(["frame", "reference"]).optional(),
  /** It takes one more image, which says what of the others may change. */
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
  /** The first day (UTC) on which the provider no longer runs it, as announced: the entry is then retired by itself. */
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
  /** No source was found, or sources differ: the operator must confirm the price, by giving it in the overlay. */
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
/** An overlay may name only the fields, and of the limits those, that it changes; the rest is the shipped entry's. */
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
  /** What a prompt may name in place of a model, and the models that it can mean, best first. */
  roles: roles.optional(),
};

/** catalogue.json: what is said of all entries. */
export const catalogueFileSchema = z.strictObject(head).omit({ providers: true });
/** A file of entries/: one provider, which its entries do not repeat. */
export const entriesFileSchema = z.strictObject({
  provider: recordShape.provider,
  /** Of a provider that speaks the OpenAI interface and has no file of code. */
  server: serverSchema.optional(),
  models: z.array(modelRecordSchema.omit({ provider: true })),
});
export const overlayFileSchema = z.strictObject({
  ...head,
  /** Every price, shipped or own, times this; the operator's margin. */
  priceFactor: z.string().refine(isDecimal, 'must be a decimal such as "1.25"').optional(),
  models: z.array(overlayRecordSchema).optional(),
});
export type OverlayFile = z.output<typeof overlayFileSchema>;

/** All faults of the shipped files and of the overlay at once. */
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

/** For parsing a file that a person wrote: the library's own words are of its types. What a schema says itself stands. */
export const IN_OUR_WORDS: z.core.ParseContext<z.core.$ZodIssue> = {
  error: (issue) => {
    const { input } = issue;
    const got = showInput(input);
    if (issue.code === "unrecognized_keys") return issue.keys.map((key) => describeUnknown(key, issue)).join(" ");
    if (issue.code === "invalid_type") return `must be ${TYPES[issue.expected] ?? issue.expected}, ${got}`;
    if (issue.code === "invalid_value") return `must be ${issue.values.map(quoteValue).join(" or ")}, ${got}`;
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

/** `models[3].limits.timeoutMs: …`, one line per fault, behind the file's name where one is given. */
export function describeIssues(error: z.ZodError, file = ""): string[] {
  return error.issues.map((issue) => {
    const path = issue.path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
    return `${file === "" ? "" : `${file}: `}${path.replace(/^\./, "") || "the file"}: ${issue.message}`;
  });
}

/**
 * What a model is on a day: an end that was announced needs no release. Until then it is deprecated, so that nobody
 * builds on it.
 */
export function recordOn<Record extends ModelRecord>(record: Record, day: string): Record {
  const { status, retiresAt } = record;
  if (status === "retired" || retiresAt === undefined) return record;
  return retiresAt <= day
    ? { ...record, status: "retired", retiredAt: retiresAt }
    : { ...record, status: "deprecated" };
}
