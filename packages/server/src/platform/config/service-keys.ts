/** Keys of other services, under their usual names. They are secrets, so each may be given as NAME_FILE. */
export const SERVICE_KEYS = {
  OPENAI_API_KEY:
    "Enables the OpenAI models. It is sent to OPENAI_BASE_URL if that is set. A provider can have several keys, separated by commas; calls rotate through them.",
  ANTHROPIC_API_KEY: "Enables the Anthropic models.",
  GOOGLE_GENERATIVE_AI_API_KEY: "Enables the Gemini models.",
  FAL_API_KEY: "Enables the fal models.",
  REPLICATE_API_TOKEN: "Enables the Replicate models.",
  GITHUB_CLIENT_SECRET: "Belongs to GITHUB_CLIENT_ID.",
  GOOGLE_CLIENT_SECRET: "Belongs to GOOGLE_CLIENT_ID.",
  OIDC_CLIENT_SECRET: "Belongs to OIDC_CLIENT_ID.",
  AWS_ACCESS_KEY_ID: "Signs requests to the bucket PROMPTD_S3_BUCKET.",
  AWS_SECRET_ACCESS_KEY: "Signs requests to the bucket PROMPTD_S3_BUCKET. Belongs to AWS_ACCESS_KEY_ID.",
} as const;
