import type { Documented } from "./page.ts";

const READ = "2026-11-23";

/**
 * Each page as in the types of the package @anthropic-ai/sdk: 1.12.0 for 2026-10-21. The members that this version of the
 * interface removed, temperature and top_p, are from 2023-06-01, which is the version requested here.
 */
export const ANTHROPIC: readonly Documented[] = [
  {
    to: /^api\.anthropic\.com\/v1\/messages$/,
    key: ["x-api-key", /^.+$/],
    headers: { "anthropic-version": /^2023-06-01$/ },
    required: ["model", "max_tokens", "messages"],
    sources: [
      {
        page: "platform.claude.com/docs/en/api/messages",
        read: READ,
        members: [
          "model",
          "max_tokens",
          "messages",
          "messages[].role",
          "messages[].content",
          "messages[].content[].type",
          "messages[].content[].text",
          "messages[].content[].source",
          "messages[].content[].source.type",
          "messages[].content[].source.media_type",
          "messages[].content[].source.data",
          "system",
          "system[].type",
          "system[].text",
          "stop_sequences",
          "stream",
        ],
      },
      {
        page: "platform.claude.com/docs/en/about-claude/models/migration-guide (2023-06-01; models up to 4.6)",
        read: READ,
        members: ["temperature", "top_p"],
      },
      {
        page: "platform.claude.com/docs/en/build-with-claude/extended-thinking and adaptive-thinking",
        read: READ,
        members: ["thinking", "thinking.type", "thinking.budget_tokens", "thinking.display"],
      },
      {
        page: "platform.claude.com/docs/en/build-with-claude/effort",
        read: READ,
        members: ["output_config", "output_config.effort"],
      },
      {
        page: "platform.claude.com/docs/en/build-with-claude/structured-outputs",
        read: READ,
        members: ["output_config.format", "output_config.format.type", "output_config.format.schema.**"],
      },
      {
        page: "platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool",
        read: READ,
        members: ["tools", "tools[].type", "tools[].name", "tools[].max_uses", "tool_choice", "tool_choice.type"],
      },
    ],
  },
];
