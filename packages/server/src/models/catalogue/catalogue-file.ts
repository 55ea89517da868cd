/** The form of the shipped files (catalogue.json, entries/) and of an operator's overlay file. Unknown members are faults: a slip must not pass. */
import { MODALITIES, type Modality } from "@promptd/contract";
import { z } from "zod";
import { isDecimal } from "../../credits/index.ts";
import { decimal, mappingSchema, priceTextsSchema, type Mapping, type PriceTexts } from "./option-mapping.ts";

const MODEL_STATUSES = ["active", "deprecated", "retired"] as const;
type ModelStatus = (typeof MODEL_STATUSES)[number];

/** What a model takes as images; `as` says how a video model uses the first one. */
interface ImageInputs {
  readonly max: number;
  readonly bytes: number;
  readonly maxSide: number;
  /** Ceiling of input tokens one image is billed as. */
  readonly tokens: number;
  readonly as?: "frame" | "reference" | undefined;
  /** It takes one more image, which says what of the others may change. */
  readonly mask?: boolean | undefined;
}

/** How a model searches the web while it answers, where the author of a prompt asks for it. */
interface WebSearchTerms {
  /** The most searches of one answer: what the hold covers, and what the provider is told where it can be. */
  readonly searchesMax: number;
  /** Credits as a decimal. */
  readonly pricePerSearch: string;
  /** `prompt`: the price is for an answer, however often the model searches for it. Absent: for each search. */
  readonly per?: "prompt" | undefined;
  /** Input tokens that the finds of one search are assumed to have, for holds and estimates. */
  readonly inputTokens: number;
  /** True: it may be held to a JSON schema in the same call. */
  readonly withSchema?: boolean | undefined;
  /** As priceToConfirm of the entry, for this price alone. */
  readonly priceToConfirm?: boolean | undefined;
  /** Where these terms are from and when they were read; for people. */
  readonly source?: string | undefined;
}

interface ModelLimits {
  readonly maxOutputTokens: number;
  /** The output limit of a text step whose author sets none; at most `maxOutputTokens`. */
  readonly defaultOutputTokens?: number | undefined;
  /** Room beside the answer for a model that reasons unasked; where a run names a level, that decides. */
  readonly reasoningTokens?: number | undefined;
  readonly contextTokens?: number | undefined;
  readonly timeoutMs: number;
  /** Calls at once to this model, over all workers. */
  readonly concurrency: number;
}

export interface ModelRecord {
  readonly index: number;
  readonly model: string;
  readonly provider: string;
  readonly providerModel: string;
  readonly api?: "responses" | "chat" | undefined;
  readonly modality: Modality;
  readonly status: ModelStatus;
  /** The first day (UTC) on which the provider no longer runs it, as announced: the entry is then retired by itself. */
  readonly retiresAt?: string | undefined;
  readonly retiredAt?: string | undefined;
  readonly successor?: string | undefined;
  readonly inputs?: { readonly images?: ImageInputs | undefined } | undefined;
  readonly webSearch?: WebSearchTerms | undefined;
  readonly runOptions: {
    readonly [key: string]: {
      readonly default?: string | undefined;
      readonly values: { readonly [value: string]: Mapping };
    };
  };
  readonly defaults?: Mapping | undefined;
  readonly price: PriceTexts & { readonly minimum?: number | undefined };
  /** Where the price is from and when it was read; for people. */
  readonly priceSource?: string | undefined;
  readonly priceDate?: string | undefined;
  /** No source was found, or sources differ: the operator must confirm the price, by giving it in the overlay. */
  readonly priceToConfirm?: boolean | undefined;
  /** Where id, life and options are from, and how certain that is; for people. */
  readonly source?: string | undefined;
  readonly limits: ModelLimits;
  readonly typical?: { readonly outputTokens?: number | undefined } | undefined;
  readonly requires?: string | undefined;
  readonly fallback?: string | undefined;
}

const count = z.int().min(0).max(10_000_000);
const id = z.string().regex(/^[a-z0-9][a-z0-9._/:-]{0,99}$/, "must be lower case letters, digits and . _ / : -");
const environmentName = z.string().regex(/^[A-Z][A-Z0-9_]{0,63}$/, "must be the name of an environment variable");
const optionText = z.string().min(1).max(64);

const recordShape = {
  index: z.int().min(1).max(19_999),
  model: id,
  provider: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, "must be lower case letters, digits and -"),
  providerModel: z.string().min(1).max(200),
  api: z.enum(["responses", "chat"]).optional(),
  modality: z.enum(MODALITIES),
  status: z.enum(MODEL_STATUSES),
  retiresAt: z.iso.date().optional(),
  retiredAt: z.iso.date().optional(),
  successor: id.optional(),
  inputs: z
    .strictObject({
      images: z
        .strictObject({
          max: z.int().min(1).max(16),
          bytes: z.int().min(10_000).max(20_971_520),
          maxSide: z.int().min(64).max(8_192),
          tokens: count,
          as: z.enum(["frame", "reference"]).optional(),
          mask: z.boolean().optional(),
        })
        .optional(),
    })
    .optional(),
  webSearch: z
    .strictObject({
      searchesMax: z.int().min(1).max(20),
      pricePerSearch: decimal,
      per: z.literal("prompt").optional(),
      inputTokens: count,
      withSchema: z.boolean().optional(),
      priceToConfirm: z.boolean().optional(),
      source: z.string().max(500).optional(),
    })
    .optional(),
  runOptions: z.record(
    optionText,
    z.strictObject({ default: optionText.optional(), values: z.record(optionText, mappingSchema) }),
  ),
  defaults: mappingSchema.optional(),
  price: priceTextsSchema.extend({ minimum: z.int().min(0).max(1_000_000).optional() }),
  priceSource: z.string().max(500).optional(),
  priceDate: z.iso.date().optional(),
  priceToConfirm: z.boolean().optional(),
  source: z.string().max(500).optional(),
  limits: z.strictObject({
    maxOutputTokens: count,
    defaultOutputTokens: z.int().min(1).max(10_000_000).optional(),
    reasoningTokens: count.optional(),
    contextTokens: count.optional(),
    timeoutMs: z.int().min(1_000).max(3_600_000),
    concurrency: z.int().min(1).max(100_000),
  }),
  typical: z.strictObject({ outputTokens: count.optional() }).optional(),
  requires: environmentName.optional(),
  fallback: id.optional(),
};

export const modelRecordSchema = z.strictObject(recordShape) satisfies z.ZodType<ModelRecord>;
/** An overlay may name only the fields, and of the limits those, that it changes; the rest is the shipped entry's. */
const overlayRecordSchema = z
  .strictObject(recordShape)
  .partial()
  .extend({ model: id, limits: recordShape.limits.partial().optional() });
export type OverlayRecord = z.output<typeof overlayRecordSchema>;

const server = z.strictObject({
  baseURL: z
    .string()
    .refine(
      (url) => /^https?:$/.test(URL.parse(url)?.protocol ?? "") && !/[?#]/.test(url),
      "must be an http(s) address without ? and #",
    ),
  apiKeyEnv: environmentName.optional(),
  quirks: z
    .strictObject({
      outputLimit: z.enum(["max_tokens", "max_completion_tokens"]).optional(),
      hasSchemas: z.boolean().optional(),
      streamUsage: z.enum(["asked", "always"]).optional(),
    })
    .optional(),
});
const providers = z.record(recordShape.provider, server);

const roles = z.record(z.string().regex(/^[a-z][a-z-]{0,62}$/, "must be lower case letters and -"), z.array(id));

const head = {
  formatVersion: z.literal(1),
  /** For people: what the shipped prices were converted with. */
  creditUsd: z.string().refine(isDecimal).optional(),
  priceDate: z.iso.date().optional(),
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
  server: server.optional(),
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
      `The model catalogue has ${faults.length === 1 ? "a fault" : `${faults.length} faults`}:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`,
    );
    this.faults = faults;
  }
}

/** `models[3].limits.timeoutMs: …`, one line per fault, behind the file's name where one is given. */
export function describeIssues(error: z.ZodError, file = ""): string[] {
  return error.issues.map((issue) => {
    const path = issue.path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
    return `${file === "" ? "" : `${file}: `}${path.replace(/^\./, "") || "the file"}: ${issue.message}`;
  });
}

/** A day as catalogue files write it: 2026-12-01. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
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
