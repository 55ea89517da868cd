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

/** What is likely to help. Other causes are one-time, or say it themselves. */
const ADVICE: Readonly<Record<string, string>> = {
  rate_limited: "Ask the provider for a higher limit, or lower the model’s concurrency in the models file.",
  overloaded: "It usually passes. If it lasts, switch the model off: fallbacks then answer at once.",
  network: "Check this server’s network and the provider’s base URL in the settings.",
  timeout: "It usually passes. If it lasts, test the model, and raise its time limit in the models file.",
  bad_request: "Test the model. If the test succeeds, the prompt’s options or files are what the provider rejects.",
  too_long: "The prompt or its inputs must be shorter, or the prompt needs a model with a larger context.",
  credentials: "Check the provider’s API key in the settings.",
  quota: "Add credit to the account at the provider.",
  protocol: "Test the model, and check that the provider’s base URL speaks the expected API.",
  not_stored: "Check the file store. The overview shows whether it is writable.",
  attempts_used_up: "The log of the workers says why each attempt ended.",
  model_missing: "The provider may have renamed or retired the model. Check its entry in the models file.",
  model_unusable: "Set the key of the model’s provider, or switch the model on.",
  reasoned_only: "The prompt needs a higher maxOutputTokens or a lower reasoningEffort.",
  refused: "The provider’s content rules apply. The prompt or its inputs must change.",
  broken: "Find the request ID in the log of the workers, and report the error.",
};

export function causeAdvice(cause: string): string | null {
  return ADVICE[cause] ?? null;
}
