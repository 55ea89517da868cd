/**
 * What a choice of run options means to a provider: catalogue entries hold one mapping per option value. Mappings are
 * merged from left to right: the entry's defaults first, then the chosen value of each option in catalogue order.
 */
import { z } from "zod";
import { isDecimal } from "../../credits/index.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../platform/json.ts";

/** The SDK's one scale for every provider. */
const REASONING_LEVELS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
type Reasoning = (typeof REASONING_LEVELS)[number];

export const RATE_NAMES = ["inputPer1k", "cachedInputPer1k", "outputPer1k", "perImage", "perSecond"] as const;
export type RateName = (typeof RATE_NAMES)[number];
/**
 * Credits as decimal strings; absent is zero, except that cached input costs what input costs. `perImage` is per
 * item of an image or a video step, for clips of one price whatever their length.
 */
export type PriceTexts = { readonly [Name in RateName]?: string | undefined };

export interface Mapping {
  readonly reasoning?: Reasoning | undefined;
  /** Pixels, such as `1024x1536`. */
  readonly size?: `${number}x${number}` | undefined;
  readonly aspectRatio?: `${number}:${number}` | undefined;
  readonly resolution?: `${number}x${number}` | undefined;
  /** Whole seconds of a video. */
  readonly duration?: number | undefined;
  /** By provider name, passed through as they are. */
  readonly providerOptions?: { readonly [provider: string]: JsonObject } | undefined;
  /** Tokens the provider may bill beyond maxOutputTokens, such as a thinking budget. */
  readonly extraOutputTokens?: number | undefined;
  readonly price?: PriceTexts | undefined;
}

export const decimal = z.string().refine(isDecimal, 'must be a price such as "0.25": up to 9 digits and 6 decimals');
const pixels = z.templateLiteral([z.int().positive(), "x", z.int().positive()]);
const json: z.ZodType<JsonValue> = z.json();

export const priceTextsSchema = z.strictObject(
  Object.fromEntries(RATE_NAMES.map((name) => [name, decimal.optional()])) as Record<
    RateName,
    z.ZodOptional<typeof decimal>
  >,
) satisfies z.ZodType<PriceTexts>;

export const mappingSchema = z.strictObject({
  reasoning: z.enum(REASONING_LEVELS).optional(),
  size: pixels.optional(),
  aspectRatio: z.templateLiteral([z.int().positive(), ":", z.int().positive()]).optional(),
  resolution: pixels.optional(),
  duration: z.int().min(1).max(600).optional(),
  providerOptions: z.record(z.string(), z.record(z.string(), json)).optional(),
  extraOutputTokens: z.int().min(0).max(1_000_000).optional(),
  price: priceTextsSchema.optional(),
}) satisfies z.ZodType<Mapping>;

/** Later mappings win member by member; `providerOptions` and `price` are merged by key, at every depth. */
export function mergeMappings(mappings: readonly Mapping[]): Mapping {
  return mappings.reduce<JsonObject>((merged, next) => mergeObjects(merged, next as JsonObject), {});
}

function mergeObjects(left: JsonObject, right: JsonObject): JsonObject {
  const merged: Record<string, JsonValue> = { ...left };
  for (const [key, value] of Object.entries(right)) {
    const before = merged[key];
    if (value === undefined) continue;
    merged[key] = isPlainObject(before) && isPlainObject(value) ? mergeObjects(before, value) : value;
  }
  return merged;
}

/** Every member a mapping sets, as paths such as `providerOptions.openai.quality`. */
export function mappingMembers(mapping: Mapping): string[] {
  return leafPaths(mapping as JsonObject, "");
}

function leafPaths(object: JsonObject, prefix: string): string[] {
  return Object.entries(object).flatMap(([key, value]) =>
    isPlainObject(value) ? leafPaths(value, `${prefix}${key}.`) : [`${prefix}${key}`],
  );
}
