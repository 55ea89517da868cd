/** The OpenAI interface, as each compatible provider documents it. */
import type { Documented, Source } from "./page.ts";

const BEARER = ["authorization", /^Bearer .+$/] as const;
const READ = "2026-11-23";
const MESSAGES = ["model", "messages", "messages[].role", "messages[].content"];
const IMAGES = [
  "messages[].content[].type",
  "messages[].content[].text",
  "messages[].content[].image_url",
  "messages[].content[].image_url.url",
];
const SAMPLING = ["temperature", "top_p", "stop"];
const STREAM = ["stream", "stream_options", "stream_options.include_usage"];

function chat(to: RegExp, ...sources: readonly Source[]): Documented {
  return { to, key: BEARER, required: ["model", "messages"], sources };
}

export const CHAT: readonly Documented[] = [
  chat(/^models\.example\/v1\/chat\/completions$/, {
    page: "platform.openai.com/docs/api-reference/chat/create, as the types of the package openai 6.49.0 state it",
    read: READ,
    members: [
      ...MESSAGES,
      ...IMAGES,
      "temperature",
      "top_p",
      ...STREAM,
      "store",
      "max_completion_tokens",
      "reasoning_effort",
      "response_format",
      "response_format.type",
      "response_format.json_schema",
      "response_format.json_schema.name",
      "response_format.json_schema.strict",
      "response_format.json_schema.schema.**",
    ],
  }),
  chat(/^api\.x\.ai\/v1\/chat\/completions$/, {
    page: "docs.x.ai/docs/api-reference",
    read: READ,
    members: [...MESSAGES, ...IMAGES, ...SAMPLING, ...STREAM, "seed", "max_completion_tokens", "reasoning_effort"],
  }),
  {
    to: /^api\.x\.ai\/v1\/images\/generations$/,
    key: BEARER,
    required: ["model", "prompt"],
    sources: [
      {
        page: "docs.x.ai/developers/model-capabilities/images/generation",
        read: READ,
        members: ["model", "prompt", "n", "aspect_ratio", "resolution"],
      },
      {
        page: "docs.x.ai/release-notes (August 2026) and docs.x.ai/developers/migration/imagine-image-quality-nov-2",
        read: "2026-11-24",
        members: ["quality"],
      },
    ],
  },
  chat(/^api\.mistral\.ai\/v1\/chat\/completions$/, {
    page: "docs.mistral.ai/api, as the types of the package @mistralai/mistralai 2.7.0 state it",
    read: READ,
    members: [...MESSAGES, ...IMAGES, ...SAMPLING, "stream", "max_tokens", "reasoning_effort"],
  }),
  chat(
    /^api\.deepseek\.com\/v1\/chat\/completions$/,
    {
      page: "api-docs.deepseek.com/api/create-chat-completion",
      read: READ,
      members: [...MESSAGES, ...SAMPLING, ...STREAM, "max_tokens"],
    },
    {
      page: "api-docs.deepseek.com/guides/thinking_mode",
      read: READ,
      members: ["thinking", "thinking.type", "reasoning_effort"],
    },
    {
      page: "api-docs.deepseek.com/quick_start/pricing (deepseek-flash takes images), in parts as apidog.com shows them",
      read: "2026-11-24",
      members: IMAGES,
    },
  ),
  chat(
    /^dashscope-intl\.aliyuncs\.com\/compatible-mode\/v1\/chat\/completions$/,
    {
      page: "alibabacloud.com/help/en/model-studio/qwen-api-reference (2026-01-27)",
      read: READ,
      members: [...MESSAGES, ...IMAGES, ...SAMPLING, ...STREAM, "seed", "max_tokens"],
    },
    {
      page: "alibabacloud.com/help/en/model-studio/deep-thinking (2026-06-18)",
      read: READ,
      members: ["enable_thinking", "thinking_budget"],
    },
  ),
  chat(
    /^api\.groq\.com\/openai\/v1\/chat\/completions$/,
    {
      page: "console.groq.com/docs/api-reference, as reference.langchain.com/javascript (ChatGroqCallOptions) has it",
      read: READ,
      members: ["stream_options", "stream_options.include_usage"],
    },
    {
      page: "console.groq.com/docs/api-reference, as the types of the package groq-sdk 1.6.0 state it",
      read: READ,
      members: [
        ...MESSAGES,
        ...SAMPLING,
        "stream",
        "seed",
        "max_completion_tokens",
        "reasoning_effort",
        "include_reasoning",
      ],
    },
  ),
  chat(/^api\.together\.xyz\/v1\/chat\/completions$/, {
    page: "docs.together.ai/reference/chat-completions-1, as the types of the package together-ai 0.52.0 state it",
    read: READ,
    members: [...MESSAGES, ...SAMPLING, "stream", "seed", "max_tokens"],
  }),
  chat(/^openrouter\.ai\/api\/v1\/chat\/completions$/, {
    page: "openrouter.ai/docs/api-reference/chat-completion, as the types of the package @openrouter/sdk 1.3.19 state it",
    read: READ,
    members: [...MESSAGES, ...IMAGES, ...SAMPLING, ...STREAM, "seed", "max_tokens", "reasoning_effort"],
  }),
  {
    to: /^127\.0\.0\.1:11434\/v1\/chat\/completions$/,
    key: ["authorization", /^(?:undefined|Bearer .+)$/],
    required: ["model", "messages"],
    sources: [
      {
        page: "docs.ollama.com/api/openai-compatibility",
        read: READ,
        members: [...MESSAGES, ...IMAGES, ...SAMPLING, ...STREAM, "seed", "max_tokens"],
      },
    ],
  },
];
