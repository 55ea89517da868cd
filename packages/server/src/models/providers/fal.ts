import {
  AnswerFailure,
  askState,
  dataUri,
  JobFailure,
  ownAddress,
  parseObject,
  sendOrder,
  splitMask,
  UnreadableAnswer,
  type JobFile,
  type JobInterface,
  type JobOrder,
  type JobSource,
  type JobState,
} from "./jobs.ts";
import { cancelOf, type Provider } from "./provider.ts";
import { memberOf, presentMembers, type PlainObject } from "../../platform/json.ts";

const QUEUE = "https://queue.fal.run";

function bodyOf(order: JobOrder): PlainObject {
  const { prompt, options } = order;
  const { pictures: images, mask } = splitMask(order.images);
  const { useMultipleImages, ...sent } = options;
  const [first] = images;
  const pictures =
    first === undefined
      ? {}
      : useMultipleImages === true
        ? { image_urls: images.map(dataUri) }
        : { image_url: dataUri(first) };
  const shape =
    order.modality === "image"
      ? { image_size: imageSize(order), num_images: 1 }
      : { aspect_ratio: order.aspectRatio, duration: order.duration === undefined ? undefined : `${order.duration}s` };
  return presentMembers({ prompt, ...shape, ...pictures, mask_url: mask && dataUri(mask), ...sent });
}

const SIZES: Readonly<Record<string, unknown>> = {
  "1:1": "square_hd",
  "16:9": "landscape_16_9",
  "9:16": "portrait_16_9",
  "4:3": "landscape_4_3",
  "3:4": "portrait_4_3",
  "16:10": { width: 1280, height: 800 },
  "10:16": { width: 800, height: 1280 },
  "21:9": { width: 2560, height: 1080 },
  "9:21": { width: 1080, height: 2560 },
};

function imageSize({ size, aspectRatio }: JobOrder): unknown {
  if (size === undefined) return aspectRatio === undefined ? undefined : SIZES[aspectRatio];
  const [width, height] = size.split("x").map(Number);
  return { width, height };
}

function authorization({ endpoint }: JobSource): string {
  return `Key ${endpoint.apiKey ?? ""}`;
}

async function start(order: JobOrder, source: JobSource) {
  const headers = {
    authorization: authorization(source),
    "idempotency-key": order.idempotencyKey,
    // Limits only the time in the queue; a running job is canceled once its run has ended.
    "x-fal-request-timeout": String(Math.ceil(order.timeLimitMs / 1_000)),
  };
  const answer = await sendOrder(`${QUEUE}/${order.providerModel}`, { headers, body: bodyOf(order) }, source);
  const { status_url: statusUrl, cancel_url: cancelUrl } = answer;
  return {
    responseUrl: ownAddress(answer["response_url"], source.endpoint),
    ...(typeof statusUrl === "string" ? { statusUrl } : {}),
    ...(typeof cancelUrl === "string" ? { cancelUrl } : {}),
  };
}

/** Asks the queue, not the result address: there a failed job looks like a server that is down. */
async function poll(operation: unknown, source: JobSource): Promise<JobState> {
  const responseUrl = ownAddress(memberOf(operation, "responseUrl"), source.endpoint);
  const named = memberOf(operation, "statusUrl");
  const statusUrl = named === undefined ? `${responseUrl.replace(/\/response$/, "")}/status` : named;
  const state = await askState(ownAddress(statusUrl, source.endpoint), authorization(source), source);
  const { status, error, error_type: code } = state;
  if (status === "IN_QUEUE" || status === "IN_PROGRESS") return { kind: "pending" };
  if (status !== "COMPLETED") throw new UnreadableAnswer();
  if (typeof code === "string" && code !== "") throw new JobFailure(typeof error === "string" ? error : "", code);
  return { kind: "done", read: (reader) => readResult(responseUrl, reader) };
}

async function readResult(url: string, source: JobSource): Promise<JobFile> {
  const answer = await source.fetch(url, { headers: { authorization: authorization(source) }, signal: source.signal });
  const text = await answer.text();
  if (!answer.ok) throw resultFailure(answer, text);
  const result = parseObject(text);
  const flags = result["has_nsfw_concepts"] ?? result["nsfw_content_detected"];
  // Only one picture is ordered, so any flag refers to it.
  if (flags === true || (Array.isArray(flags) && flags.includes(true))) return { kind: "declined" };
  const images: unknown = result["images"];
  const file: unknown = Array.isArray(images) ? images[0] : (result["image"] ?? result["video"]);
  if (file === undefined || file === null) return { kind: "empty" };
  const [url_, mediaType] = [memberOf(file, "url"), memberOf(file, "content_type")];
  if (typeof url_ !== "string") return { kind: "unknown" };
  return { kind: "file", url: url_, mediaType: typeof mediaType === "string" ? mediaType : null };
}

/**
 * A failed job responds with the status of its failure, including 500, 503, and 504, and says so in `detail` or a header.
 * A 5xx without either came from something in between, and the result still exists.
 */
function resultFailure(answer: Response, text: string): Error {
  const isRetried = answer.status === 429 || answer.status === 408;
  const code = answer.headers.get("x-fal-error-type");
  if (answer.status < 500 || isRetried || (code === null && !/"detail"\s*:/.test(text)))
    return new AnswerFailure(answer, text);
  return new JobFailure("", code);
}

const jobs: JobInterface = { start, poll };

export const fal: Provider = {
  id: "fal",
  settings: { key: "FAL_API_KEY", baseUrl: "FAL_BASE_URL" },
  address: {
    baseUrl: "https://fal.run",
    fixed: { origins: ["https://fal.run", QUEUE], header: "x-fal-target-host" },
  },
  apis: null,
  isSimulated: false,
  models: { text: null, image: null, video: null },
  textFeatures: null,
  webSearch: null,
  embeddings: null,
  modelList: null,
  jobs,
  cancel: (job) => cancelOf(job, "responseUrl", { method: "PUT", scheme: "Key" }),
  failures: {
    answers: {
      declined: { codes: ["content_policy_violation"] },
      quota: { codes: [], sentences: [/^User is locked\. Reason: Exhausted balance/] }, // with a 403
    },
    declinedJobs: [/policy|sensitive content/i], // model authors use their own words
    retryDelayMs: null,
  },
  refusals: null,
  requestIdHeader: "x-fal-request-id",
};
