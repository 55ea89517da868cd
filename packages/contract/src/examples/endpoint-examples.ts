import type { EndpointShapes } from "../endpoints.ts";
import type { ErrorCode } from "../errors.ts";

/*
 * Examples for the OpenAPI document: for each endpoint, a request as a caller writes it, and the response.
 */

interface EndpointExample<Shape extends { readonly body: unknown; readonly data: unknown }> {
  /** Path parameters, query parameters, and request headers, as sent. */
  readonly parameters?: Readonly<Record<string, string | number>>;
  readonly bodies?: Readonly<Record<string, Shape["body"]>>;
  readonly data: Shape["data"];
}

/** One example for each endpoint of a table. */
export type ExamplesOf<
  Shapes extends Readonly<Record<keyof Shapes, { readonly body: unknown; readonly data: unknown }>>,
> = { readonly [Name in keyof Shapes]: EndpointExample<Shapes[Name]> };

const RUN_ID = "019a1f87-3e4b-7d21-a4c8-5b7e11f20d3a";
const PROMPT_ID = "019a0c11-52d0-7c0e-9a55-0f6f1c2b7e90";
const VERSION_ID = "019a0c11-52d4-7b18-8f3d-6a9d04c1e2b7";
const HASH = "ebGYfUmEjkaiIcy0CxaEBTf6VAvJlGo8bZH4qZVvR-U";

/** The examples use a prompt from the seed marketplace, so that they work on a fresh server. */
const DESCRIPTION = "Writes a two-line poem for the label of a tea, a candle or a jar of jam, in the mood you choose.";

const BATCH_ID = "019a1f90-6c02-7e4f-9b1d-3d8e5f20a7c4";

const batch = {
  batchId: BATCH_ID,
  name: "topics.csv",
  promptVersionId: VERSION_ID,
  batchStatus: "running",
  pause: null,
  counts: { total: 5_000, notStarted: 3_779, queued: 4, running: 21, succeeded: 1_190, failed: 6, canceled: 0 },
  credits: 2_380,
  createdAt: "2026-11-20T09:15:30.000Z",
  finishedAt: null,
} as const;

const run = {
  runId: RUN_ID,
  outputs: [{ type: "text", data: "Steam curls from the cup;\nthe window forgets the frost." }],
  runStatus: "succeeded",
  tokens: 2,
} as const;

const config = {
  textInputs: {
    topic: {
      position: 0,
      type: "text",
      label: "Topic",
      description: "What the poem is about.",
      required: true,
      allowEmpty: false,
      default: null,
      maxLength: 200,
      options: null,
      multiple: null,
    },
  },
  imageInputs: [],
  imageCount: 0,
  model: "sandbox/text",
  modality: "text",
  runOptions: { reasoningEffort: { default: "low", options: ["low", "medium", "high"] } },
  output: { type: "text" },
  inputSchema: {
    type: "object",
    properties: {
      textInputs: {
        type: "object",
        properties: { topic: { type: "string", title: "Topic", maxLength: 200 } },
        required: ["topic"],
      },
    },
    required: ["textInputs"],
  },
  estimatedCredits: 2,
  creditsRequired: 6,
} as const;

const version = {
  promptVersionId: VERSION_ID,
  promptId: PROMPT_ID,
  title: "A poem for a tea label",
  publishedAt: "2026-11-02T08:00:00.000Z",
  config,
};

export const ENDPOINT_EXAMPLES: ExamplesOf<EndpointShapes> = {
  createRun: {
    parameters: { "Idempotency-Key": "order-4711", Prefer: "wait=30" },
    bodies: {
      text: {
        promptVersionId: VERSION_ID,
        inputs: { textInputs: { topic: "frost" } },
        runOptions: { reasoningEffort: "low" },
      },
      imageByUrl: {
        promptVersionId: VERSION_ID,
        inputs: { imageInputs: [{ type: "url", url: "https://images.example.com/cat.png" }] },
      },
      imageAsBase64: {
        promptVersionId: VERSION_ID,
        inputs: { imageInputs: [{ type: "base64", base64: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABAQAAAAA3bvkkAAAACklE" }] },
      },
    },
    data: run,
  },
  getRun: { parameters: { runId: RUN_ID, Prefer: "wait=30" }, data: run },
  followRun: {
    parameters: { runId: RUN_ID, "Last-Event-ID": "4711" },
    data: {
      events: [
        { event: "status", data: { runId: RUN_ID, runStatus: "running" } },
        { event: "text", id: "4712", data: { index: 0, call: 1, text: "Steam curls " } },
        { event: "output", data: { index: 0, ...run.outputs[0] } },
        { event: "done", data: run },
      ],
    },
  },
  cancelRun: {
    parameters: { runId: RUN_ID },
    data: {
      runId: RUN_ID,
      outputs: [{ type: "error", data: "Canceled by user." }],
      runStatus: "failed",
      tokens: 0,
    },
  },
  listRuns: {
    parameters: { limit: 10, startingAfter: RUN_ID, status: "succeeded", since: 1_795_169_730, until: 1_795_256_130 },
    data: {
      rows: [
        {
          runId: RUN_ID,
          promptVersionId: VERSION_ID,
          outputs: run.outputs,
          runStatus: "succeeded",
          credits: 2,
          runName: "A poem for a tea label",
          createdAt: "2026-11-20T09:15:30.000Z",
        },
      ],
      hasMore: false,
    },
  },
  createBatch: {
    parameters: { "Idempotency-Key": "topics-2026-11-20" },
    bodies: {
      texts: {
        promptVersionId: VERSION_ID,
        items: [
          { key: "a1", inputs: { textInputs: { topic: "frost" } } },
          { key: "a2", inputs: { textInputs: { topic: "rain" } } },
        ],
        runOptions: { reasoningEffort: "low" },
        name: "topics.csv",
      },
    },
    data: {
      ...batch,
      counts: { total: 2, notStarted: 2, queued: 0, running: 0, succeeded: 0, failed: 0, canceled: 0 },
      credits: 0,
    },
  },
  getBatch: { parameters: { batchId: BATCH_ID }, data: batch },
  listBatches: { parameters: { limit: 10, startingAfter: BATCH_ID }, data: { rows: [batch], hasMore: false } },
  getBatchResults: {
    parameters: { batchId: BATCH_ID, startingAfter: 41, Accept: "text/csv" },
    data: {
      lines: [
        { index: 42, key: "a1", status: "succeeded", runId: RUN_ID, outputs: run.outputs, credits: 2 },
        {
          index: 43,
          key: "a2",
          status: "failed",
          runId: "019a1f87-3e4b-7d21-a4c8-5b7e11f20d3b",
          outputs: [{ type: "error", data: "The provider refused this request for safety reasons." }],
          credits: 0,
        },
      ],
    },
  },
  cancelBatch: { parameters: { batchId: BATCH_ID }, data: { ...batch, batchStatus: "canceled" } },
  resumeBatch: { parameters: { batchId: BATCH_ID }, data: batch },
  searchPrompts: {
    parameters: { q: "tea poem" },
    data: {
      rows: [
        {
          promptId: PROMPT_ID,
          promptVersionId: VERSION_ID,
          title: version.title,
          description: DESCRIPTION,
          slug: "tea-label-poem",
          model: 1,
          modality: 0,
          estimatedCredits: 2,
          uses: 128,
          upVotes: 9,
          publishedAt: version.publishedAt,
          samples: { inputs: { textInputs: { topic: "frost" }, imageInputs: [] }, outputs: run.outputs },
          configs: config,
        },
      ],
    },
  },
  getPrompt: { parameters: { promptId: PROMPT_ID, versionId: VERSION_ID }, data: version },
  getPromptVersion: { parameters: { promptVersionId: VERSION_ID }, data: version },
  resolveSlug: {
    parameters: { slug: "tea-label-poem", label: "latest" },
    data: { slug: "tea-label-poem", label: "latest", ...version },
  },
  listSlugs: {
    parameters: { slugs: "tea-label-poem,a-poem-about-coffee", label: "latest" },
    data: {
      rows: [
        {
          slug: "tea-label-poem",
          label: "latest",
          description: DESCRIPTION,
          ...version,
        },
      ],
      missing: ["a-poem-about-coffee"],
    },
  },
  getResources: {
    parameters: { "If-None-Match": `"${HASH}"` },
    data: {
      hash: HASH,
      resources: {
        models: [
          {
            model: "sandbox/text",
            modality: "text",
            availableRunOptions: [{ key: "reasoningEffort", options: ["low", "medium", "high"] }],
          },
          { model: "sandbox/video", modality: "video", availableRunOptions: [] },
        ],
      },
    },
  },
  getMe: { data: { username: "ada", displayName: "Ada Lovelace", userFlags: 3 } },
  getCredits: { data: { credits: 4_998 } },
};

/** Error envelopes for each code, without their `status`. */
export const ERROR_EXAMPLES: {
  readonly [Code in ErrorCode]: Readonly<Record<string, { readonly message: string; readonly data: unknown }>>;
} = {
  BAD_REQUEST_ERROR: {
    malformed: { message: "The request body is not valid JSON.", data: null },
    bodyTooLarge: {
      message: "The request body is larger than 32 MiB (33,554,432 bytes).",
      data: { reason: "BODY_TOO_LARGE", maxBytes: 33_554_432 },
    },
  },
  UNAUTHORIZED_ERROR: {
    missing: { message: 'No API key was sent. Send the header "Authorization: Bearer <API_KEY>".', data: null },
  },
  PAYMENT_REQUIRED_ERROR: {
    planRequired: {
      message: "The API needs a Pro plan. Ask an operator of this server for one.",
      data: { reason: "PLAN_REQUIRED" },
    },
    insufficientCredits: {
      message:
        "This run needs 12 credits, but only 5 are available. It usually costs 3; unused credits are returned. Ask an operator of this server for more credits.",
      data: { reason: "INSUFFICIENT_CREDITS", required: 12, available: 5, estimated: 3 },
    },
  },
  NOT_FOUND_ERROR: { missing: { message: `No run has the id ${RUN_ID}.`, data: null } },
  GONE_ERROR: {
    modelRetired: {
      message: "The model example/old-model is retired.",
      data: { reason: "MODEL_RETIRED", model: "example/old-model" },
    },
    fileExpired: {
      message:
        "This file expired on 2026-11-21 at 09:15 UTC. A run's files are available for 24 hours. A prompt's sample gets a new address every day.",
      data: { reason: "FILE_EXPIRED" },
    },
  },
  VALIDATION_ERROR: {
    missing: {
      message: "promptVersionId is required.",
      data: {
        issues: [{ path: ["body", "promptVersionId"], code: "required", message: "promptVersionId is required." }],
      },
    },
  },
  TOO_MANY_REQUESTS_ERROR: {
    rate: { message: "More than 5 requests in one second. Wait 1 second, then retry.", data: null },
    activeRuns: {
      message: "This account already has 100 queued or running runs, the maximum. Wait for some to finish.",
      data: { reason: "TOO_MANY_ACTIVE_RUNS", limit: 100 },
    },
  },
  SERVER_ERROR: {
    internal: { message: `Internal error. If it persists, report request id ${RUN_ID}.`, data: null },
  },
  GATEWAY_TIMEOUT_ERROR: {
    stillRunning: {
      message: `The run is still in progress after 120 seconds. Do not create it again; get its result with GET /v1/runs/${RUN_ID}.`,
      data: { runId: RUN_ID },
    },
  },
};
