/**
 * Maps run options to provider settings: catalogue entries have one mapping per option value. Mappings are merged from
 * left to right: the entry's defaults first, then the chosen value of each option in catalogue order.
 */
import { z } from "zod";
import { isDecimal } from "../../credits/index.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../platform/json.ts";

export const RATE_NAMES = ["inputPer1k", "cachedInputPer1k", "outputPer1k", "perImage", "perSecond"] as const;
export type RateName = (typeof RATE_NAMES)[number];

export const decimal = z.string().refine(isDecimal, 'must be a price such as "0.25": up to 9 digits and 6 decimals');
const pixels = z.templateLiteral([z.int().positive(), "x", z.int().positive()], 'must be pixels such as "1024x1536"');
const json: z.ZodType<JsonValue> = z.json();

/**
 * Credits as decimal strings. Absent means zero, except that cached input then costs the same as input. `perImage` is per
 * item of an image or video step; for video, it is a fixed price per clip, whatever its length.
 */
export const priceTextsSchema = z.strictObject(
  Object.fromEntries(RATE_NAMES.map((name) => [name, decimal.optional()])) as Record<
    RateName,
    z.ZodOptional<typeof decimal>
  >,
);
export const mappingSchema = z.strictObject({
  /** The SDK's one scale for every provider. */
  reasoning: z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]).optional(),
  /** Pixels, such as `1024x1536`. */
  size: pixels.optional(),
  aspectRatio: z
    .templateLiteral([z.int().positive(), ":", z.int().positive()], 'must be a ratio such as "16:9"')
    .optional(),
  resolution: pixels.optional(),
  /** Whole seconds of a video. */
  duration: z.int().min(1).max(600).optional(),
  /** By provider name, passed through unchanged. */
  providerOptions: z.record(z.string(), z.record(z.string(), json)).optional(),
  /** Tokens the provider may bill beyond maxOutputTokens, such as a thinking budget. */
  extraOutputTokens: z.int().min(0).max(1_000_000).optional(),
  price: priceTextsSchema.optional(),
});
export type Mapping = Readonly<z.output<typeof mappingSchema>>;

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
