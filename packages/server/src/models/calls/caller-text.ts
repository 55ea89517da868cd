/** Texts that callers read: model output made safe to store, and failure messages. */
import { cutBytes } from "../cut-bytes.ts";
import type { FailureCause } from "../providers/failure.ts";

/**
 * Everything a caller can read about a failed model call. The provider's error message never leaves the process: it may
 * contain keys, addresses, or another customer's text.
 */
const SENTENCES: Readonly<Record<FailureCause, string>> = {
  rate_limited: "The model provider is overloaded. Try again later.",
  overloaded: "The model provider is overloaded. Try again later.",
  network: "The model provider could not be reached. Try again later.",
  timeout: "The model did not answer in time. Try again later.",
  bad_request: "The model provider did not accept this request.",
  too_long: "The prompt is too long for this model. Use shorter inputs.",
  credentials: "The model provider is not available. Ask an operator of this server.",
  quota: "The model provider is not available. Ask an operator of this server.",
  protocol: "The model provider sent a response that could not be read.",
  too_large: "The model's answer is too large.",
  empty: "The model returned nothing. Try again or change the inputs.",
  image_unusable: "The model's file could not be read.",
  job_failed: "The model provider could not finish this request.",
  model_missing: "The model is not available. Ask an operator of this server.",
  reasoned_only:
    "The model used its whole output limit on reasoning before it wrote an answer. Use a lower reasoningEffort.",
};

export const NOT_JSON = "The model did not return JSON that matches the prompt's schema. Try again.";
export const DECLINED = "The model declined this request. Change the inputs.";
export const ATTEMPTS_USED_UP = "The model could not be reached after several attempts.";

export function sentenceFor(cause: FailureCause): string {
  return SENTENCES[cause];
}

/** Longer texts are cut: an output is a row in the database and part of an API response. */
export const TEXT_BYTES_MAX = 2_097_152;

/**
 * Makes a provider's text storable. Lone surrogates become U+FFFD, and so does U+0000 (PostgreSQL rejects it, so a paid
 * run would never finish). Text over the limit is cut between code points.
 */
export function cleanText(text: string): { readonly text: string; readonly isCut: boolean } {
  const cut = cutBytes(text.toWellFormed().replaceAll("\u0000", "\ufffd"), TEXT_BYTES_MAX);
  return { text: cut, isCut: cut.length < text.length };
}
