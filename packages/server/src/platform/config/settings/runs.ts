import { z } from "zod";
import { address, autoOr, integer, range, setting, text, toggle } from "../setting-forms.ts";

export const RUNS = {
  PROMPTD_ACTIVE_RUNS_MAX: range("a number", [1, 1_000_000], {
    default: "1000",
    meaning: "The most queued and running runs per account.",
  }),
  PROMPTD_WORKER_CONCURRENCY: range("a number", [1, 10_000], {
    default: "200",
    meaning: "Runs that one worker process executes at once.",
  }),
  PROMPTD_LEASE_MS: range("milliseconds", [300, 60_000], {
    default: "6000",
    meaning:
      "After this long without a heartbeat, a worker counts as dead and its runs are claimed again. Use the same value in all processes.",
  }),
  PROMPTD_INFLIGHT_BYTES: setting(integer(1_048_576, 1_099_511_627_776), {
    default: "536870912",
    expected: "bytes from 1048576",
    meaning: "Memory that one worker's model calls may use: a third for input images, the rest for the calls.",
  }),
} as const;

export const MODELS = {
  PROMPTD_MODELS_FILE: setting(text, {
    default: null,
    expected: "a file",
    meaning: "Your additions and changes to the model catalogue, as JSON.",
  }),
  PROMPTD_CHECK_MODELS: toggle({
    default: "off",
    meaning:
      "on: at startup, promptd asks each provider that has a key for its list of models, once, and logs a warning about catalogue models missing from it.",
  }),
  PROMPTD_SANDBOX: toggle({
    default: null,
    meaning:
      "Whether the sandbox models are available. Unset: on, but off with NODE_ENV=production and DATABASE_URL, because their answers could be mistaken for an AI model's.",
  }),
  PROMPTD_SANDBOX_DIRECTIVES: setting(z.enum(["authors", "callers"]), {
    default: "authors",
    expected: "authors or callers",
    meaning:
      "Whose `sandbox:` lines the sandbox obeys: only lines in the prompt itself, as written by its author, or also lines in callers' inputs, for testing a client.",
  }),
  PROMPTD_LOCAL_MODELS: toggle({
    default: "on",
    meaning:
      "off: promptd does not look for model servers on this machine. It does so only when HOST is a loopback address.",
  }),
  OLLAMA_HOST: setting(text, {
    default: null,
    expected: "host:port",
    meaning: "Where Ollama listens. Used only if it is a loopback address.",
  }),
  PROMPTD_COMPATIBLE_CONCURRENCY: setting(autoOr(1, 10_000), {
    default: "auto",
    expected: "auto, or a number from 1 to 10000",
    meaning:
      "Runs of each `compatible/…` and `local/…` model at once, in the whole installation. auto: 64 if the model server requires a key; from 2 to 64, depending on its pace, if it runs on this machine or requires no key.",
  }),
  OPENAI_BASE_URL: address("Base URL of any server that implements the OpenAI API."),
  ANTHROPIC_BASE_URL: address("Base URL to use instead of the Anthropic API's default."),
  GOOGLE_GENERATIVE_AI_BASE_URL: address("Base URL to use instead of the Gemini API's default."),
  FAL_BASE_URL: address("Base URL to use instead of the fal API's default."),
  REPLICATE_BASE_URL: address("Base URL to use instead of the Replicate API's default."),
} as const;

export const SEARCH = {
  PROMPTD_EMBEDDING_MODEL: setting(text, {
    default: null,
    expected:
      "openai/…, google/…, compatible/… (a model on the server at OPENAI_BASE_URL), or …/… from a provider in the models file",
    meaning:
      "Model that embeds prompts and search queries. If set, titles, descriptions, tags, input names, and queries leave this machine. Use the same value in all processes.",
  }),
  PROMPTD_EMBEDDING_QUERY_PREFIX: setting(text, {
    default: null,
    expected: "a text such as query: or search_query:",
    meaning: "Prefix for each query sent to PROMPTD_EMBEDDING_MODEL, for models that require one.",
  }),
  PROMPTD_EMBEDDING_DOCUMENT_PREFIX: setting(text, {
    default: null,
    expected: "a text such as passage: or search_document:",
    meaning:
      "Prefix for each prompt sent to PROMPTD_EMBEDDING_MODEL. Changing it recomputes all vectors. Use the same value in all processes.",
  }),
} as const;
