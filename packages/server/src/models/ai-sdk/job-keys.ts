/** Records which of a provider's keys started a job: another account cannot see the job. */
import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "../../platform/json.ts";
import type { ProviderEndpoint } from "../providers/provider.ts";

/** What is stored. With one key, that is only the provider's name for the job, which older programs can read too. */
export function nameWithKey(
  operation: JsonValue,
  key: number,
  { apiKeys }: Pick<ProviderEndpoint, "apiKeys">,
): JsonValue {
  const own = apiKeys[key];
  return apiKeys.length < 2 || own === undefined ? operation : { job: operation, startedBy: markOf(own) };
}

/** If the key is no longer set, the first key is used: none of the others could poll the job either. */
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

/** Tells keys apart without revealing them. */
function markOf(key: string): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 12);
}
