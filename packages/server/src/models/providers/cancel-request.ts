/**
 * How a started video is stopped: one request, which the SDK does not know. Replicate and fal have one. For Veo none was
 * found, so its video runs to its end.
 */
import type { JsonValue } from "../catalogue/mapping.ts";
import type { ProviderPlace } from "./provider-endpoint.ts";

export interface CancelRequest {
  readonly url: URL;
  readonly method: "POST" | "PUT";
  readonly authorization: string;
}

/** @returns null: nothing stops this video, or its address is not the provider's own, where no key may be sent. */
export function cancelRequestOf(provider: string, operation: JsonValue, place: ProviderPlace): CancelRequest | null {
  const key = place.apiKey ?? "";
  switch (provider) {
    case "replicate":
      return own(place, addressIn(operation, "getUrl"), { method: "POST", authorization: `Bearer ${key}` });
    case "fal":
      return own(place, addressIn(operation, "responseUrl"), { method: "PUT", authorization: `Key ${key}` });
    default:
      return null;
  }
}

/** Both name a job by the address of its state, and cancel below it. */
function own(
  place: ProviderPlace,
  address: string | null,
  how: Pick<CancelRequest, "method" | "authorization">,
): CancelRequest | null {
  const url = address === null ? null : URL.parse(address);
  if (url === null || !place.origins.some((origin) => new URL(origin).origin === url.origin)) return null;
  url.pathname = `${url.pathname.replace(/\/response$/, "")}/cancel`;
  return { url, ...how };
}

function addressIn(operation: JsonValue, name: string): string | null {
  if (typeof operation !== "object" || operation === null || Array.isArray(operation)) return null;
  const value = (operation as Readonly<Record<string, JsonValue>>)[name];
  return typeof value === "string" ? value : null;
}
