/** What the providers' documentation of November 2026 says of the requests that the examples make. */

interface Documented {
  /** Host and path. */
  readonly to: RegExp;
  readonly page: string;
  /** The header with the key, and how it is written. */
  readonly key: readonly [name: string, value: RegExp];
  readonly headers?: Readonly<Record<string, RegExp>>;
  readonly required: readonly string[];
  /** Members that it names beside those, as far as this service may send them. */
  readonly allowed: readonly string[];
  /** Where the members stand, if not at the top. */
  readonly inside?: string;
}

const BEARER = ["authorization", /^Bearer key-of-[A-Z_]+$/] as const;
const CHAT = { key: BEARER, required: ["model", "messages"] };
const SAMPLING = ["temperature", "top_p", "stop", "seed", "response_format", "stream", "stream_options"];

export const DOCUMENTED: readonly Documented[] = [
  {
    to: /^api\.openai\.com\/v1\/responses$/,
    page: "platform.openai.com/docs/api-reference/responses/create",
    key: BEARER,
    required: ["model", "input"],
    allowed: ["max_output_tokens", "reasoning", "store", "include", "instructions", "text", "temperature", "top_p"],
  },
  {
    to: /^api\.openai\.com\/v1\/images\/generations$/,
    page: "platform.openai.com/docs/api-reference/images/create",
    key: BEARER,
    required: ["model", "prompt"],
    allowed: ["n", "size", "quality", "background", "output_format", "moderation"],
  },
  {
    to: /^api\.anthropic\.com\/v1\/messages$/,
    page: "docs.claude.com/en/api/messages",
    key: ["x-api-key", /^key-of-[A-Z_]+$/],
    headers: { "anthropic-version": /^2023-06-01$/ },
    required: ["model", "max_tokens", "messages"],
    allowed: ["system", "temperature", "top_p", "stop_sequences", "thinking", "output_config"],
  },
  {
    to: /^generativelanguage\.googleapis\.com\/v1beta\/models\/[\w.-]+:generateContent$/,
    page: "ai.google.dev/api/generate-content",
    key: ["x-goog-api-key", /^key-of-[A-Z_]+$/],
    required: ["contents"],
    allowed: ["generationConfig", "systemInstruction", "safetySettings", "tools"],
  },
  {
    to: /^queue\.fal\.run\/fal-ai\/flux\/schnell$/,
    page: "fal.ai/models/fal-ai/flux/schnell/api; fal.ai/docs/documentation/model-apis/queue and common-parameters (X-Fal-Request-Timeout)",
    key: ["authorization", /^Key key-of-[A-Z_]+$/],
    headers: { "x-fal-request-timeout": /^\d+$/ },
    required: ["prompt"],
    allowed: ["image_size", "num_images", "num_inference_steps", "seed", "output_format", "enable_safety_checker"],
  },
  {
    to: /^queue\.fal\.run\/fal-ai\/luma-dream-machine\/ray-2-flash$/,
    page: "fal.ai/models/fal-ai/luma-dream-machine/ray-2-flash/api",
    key: ["authorization", /^Key key-of-[A-Z_]+$/],
    headers: { "x-fal-request-timeout": /^\d+$/ },
    required: ["prompt"],
    allowed: ["aspect_ratio", "loop", "resolution", "duration"],
  },
  {
    to: /^api\.replicate\.com\/v1\/models\/black-forest-labs\/flux-schnell\/predictions$/,
    page: "replicate.com/black-forest-labs/flux-schnell/api; replicate.com/changelog/2025-10-16-prediction-deadlines (Cancel-After)",
    key: BEARER,
    headers: { "cancel-after": /^\d+s$/ },
    inside: "input",
    required: ["prompt"],
    allowed: ["aspect_ratio", "num_outputs", "seed", "output_format", "output_quality", "go_fast", "megapixels"],
  },
  {
    to: /^api\.replicate\.com\/v1\/models\/minimax\/video-01\/predictions$/,
    page: "replicate.com/minimax/video-01/api",
    key: BEARER,
    headers: { "cancel-after": /^\d+s$/ },
    inside: "input",
    required: ["prompt"],
    allowed: ["prompt_optimizer", "first_frame_image", "subject_reference"],
  },
  {
    ...CHAT,
    to: /^api\.x\.ai\/v1\/chat\/completions$/,
    page: "docs.x.ai/docs/api-reference",
    allowed: ["max_completion_tokens", "reasoning_effort", ...SAMPLING],
  },
  {
    ...CHAT,
    to: /^api\.mistral\.ai\/v1\/chat\/completions$/,
    page: "docs.mistral.ai/api",
    allowed: ["max_tokens", "reasoning_effort", "random_seed", ...SAMPLING.filter((name) => name !== "seed")],
  },
  {
    ...CHAT,
    to: /^api\.deepseek\.com\/v1\/chat\/completions$/,
    page: "api-docs.deepseek.com/api/create-chat-completion and guides/thinking_mode (thinking, reasoning_effort)",
    allowed: ["max_tokens", "thinking", "reasoning_effort", ...SAMPLING],
  },
  {
    ...CHAT,
    to: /^dashscope-intl\.aliyuncs\.com\/compatible-mode\/v1\/chat\/completions$/,
    page: "alibabacloud.com/help/en/model-studio/use-qwen-by-calling-api",
    allowed: ["max_tokens", "enable_thinking", "thinking_budget", ...SAMPLING],
  },
  {
    ...CHAT,
    to: /^api\.groq\.com\/openai\/v1\/chat\/completions$/,
    page: "console.groq.com/docs/api-reference",
    allowed: ["max_completion_tokens", "reasoning_effort", "include_reasoning", "reasoning_format", ...SAMPLING],
  },
  {
    ...CHAT,
    to: /^api\.together\.xyz\/v1\/chat\/completions$/,
    page: "docs.together.ai/reference/chat-completions-1",
    allowed: ["max_tokens", "reasoning_effort", ...SAMPLING],
  },
  {
    ...CHAT,
    to: /^openrouter\.ai\/api\/v1\/chat\/completions$/,
    page: "openrouter.ai/docs/api-reference/chat-completion",
    allowed: ["max_tokens", "reasoning", "reasoning_effort", ...SAMPLING],
  },
  {
    to: /^127\.0\.0\.1:11434\/v1\/chat\/completions$/,
    page: "docs.ollama.com/api/openai-compatibility",
    key: ["authorization", /^(?:undefined|Bearer key-of-[A-Z_]+)$/],
    required: ["model", "messages"],
    allowed: ["max_tokens", ...SAMPLING],
  },
];
