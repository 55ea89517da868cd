import type { Documented } from "./page.ts";

const KEY = ["authorization", /^Bearer .+$/] as const;
const READ = "2026-11-23";

/** Each page as in the types of the package openai 6.49.0, which are generated from OpenAI's own description. */
export const OPENAI: readonly Documented[] = [
  {
    to: /^api\.openai\.com\/v1\/responses$/,
    key: KEY,
    required: ["model", "input", "max_output_tokens", "store"],
    sources: [
      {
        page: "platform.openai.com/docs/api-reference/responses/create",
        read: READ,
        members: [
          "model",
          "input",
          "input[].role",
          "input[].content",
          "input[].content[].type",
          "input[].content[].text",
          "input[].content[].image_url",
          "max_output_tokens",
          "max_tool_calls",
          "store",
          "include",
          "reasoning",
          "reasoning.effort",
          "temperature",
          "top_p",
          "stream",
        ],
      },
      {
        page: "platform.openai.com/docs/guides/structured-outputs",
        read: READ,
        members: [
          "text",
          "text.format",
          "text.format.type",
          "text.format.name",
          "text.format.strict",
          "text.format.schema.**",
        ],
      },
      {
        page: "platform.openai.com/docs/guides/tools-web-search",
        read: READ,
        members: ["tools", "tools[].type", "tool_choice"],
      },
    ],
  },
  {
    to: /^api\.openai\.com\/v1\/images\/generations$/,
    key: KEY,
    required: ["model", "prompt"],
    sources: [
      {
        page: "platform.openai.com/docs/api-reference/images/create",
        read: READ,
        members: ["model", "prompt", "n", "size", "quality", "background", "output_format"],
      },
    ],
  },
  {
    to: /^api\.openai\.com\/v1\/images\/edits$/,
    key: KEY,
    required: ["model", "prompt"],
    sources: [
      {
        page: "platform.openai.com/docs/api-reference/images/createEdit (several images as image[])",
        read: READ,
        members: ["model", "prompt", "image", "image[]", "mask", "n", "size", "quality", "background", "output_format"],
      },
    ],
  },
];
