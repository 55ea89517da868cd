import type { FailureCause } from "../providers/failure.ts";

/**
 * Everything a caller is ever told about a failed model call. A provider's own words never leave the process: they
 * may hold keys, addresses, or another customer's text.
 */
const SENTENCES: Readonly<Record<FailureCause, string>> = {
  rate_limited: "The model provider is overloaded. Try again later.",
  overloaded: "The model provider is overloaded. Try again later.",
  network: "The model provider could not be reached.",
  timeout: "The model did not answer in time.",
  bad_request: "The model provider did not accept this request.",
  too_long: "The prompt is too long for this model.",
  credentials: "The model provider is not available.",
  quota: "The model provider is not available.",
  protocol: "The model provider sent an answer that could not be read.",
  too_large: "The model's answer is too large.",
  empty: "The model returned nothing.",
  image_unusable: "The model's file could not be read.",
  job_failed: "The model provider could not finish this request.",
};

export const DECLINED = "The model declined this request.";
export const SENDS_USED_UP = "The model could not be reached after several attempts.";

export function sentenceFor(cause: FailureCause): string {
  return SENTENCES[cause];
}
