import type { Documented } from "./page.ts";

const KEY = ["x-goog-api-key", /^.+$/] as const;
const READ = "2026-11-23";

/** Each page as in the types of the package @google/genai 2.32.0. */
export const GOOGLE: readonly Documented[] = [
  {
    to: /^generativelanguage\.googleapis\.com\/v1beta\/models\/[\w.-]+:(?:generateContent|streamGenerateContent\?alt=sse)$/,
    key: KEY,
    required: ["contents"],
    sources: [
      {
        page: "ai.google.dev/api/generate-content",
        read: READ,
        members: [
          "contents",
          "contents[].role",
          "contents[].parts",
          "contents[].parts[].text",
          "contents[].parts[].inlineData",
          "contents[].parts[].inlineData.mimeType",
          "contents[].parts[].inlineData.data",
          "systemInstruction",
          "systemInstruction.parts",
          "systemInstruction.parts[].text",
          "generationConfig",
          "generationConfig.maxOutputTokens",
          "generationConfig.temperature",
          "generationConfig.topP",
          "generationConfig.seed",
          "generationConfig.stopSequences",
          "generationConfig.responseMimeType",
          "generationConfig.responseJsonSchema.**",
          "generationConfig.responseModalities",
        ],
      },
      {
        page: "ai.google.dev/gemini-api/docs/thinking",
        read: READ,
        members: [
          "generationConfig.thinkingConfig",
          "generationConfig.thinkingConfig.thinkingBudget",
          "generationConfig.thinkingConfig.thinkingLevel",
        ],
      },
      {
        page: "ai.google.dev/gemini-api/docs/image-generation",
        read: READ,
        members: [
          "generationConfig.imageConfig",
          "generationConfig.imageConfig.aspectRatio",
          "generationConfig.imageConfig.imageSize",
        ],
      },
      {
        page: "ai.google.dev/gemini-api/docs/google-search",
        read: READ,
        members: ["tools", "tools[].googleSearch"],
      },
    ],
  },
  {
    to: /^generativelanguage\.googleapis\.com\/v1beta\/models\/veo-[\w.-]+:predictLongRunning$/,
    key: KEY,
    required: ["instances"],
    sources: [
      {
        page: "ai.google.dev/gemini-api/docs/video",
        read: READ,
        members: [
          "instances",
          "instances[].prompt",
          "instances[].image",
          "instances[].image.bytesBase64Encoded",
          "instances[].image.mimeType",
          "parameters",
          "parameters.sampleCount",
          "parameters.durationSeconds",
        ],
      },
    ],
  },
];
