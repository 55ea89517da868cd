/** Replicate: each model has a page with its own input schema. */
import { exactly, type Documented } from "./page.ts";

const READ = "2026-11-23";
const QUOTED = "as docs.kkiai.com quotes it";

const MODELS: Readonly<Record<string, readonly [members: readonly string[], page: string]>> = {
  "black-forest-labs/flux-1.1-pro": [["aspect_ratio"], "black-forest-labs/flux-1.1-pro/versions/96ccd0e7/api"],
  "black-forest-labs/flux-1.1-pro-ultra": [["aspect_ratio"], `black-forest-labs/flux-1.1-pro-ultra, ${QUOTED}`],
  "black-forest-labs/flux-2-dev": [["aspect_ratio"], "black-forest-labs/flux-2-dev, as api.core.today quotes it"],
  "black-forest-labs/flux-2-pro": [
    ["aspect_ratio", "input_images"],
    "black-forest-labs/flux-2-pro/versions/285631b5/api",
  ],
  "black-forest-labs/flux-dev": [["aspect_ratio", "num_outputs"], "black-forest-labs/flux-dev/api"],
  "black-forest-labs/flux-schnell": [["aspect_ratio", "num_outputs"], "black-forest-labs/flux-schnell/api"],
  "ideogram-ai/ideogram-v2-turbo": [["aspect_ratio"], `ideogram-ai/ideogram-v2-turbo, ${QUOTED}`],
  "minimax/video-01": [[], "minimax/video-01/versions/c8bcc475/api"],
  "recraft-ai/recraft-v3": [["size"], `recraft-ai/recraft-v3, ${QUOTED}`],
  "wan-video/wan-2.2-i2v-fast": [["image"], "wan-video/wan-2.2-i2v-fast/api"],
};

export const REPLICATE: readonly Documented[] = Object.entries(MODELS).map(([model, [members, page]]) => ({
  to: exactly(`api.replicate.com/v1/models/${model}/predictions`),
  key: ["authorization", /^Bearer .+$/],
  headers: { "cancel-after": /^\d+s$/ }, // replicate.com/changelog/2025-10-16-prediction-deadlines
  required: ["input.prompt"],
  sources: [
    { page: `replicate.com/${page}`, read: READ, members: ["input.prompt", ...members.map((name) => `input.${name}`)] },
    { page: "replicate.com/docs/reference/http#models.predictions.create", read: READ, members: ["input"] },
  ],
}));
