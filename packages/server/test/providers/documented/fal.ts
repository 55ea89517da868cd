/**
 * fal: each model has its own page and description. Unless another page is named, it is fal.ai/models/<id>/api as in the
 * endpoint types of the package @fal-ai/client 1.10.1, which are generated from fal's own descriptions.
 */
import { exactly, type Documented } from "./page.ts";

const READ = "2026-11-23";
const SIZE = ["image_size", "image_size.width", "image_size.height"];

const MODELS: Readonly<Record<string, readonly [members: readonly string[], page?: string]>> = {
  "fal-ai/luma-dream-machine/ray-2": [["aspect_ratio", "duration"]],
  "fal-ai/flux/schnell": [[...SIZE, "num_images"]],
  "fal-ai/flux/dev": [[...SIZE, "num_images"]],
  "fal-ai/flux-pro/v1.1": [[...SIZE, "num_images"]],
  "fal-ai/qwen-image": [[...SIZE, "num_images"]],
  "fal-ai/flux-pro/kontext": [["image_url", "num_images"]],
  "fal-ai/flux-pro/kontext/max": [["image_url", "num_images"]],
  "fal-ai/flux-2-pro": [SIZE],
  "fal-ai/flux-2-pro/edit": [[...SIZE, "image_urls"]],
  "fal-ai/flux-2-max": [SIZE],
  "fal-ai/flux-2-flex": [SIZE],
  "fal-ai/flux-2": [[...SIZE, "num_images"]],
  "fal-ai/flux-2/klein/9b": [[...SIZE, "num_images"]],
  "fal-ai/bytedance/seedream/v4.5/text-to-image": [[...SIZE, "num_images"]],
  "fal-ai/bytedance/seedream/v4.5/edit": [["image_size", "image_urls", "num_images"]],
  "fal-ai/bytedance/seedream/v5/lite/text-to-image": [["image_size", "num_images"]],
  "fal-ai/ideogram/v3": [[...SIZE, "num_images", "rendering_speed"]],
  "fal-ai/recraft/v3/text-to-image": [[...SIZE, "style"]],
  "fal-ai/recraft/v4/text-to-image": [SIZE],
  "fal-ai/nano-banana-2": [["aspect_ratio", "num_images", "resolution"]],
  "fal-ai/nano-banana-2/edit": [["aspect_ratio", "image_urls", "num_images", "resolution"]],
  "fal-ai/luma-dream-machine/ray-2-flash": [["aspect_ratio", "duration"]],
  "fal-ai/hunyuan-video": [["aspect_ratio"], "fal.ai/models/fal-ai/hunyuan-video/api, as api.chatfire.cn quotes it"],
  "fal-ai/nano-banana-pro": [["aspect_ratio", "num_images", "resolution"]],
  "fal-ai/nano-banana-pro/edit": [["aspect_ratio", "image_urls", "num_images", "resolution"]],
  "fal-ai/qwen-image-2/text-to-image": [[...SIZE, "num_images"]],
  "fal-ai/kling-image/v3/text-to-image": [["aspect_ratio", "num_images", "resolution"]],
  "xai/grok-imagine-image": [["aspect_ratio", "num_images"]],
  "fal-ai/veo3.1": [["aspect_ratio", "duration", "resolution"]],
  "fal-ai/veo3.1/fast": [["aspect_ratio", "duration", "resolution"]],
  "fal-ai/veo3.1/lite": [["aspect_ratio", "duration", "resolution"]],
  "fal-ai/veo3.1/fast/image-to-video": [["aspect_ratio", "duration", "image_url", "resolution"]],
  "fal-ai/kling-video/v3/pro/text-to-video": [["aspect_ratio", "duration"]],
  "fal-ai/kling-video/v3/standard/text-to-video": [["aspect_ratio", "duration"]],
  "fal-ai/kling-video/v2.6/pro/text-to-video": [["aspect_ratio", "duration"]],
  "fal-ai/bytedance/seedance/v1.5/pro/text-to-video": [["aspect_ratio", "duration", "resolution"]],
  "fal-ai/bytedance/seedance/v1.5/pro/image-to-video": [["aspect_ratio", "duration", "image_url", "resolution"]],
  "bytedance/seedance-2.0/text-to-video": [
    ["aspect_ratio", "duration", "resolution"],
    "fal.ai/models/bytedance/seedance-2.0/text-to-video",
  ],
  "bytedance/seedance-2.0/fast/text-to-video": [
    ["aspect_ratio", "duration", "resolution"],
    "fal.ai/models/bytedance/seedance-2.0/fast/text-to-video/playground",
  ],
  "wan/v2.6/text-to-video": [["aspect_ratio", "duration", "resolution"]],
  "wan/v2.6/image-to-video": [["duration", "image_url", "resolution"]],
  "fal-ai/minimax/hailuo-2.3/standard/text-to-video": [["duration"]],
  "google/gemini-omni-flash": [["aspect_ratio", "duration"], "fal.ai/models/google/gemini-omni-flash/llms.txt"],
  "xai/grok-imagine-video/text-to-video": [["aspect_ratio", "duration", "resolution"]],
};

export const FAL: readonly Documented[] = Object.entries(MODELS).map(
  ([id, [members, page = `fal.ai/models/${id}/api`]]) => ({
    to: exactly(`queue.fal.run/${id}`),
    key: ["authorization", /^Key .+$/],
    headers: { "x-fal-request-timeout": /^\d+$/ }, // fal.ai/docs/documentation/model-apis, common parameters
    required: ["prompt"],
    sources: [{ page, read: READ, members: ["prompt", ...members] }],
  }),
);
