/** Which of a provider's keys started a job: another account does not know it. */
import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "../../platform/json.ts";
import type { ProviderEndpoint } from "../providers/provider.ts";

/** What is stored: with one key the provider's own name of the job alone, which older programs read as well. */
export function nameWithKey(
  operation: JsonValue,
  key: number,
  { apiKeys }: Pick<ProviderEndpoint, "apiKeys">,
): JsonValue {
  const own = apiKeys[key];
  return apiKeys.length < 2 || own === undefined ? operation : { job: operation, startedBy: markOf(own) };
}

/** Of a key that is not set any more the first one: nobody else can ask either. */
export function splitName(
  stored: JsonValue,
  { apiKeys }: Pick<ProviderEndpoint, "apiKeys">,
): { readonly operation: JsonValue; readonly key: number } {
  if (!isMarked(stored)) return { operation: stored, key: 0 };
  const key = apiKeys.findIndex((each) => markOf(each) === stored["startedBy"]);
  return { operation: stored["job"] ?? null, key: Math.max(0, key) };
}

function isMarked(stored: JsonValue): stored is JsonObject {
  return typeof stored === "object" && stored !== null && !Array.isArray(stored) && "startedBy" in stored;
}

/** Tells keys apart and gives none away. */
function markOf(key: string): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 12);
}
