/** What a cause means to an operator. Unknown causes are shown as they are. */
const WORDS: Readonly<Record<string, string>> = {
  rate_limited: "The provider’s rate limit",
  overloaded: "The provider is overloaded",
  network: "The provider could not be reached",
  timeout: "No response in time",
  deadline: "The run’s deadline",
  bad_request: "The provider rejected the request",
  too_long: "Input too long for the model",
  credentials: "The provider rejected the key",
  quota: "The provider’s account has no credit",
  protocol: "Invalid response",
  too_large: "Output too large",
  empty: "Empty response",
  no_usable_output: "No usable output",
  not_json: "Not the requested JSON",
  not_stored: "The output could not be stored",
  attempts_used_up: "All attempts were used up",
  image_unusable: "An image could not be used",
  job_failed: "The provider’s job failed",
  model_missing: "The provider has no such model",
  model_unusable: "The model is not enabled here",
  reasoned_only: "Reasoning used up the output limit",
  refused: "The model declined",
  canceled: "Canceled by the caller",
  broken: "Internal error in promptd",
  version_missing: "The prompt version no longer exists",
  unknown: "Unknown",
};

export function causeWords(cause: string): string {
  const words = cause.replaceAll("_", " ");
  return WORDS[cause] ?? words.charAt(0).toUpperCase() + words.slice(1);
}
