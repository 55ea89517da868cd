import {
  askState,
  dataUri,
  JobFailure,
  ownAddress,
  sendOrder,
  splitMask,
  UnreadableAnswer,
  type JobFile,
  type JobInterface,
  type JobOrder,
  type JobSource,
  type JobState,
  type ModelImage,
} from "./jobs.ts";
import { cancelOf, type Provider } from "./provider.ts";
import { memberOf, presentMembers, type PlainObject } from "../../platform/json.ts";

/** Follows the model's own schema, as its page shows it (read 2026-11). */
const IMAGE_MEMBERS: readonly (readonly [RegExp, (images: readonly ModelImage[]) => PlainObject])[] = [
  [/^black-forest-labs\/flux-2-/, (images) => ({ input_images: images.map(dataUri) })],
  [/^black-forest-labs\/flux-kontext-/, ([first]) => ({ input_image: first && dataUri(first) })],
  [/^/, ([first]) => ({ image: first && dataUri(first) })],
];

function inputOf(order: JobOrder): PlainObject {
  const { prompt, aspectRatio, options } = order;
  const { pictures: images, mask } = splitMask(order.images);
  const name = IMAGE_MEMBERS.find(([model]) => model.test(order.providerModel))?.[1];
  return presentMembers({
    prompt,
    aspect_ratio: aspectRatio,
    size: order.modality === "image" ? order.size : order.resolution,
    duration: order.duration,
    ...(order.modality === "image" ? { num_outputs: 1 } : {}),
    ...(images.length === 0 ? {} : name?.(images)),
    mask: mask && dataUri(mask),
    ...options,
  });
}

function authorization({ endpoint }: JobSource): string {
  return `Bearer ${endpoint.apiKey ?? ""}`;
}

/** Replicate rejects less. */
const CANCEL_AFTER_LEAST = 5;

async function start(order: JobOrder, source: JobSource) {
  const [model = "", version] = order.providerModel.split(":");
  const { baseUrl } = source.endpoint;
  const url = version === undefined ? `${baseUrl}/models/${model}/predictions` : `${baseUrl}/predictions`;
  const headers = {
    authorization: authorization(source),
    "idempotency-key": order.idempotencyKey,
    // A prediction whose name could not be stored ends by itself.
    "cancel-after": `${Math.max(CANCEL_AFTER_LEAST, Math.ceil(order.timeLimitMs / 1_000))}s`,
  };
  const body = { input: inputOf(order), ...(version === undefined ? {} : { version }) };
  const { urls } = await sendOrder(url, { headers, body }, source);
  const cancelUrl = memberOf(urls, "cancel");
  return {
    getUrl: ownAddress(memberOf(urls, "get"), source.endpoint),
    ...(typeof cancelUrl === "string" ? { cancelUrl } : {}),
  };
}

/** `aborted`: its time limit passed before it began. */
const OVER: readonly unknown[] = ["failed", "canceled", "aborted"];

async function poll(operation: unknown, source: JobSource): Promise<JobState> {
  const url = ownAddress(memberOf(operation, "getUrl"), source.endpoint);
  const { status, output, error } = await askState(url, authorization(source), source);
  if (status === "starting" || status === "processing") return { kind: "pending" };
  if (OVER.includes(status)) throw new JobFailure(typeof error === "string" ? error : "");
  if (status !== "succeeded") throw new UnreadableAnswer();
  return { kind: "done", read: async () => fileOf(Array.isArray(output) ? output[0] : output) };
}

function fileOf(url: unknown): JobFile {
  if (url === undefined || url === null) return { kind: "empty" };
  return typeof url === "string" ? { kind: "file", url, mediaType: null } : { kind: "unknown" };
}

const jobs: JobInterface = { start, poll };

export const replicate: Provider = {
  id: "replicate",
  settings: { key: "REPLICATE_API_TOKEN", baseUrl: "REPLICATE_BASE_URL" },
  address: { baseUrl: "https://api.replicate.com/v1", fixed: null },
  apis: null,
  isSimulated: false,
  models: { text: null, image: null, video: null },
  textFeatures: null,
  webSearch: null,
  embeddings: null,
  modelList: null,
  jobs,
  cancel: (job) => cancelOf(job, "getUrl", { method: "POST", scheme: "Bearer" }),
  failures: {
    answers: {},
    // Model authors use their own words; "flagged as sensitive" is E005.
    declinedJobs: [/policy|sensitive content|\bnsfw\b|flagged as sensitive/i],
    retryDelayMs: null,
  },
  refusals: null,
  requestIdHeader: null,
};
