import { z } from "zod";
import type { Credits, Me } from "./accounts.ts";
import type { EndpointName, EndpointShapes } from "./endpoints.ts";
import { ISSUE_CODES, ISSUES_MAX, type ErrorEnvelope, type Issue, type IssueCode } from "./errors.ts";
import type { ModelEntry, Resources } from "./models.ts";
import { MODALITIES, type PromptConfig, type PromptSamples, type PromptVersion, type SearchResult } from "./prompts.ts";
import type { SearchRow } from "./prompts.ts";
import { describeType, quote } from "./quote.ts";
import { OUTPUT_TYPES, RUN_STATUSES } from "./runs.ts";
import type { CreateRunBody, ImageInput, ListRunsQuery, OutputItem, Run, RunList, RunListRow } from "./runs.ts";

/*
 * Two halves. Requests: leaves are checked by our own rules, so that every issue carries its code and the sentence
 * the caller reads; parsing also normalises (UUIDs to lower case, keys to NFC, absent and null to empty, numbers out
 * of query strings). Responses: strict objects with exactly the specified members, used by tests, clients and the
 * OpenAPI document. `meta` gives the JSON Schema of a leaf, since a rule in code has none.
 */

/** Limits of one request, in UTF-8 bytes and counts (specification, "Limits", and decided with the interface). */
export const REQUEST_LIMITS = {
  textBytesMax: 100 * 1024,
  textBytesMaxTotal: 1024 * 1024,
  textKeysMax: 64,
  imagesMax: 32,
  searchCodePointsMax: 200,
  pageMin: 1,
  pageMax: 50,
} as const;

// ---- Requests -------------------------------------------------------------------------------------------------

interface Fault {
  readonly code: IssueCode;
  readonly message: string;
  readonly path?: readonly (string | number)[];
}

interface CheckPayload {
  value: unknown;
  issues: unknown[];
}

/** `continue` keeps zod going after the first issue: all problems of a request are reported at once. */
function report(payload: CheckPayload, fault: Fault): void {
  const { code, message, path = [] } = fault;
  payload.issues.push({
    code: "custom",
    message,
    path: [...path],
    params: { issue: code },
    input: payload.value,
    continue: true,
  });
}

type JsonSchema = Readonly<Record<string, unknown>>;

/** A leaf with its own rule: `check` may replace the value, and reports its faults itself. */
function leaf<Value>(schema: JsonSchema, check: (payload: CheckPayload) => void): z.ZodType<Value> {
  return z.custom<Value>().check(check).meta(schema);
}

/** Issue for a character PostgreSQL cannot keep: U+0000, or half of a surrogate pair. Null when the text is sound. */
export function textFault(what: string, text: string): Fault | null {
  if (text.includes("\u0000")) {
    return { code: "invalid_text", message: `${what} contains the character U+0000, which is not allowed.` };
  }
  if (text.isWellFormed()) return null;
  return { code: "invalid_text", message: `${what} contains half of a surrogate pair, which is not a character.` };
}

/** Length in UTF-8 of a well-formed text; counts no further than `stopAt` needs. */
function utf8Length(text: string, stopAt: number): number {
  if (text.length * 3 <= stopAt) return text.length;
  let bytes = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit < 0xd800 || unit > 0xdfff) bytes += 3;
    else bytes += 2; // each half of a pair: four bytes together
  }
  return bytes;
}

function requireString(payload: CheckPayload, name: string): string | null {
  const { value } = payload;
  if (value === undefined || value === null) report(payload, { code: "required", message: `${name} is required.` });
  else if (typeof value !== "string") {
    report(payload, { code: "invalid_type", message: `${name} must be a string, got ${describeType(value)}.` });
  } else return value;
  return null;
}

/** Any 8-4-4-4-12 form: `z.uuid()` refuses well-formed ids of no RFC version, which must give 404 and not 422. */
function uuidLeaf(name: string): z.ZodType<string> {
  return leaf<string>({ type: "string", format: "uuid" }, (payload) => {
    const value = requireString(payload, name);
    if (value === null) return;
    if (z.regexes.guid.test(value)) payload.value = value.toLowerCase();
    else report(payload, { code: "invalid_uuid", message: `${name} must be a UUID, got ${quote(value)}.` });
  });
}

interface TextRecordNames {
  readonly field: string;
  /** "Text input", "Run option": begins the sentence about one entry. */
  readonly entry: string;
}

/** Record of caller's texts. Absent, null and {} are equal; keys come out in NFC, since names are matched so. */
function textRecordLeaf(names: TextRecordNames): z.ZodType<Readonly<Record<string, string>>> {
  const schema = { type: ["object", "null"], additionalProperties: { type: "string" } };
  return leaf<Readonly<Record<string, string>>>(schema, (payload) => {
    const given = payload.value ?? {};
    if (typeof given !== "object" || Array.isArray(given)) {
      const message = `${names.field} must be an object, got ${describeType(given)}.`;
      report(payload, { code: "invalid_type", message });
      return;
    }
    payload.value = checkTextRecord(payload, Object.entries(given), names);
  }).prefault({});
}

function checkTextRecord(payload: CheckPayload, entries: [string, unknown][], names: TextRecordNames): object {
  const { textKeysMax, textBytesMaxTotal } = REQUEST_LIMITS;
  const kept: Record<string, string> = {};
  if (entries.length > textKeysMax) {
    const message = `${names.field} has ${entries.length} keys; at most ${textKeysMax} are accepted.`;
    report(payload, { code: "too_many", message });
    return kept;
  }
  let bytes = 0;
  for (const [key, value] of entries) {
    const fault = entryFault(names.entry, key, value);
    if (fault !== null) report(payload, { ...fault, path: [key] });
    const name = key.normalize("NFC");
    if (Object.hasOwn(kept, name)) {
      const message = `${names.entry} ${quote(name)} is given twice: two keys are equal after Unicode normalisation.`;
      report(payload, { code: "conflict", message, path: [key] });
    }
    if (typeof value !== "string") continue;
    kept[name] = value;
    bytes += utf8Length(value, 0);
  }
  if (bytes > textBytesMaxTotal) {
    const message = `${names.field} is ${kibibytes(bytes)} in all; the limit is 1,024 KiB.`;
    report(payload, { code: "too_long", message });
  }
  return kept;
}

/** Sentences are made only for entries at fault: this runs for every text of every run. */
function entryFault(entry: string, key: string, value: unknown): Fault | null {
  const what = () => `${entry} ${quote(key)}`;
  if (typeof value !== "string") {
    return { code: "invalid_type", message: `${what()} must be a string, got ${describeType(value)}.` };
  }
  if (!isSound(key)) return textFault(`The name of ${entry.toLowerCase()} ${quote(key)}`, key);
  if (!isSound(value)) return textFault(what(), value);
  const { textBytesMax } = REQUEST_LIMITS;
  const bytes = utf8Length(value, textBytesMax);
  if (bytes <= textBytesMax) return null;
  return { code: "too_long", message: `${what()} is ${kibibytes(bytes)}; the limit is 100 KiB.` };
}

function isSound(text: string): boolean {
  return text.isWellFormed() && !text.includes("\u0000");
}

function kibibytes(bytes: number): string {
  return `${(Math.ceil((bytes * 10) / 1024) / 10).toLocaleString("en-US")} KiB`;
}

const IMAGE_INPUT_SCHEMA = {
  oneOf: [
    {
      type: "object",
      properties: { type: { const: "url" }, url: { type: "string", format: "uri", maxLength: 2048 } },
      required: ["type", "url"],
    },
    {
      type: "object",
      properties: { type: { const: "base64" }, base64: { type: "string", contentEncoding: "base64" } },
      required: ["type", "base64"],
    },
  ],
};

/** Only the form: what a picture or an address must be is checked where images are read. Extra members are dropped. */
const imageInputsLeaf = leaf<readonly ImageInput[]>(
  { type: ["array", "null"], items: IMAGE_INPUT_SCHEMA, maxItems: REQUEST_LIMITS.imagesMax },
  (payload) => {
    const given = payload.value ?? [];
    if (!Array.isArray(given)) {
      const message = `imageInputs must be an array, got ${describeType(given)}.`;
      report(payload, { code: "invalid_type", message });
      return;
    }
    const { imagesMax } = REQUEST_LIMITS;
    if (given.length > imagesMax) {
      const message = `imageInputs has ${given.length} images; at most ${imagesMax} are accepted.`;
      report(payload, { code: "too_many", message });
      return;
    }
    payload.value = given.map((image: unknown, index) => readImage(payload, image, index));
  },
).prefault([]);

function readImage(payload: CheckPayload, image: unknown, index: number): ImageInput | null {
  const name = `Image ${index + 1}`;
  if (typeof image !== "object" || image === null || Array.isArray(image)) {
    const message = `${name} must be an object with a type, got ${describeType(image)}.`;
    report(payload, { code: "invalid_type", message, path: [index] });
    return null;
  }
  const type: unknown = Object.hasOwn(image, "type") && "type" in image ? image.type : undefined;
  if (type !== "url" && type !== "base64") {
    const had = typeof type === "string" ? `has the type ${quote(type)}` : "has no type";
    const message = `${name} ${had}; supported types are "url" and "base64".`;
    report(payload, { code: "unsupported_image_type", message, path: [index, "type"] });
    return null;
  }
  const content: unknown = Object.entries(image).find(([key]) => key === type)?.[1];
  const fault = imageContentFault(`${name}: ${type}`, content);
  if (fault !== null) report(payload, { ...fault, path: [index, type] });
  if (typeof content !== "string") return null;
  return type === "url" ? { type, url: content } : { type, base64: content };
}

function imageContentFault(what: string, content: unknown): Fault | null {
  if (content === undefined || content === null) return { code: "required", message: `${what} is required.` };
  if (typeof content === "string") return textFault(what, content);
  return { code: "invalid_type", message: `${what} must be a string, got ${describeType(content)}.` };
}

function objectError(name: string) {
  return (issue: { readonly input?: unknown }) =>
    issue.input === undefined || issue.input === null
      ? `${name} is required.`
      : `${name} must be an object, got ${describeType(issue.input)}.`;
}

export const createRunBodySchema = z.object(
  {
    promptVersionId: uuidLeaf("promptVersionId"),
    inputs: z.object(
      { textInputs: textRecordLeaf({ field: "textInputs", entry: "Text input" }), imageInputs: imageInputsLeaf },
      { error: objectError("inputs") },
    ),
    runOptions: textRecordLeaf({ field: "runOptions", entry: "Run option" }),
  },
  { error: (issue) => `The request body must be a JSON object, got ${describeType(issue.input)}.` },
) satisfies z.ZodType<CreateRunBody>;

/** What `createRun` reads of its body; any other member is ignored, as the specification says. */
export const CREATE_RUN_MEMBERS = {
  body: ["promptVersionId", "inputs", "runOptions"],
  inputs: ["textInputs", "imageInputs"],
} as const;

/** A query value as it was sent; undefined when the parameter is absent. */
function rawText(payload: CheckPayload): string | undefined {
  return typeof payload.value === "string" ? payload.value : undefined;
}

const LIMIT_FORM = /^[0-9]{1,10}$/;
const TIME_FORM = /^[0-9]{1,16}$/;
/** The last moment a JavaScript Date can hold. */
const TIME_MS_MAX = 8_640_000_000_000_000;
/** From here on a time is milliseconds (3 March 1973 as milliseconds, the year 5138 as seconds). */
const MILLISECONDS_FROM = 100_000_000_000;

/** Milliseconds of `since` and `until`, which existing clients send in either unit. */
export function unixTimeMs(time: number): number {
  return time >= MILLISECONDS_FROM ? time : time * 1000;
}

const limitLeaf = leaf<number | undefined>({ type: "integer", minimum: 1, maximum: 50, default: 10 }, (payload) => {
  const given = rawText(payload);
  if (given === undefined) return;
  const { pageMin, pageMax } = REQUEST_LIMITS;
  const limit = LIMIT_FORM.test(given) ? Number(given) : Number.NaN;
  payload.value = limit;
  if (limit >= pageMin && limit <= pageMax) return;
  const message = `limit must be an integer from ${pageMin} to ${pageMax}, got ${quote(given)}.`;
  report(payload, { code: "invalid_value", message });
}).optional();

function timeLeaf(name: string): z.ZodType<number | undefined> {
  const description = "Unix time; 100,000,000,000 and more is milliseconds, less is seconds.";
  return leaf<number | undefined>({ type: "integer", minimum: 0, maximum: TIME_MS_MAX, description }, (payload) => {
    const given = rawText(payload);
    if (given === undefined) return;
    const time = TIME_FORM.test(given) ? Number(given) : Number.NaN;
    payload.value = time;
    if (time <= TIME_MS_MAX) return;
    const message = `${name} must be a Unix timestamp such as 1795169730, got ${quote(given)}.`;
    report(payload, { code: "invalid_value", message });
  }).optional();
}

const statusLeaf = leaf<RunListRow["runStatus"] | undefined>({ type: "string", enum: [...RUN_STATUSES] }, (payload) => {
  const given = rawText(payload);
  if (given === undefined || RUN_STATUSES.some((status) => status === given)) return;
  const message = `status must be one of: ${RUN_STATUSES.join(", ")}. Got ${quote(given)}.`;
  report(payload, { code: "invalid_value", message });
}).optional();

function checkListQuery(payload: { value: ListRunsQuery; issues: unknown[] }): void {
  const { startingAfter, endingBefore, since, until } = payload.value;
  if (startingAfter !== undefined && endingBefore !== undefined) {
    const message = "Give startingAfter or endingBefore, not both.";
    report(payload, { code: "conflict", message, path: ["endingBefore"] });
  }
  if (since === undefined || until === undefined) return;
  if (unixTimeMs(since) >= unixTimeMs(until)) {
    report(payload, { code: "conflict", message: "since must be earlier than until.", path: ["since"] });
  }
}

/** Reads the raw texts of a query string: no coercion, which would take `1e1`, `0x10` and the empty string for numbers. */
export const listRunsQuerySchema = z
  .object({
    limit: limitLeaf,
    startingAfter: uuidLeaf("startingAfter").optional(),
    endingBefore: uuidLeaf("endingBefore").optional(),
    status: statusLeaf,
    since: timeLeaf("since"),
    until: timeLeaf("until"),
  })
  .check(checkListQuery) satisfies z.ZodType<ListRunsQuery>;

const CONTROLS = /\p{Cc}/gu;

const searchTextLeaf = leaf<string>({ type: "string", minLength: 1, maxLength: 200 }, (payload) => {
  const given = rawText(payload) ?? "";
  const unsound = textFault("q", given);
  if (unsound !== null) {
    report(payload, unsound);
    return;
  }
  const text = given.replace(CONTROLS, " ").normalize("NFC").trim();
  payload.value = text;
  const { searchCodePointsMax: max } = REQUEST_LIMITS;
  const length = Array.from(text).length; // no longer than the request line
  if (length === 0) {
    report(payload, { code: "required", message: `q is required: give 1 to ${max} characters to search for.` });
  } else if (length > max) {
    report(payload, { code: "too_long", message: `q must have at most ${max} characters, got ${length}.` });
  }
});

// ---- Responses ------------------------------------------------------------------------------------------------

/** UTC, always three decimals. */
const timeSchema = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  .meta({ format: "date-time" });
/** Emitted in lower case. */
const idSchema = z
  .guid()
  .refine((id) => id === id.toLowerCase(), "ids are emitted in lower case")
  .meta({ format: "uuid" });
const countSchema = z.int().min(0);

export const outputItemSchema = z.strictObject({
  type: z.enum(OUTPUT_TYPES),
  data: z.string(),
}) satisfies z.ZodType<OutputItem>;

export const runSchema = z.strictObject({
  runId: idSchema,
  outputs: z.array(outputItemSchema),
  runStatus: z.enum(RUN_STATUSES),
  tokens: countSchema,
}) satisfies z.ZodType<Run>;

export const runListRowSchema = z.strictObject({
  runId: idSchema,
  promptVersionId: idSchema,
  outputs: z.array(outputItemSchema),
  runStatus: z.enum(RUN_STATUSES),
  credits: countSchema.nullable(),
  runName: z.string(),
  createdAt: timeSchema,
}) satisfies z.ZodType<RunListRow>;

export const runListSchema = z.strictObject({
  rows: z.array(runListRowSchema).max(REQUEST_LIMITS.pageMax),
  hasMore: z.boolean(),
}) satisfies z.ZodType<RunList>;

const textInputFieldSchema = z.strictObject({
  position: countSchema,
  type: z.enum(["text", "select"]),
  label: z.string(),
  description: z.string(),
  required: z.boolean(),
  allowEmpty: z.boolean(),
  default: z.string().nullable(),
  maxLength: countSchema.nullable(),
  options: z.array(z.string()).nullable(),
  multiple: z.strictObject({ min: countSchema, max: countSchema }).nullable(),
});

export const promptConfigSchema = z.strictObject({
  textInputs: z.record(z.string(), textInputFieldSchema),
  imageInputs: z.array(z.strictObject({ position: countSchema, label: z.string(), description: z.string() })),
  imageCount: countSchema,
  model: z.string(),
  modality: z.enum(MODALITIES),
  runOptions: z.record(z.string(), z.strictObject({ default: z.string().nullable(), options: z.array(z.string()) })),
  output: z.strictObject({ type: z.enum(MODALITIES) }),
  inputSchema: z.record(z.string(), z.unknown()),
}) satisfies z.ZodType<PromptConfig>;

export const promptVersionSchema = z.strictObject({
  promptVersionId: idSchema,
  promptId: idSchema,
  title: z.string(),
  publishedAt: timeSchema,
  config: promptConfigSchema,
}) satisfies z.ZodType<PromptVersion>;

const imageInputSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("url"), url: z.string() }),
  z.strictObject({ type: z.literal("base64"), base64: z.string() }),
]) satisfies z.ZodType<ImageInput>;

const samplesSchema = z.strictObject({
  inputs: z.strictObject({
    textInputs: z.record(z.string(), z.string()),
    imageInputs: z.array(imageInputSchema),
  }),
  outputs: z.array(outputItemSchema),
}) satisfies z.ZodType<PromptSamples>;

export const searchRowSchema = z.strictObject({
  promptId: idSchema,
  promptVersionId: idSchema,
  title: z.string(),
  description: z.string(),
  slug: z.string(),
  model: countSchema,
  modality: z.int().min(0).max(1),
  estimatedCredits: countSchema,
  uses: countSchema,
  upVotes: countSchema,
  publishedAt: timeSchema,
  samples: samplesSchema,
  configs: promptConfigSchema,
}) satisfies z.ZodType<SearchRow>;

export const searchResultSchema = z.strictObject({
  rows: z.array(searchRowSchema).max(20),
}) satisfies z.ZodType<SearchResult>;

export const modelEntrySchema = z.strictObject({
  model: z.string(),
  modality: z.enum(MODALITIES),
  availableRunOptions: z.array(z.strictObject({ key: z.string(), options: z.array(z.string()) })),
}) satisfies z.ZodType<ModelEntry>;

export const resourcesSchema = z.strictObject({
  hash: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  resources: z.strictObject({ models: z.array(modelEntrySchema) }),
}) satisfies z.ZodType<Resources>;

export const meSchema = z.strictObject({
  username: z.string().nullable(),
  displayName: z.string().nullable(),
  userFlags: countSchema,
}) satisfies z.ZodType<Me>;

export const creditsSchema = z.strictObject({ credits: z.int() }) satisfies z.ZodType<Credits>;

// ---- Envelopes ------------------------------------------------------------------------------------------------

export const issueSchema = z.strictObject({
  path: z.tuple([z.enum(["body", "query", "path", "header"])], z.union([z.string(), z.int()])),
  code: z.enum(ISSUE_CODES),
  message: z.string().min(1),
}) satisfies z.ZodType<Issue>;

function errorOf<Code extends string, Data extends z.ZodType>(code: Code, data: Data) {
  return z.strictObject({ status: z.literal(code), message: z.string().min(1).max(1_000), data });
}

const tooLargeSchema = z.strictObject({ reason: z.literal("BODY_TOO_LARGE"), maxBytes: z.int() });
const paymentSchema = z.discriminatedUnion("reason", [
  z.strictObject({ reason: z.literal("PLAN_REQUIRED") }),
  z.strictObject({ reason: z.literal("PLAN_LAPSED") }),
  z.strictObject({ reason: z.literal("INSUFFICIENT_CREDITS"), required: z.int(), available: z.int() }),
]);
const goneSchema = z.discriminatedUnion("reason", [
  z.strictObject({ reason: z.literal("MODEL_RETIRED"), model: z.string() }),
  z.strictObject({ reason: z.literal("FILE_EXPIRED") }),
  z.strictObject({ reason: z.literal("API_VERSION_RETIRED") }),
]);
const tooManySchema = z.discriminatedUnion("reason", [
  z.strictObject({ reason: z.literal("TOO_MANY_ACTIVE_RUNS"), limit: z.int() }),
  z.strictObject({ reason: z.literal("SERVER_BUSY") }),
]);

/** One error envelope per code, with the context its `data` may hold. */
export const ERROR_SCHEMAS = {
  BAD_REQUEST_ERROR: errorOf("BAD_REQUEST_ERROR", tooLargeSchema.nullable()),
  UNAUTHORIZED_ERROR: errorOf("UNAUTHORIZED_ERROR", z.null()),
  PAYMENT_REQUIRED_ERROR: errorOf("PAYMENT_REQUIRED_ERROR", paymentSchema),
  NOT_FOUND_ERROR: errorOf("NOT_FOUND_ERROR", z.null()),
  GONE_ERROR: errorOf("GONE_ERROR", goneSchema),
  VALIDATION_ERROR: errorOf(
    "VALIDATION_ERROR",
    z.strictObject({ issues: z.array(issueSchema).min(1).max(ISSUES_MAX) }),
  ),
  TOO_MANY_REQUESTS_ERROR: errorOf("TOO_MANY_REQUESTS_ERROR", tooManySchema.nullable()),
  SERVER_ERROR: errorOf("SERVER_ERROR", z.null()),
  GATEWAY_TIMEOUT_ERROR: errorOf("GATEWAY_TIMEOUT_ERROR", z.strictObject({ runId: idSchema })),
} as const;

export const errorEnvelopeSchema = z.discriminatedUnion("status", [
  ERROR_SCHEMAS.BAD_REQUEST_ERROR,
  ERROR_SCHEMAS.UNAUTHORIZED_ERROR,
  ERROR_SCHEMAS.PAYMENT_REQUIRED_ERROR,
  ERROR_SCHEMAS.NOT_FOUND_ERROR,
  ERROR_SCHEMAS.GONE_ERROR,
  ERROR_SCHEMAS.VALIDATION_ERROR,
  ERROR_SCHEMAS.TOO_MANY_REQUESTS_ERROR,
  ERROR_SCHEMAS.SERVER_ERROR,
  ERROR_SCHEMAS.GATEWAY_TIMEOUT_ERROR,
]) satisfies z.ZodType<ErrorEnvelope>;

export function successEnvelopeSchema<Data extends z.ZodType>(data: Data) {
  return z.strictObject({ status: z.literal("SUCCESS"), data });
}

// ---- The table ------------------------------------------------------------------------------------------------

/** Schemas of one endpoint; `body` is null where any body is ignored. */
export type EndpointSchema<N extends EndpointName> = {
  readonly params: z.ZodObject & z.ZodType<EndpointShapes[N]["params"]>;
  readonly query: z.ZodObject & z.ZodType<EndpointShapes[N]["query"]>;
  readonly body: EndpointShapes[N]["body"] extends undefined ? null : z.ZodType<EndpointShapes[N]["body"]>;
  readonly data: z.ZodType<EndpointShapes[N]["data"]>;
};

const none = z.object({});

export const endpointSchemas: { readonly [N in EndpointName]: EndpointSchema<N> } = {
  createRun: { params: none, query: none, body: createRunBodySchema, data: runSchema },
  getRun: { params: z.object({ runId: uuidLeaf("runId") }), query: none, body: null, data: runSchema },
  cancelRun: { params: z.object({ runId: uuidLeaf("runId") }), query: none, body: null, data: runSchema },
  listRuns: { params: none, query: listRunsQuerySchema, body: null, data: runListSchema },
  searchPrompts: { params: none, query: z.object({ q: searchTextLeaf }), body: null, data: searchResultSchema },
  getPrompt: {
    params: z.object({ promptId: uuidLeaf("promptId") }),
    query: z.object({ versionId: uuidLeaf("versionId").optional() }),
    body: null,
    data: promptVersionSchema,
  },
  getPromptVersion: {
    params: z.object({ promptVersionId: uuidLeaf("promptVersionId") }),
    query: none,
    body: null,
    data: promptVersionSchema,
  },
  getResources: { params: none, query: none, body: null, data: resourcesSchema },
  getMe: { params: none, query: none, body: null, data: meSchema },
  getCredits: { params: none, query: none, body: null, data: creditsSchema },
};

interface RawIssue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly input?: unknown;
  readonly params?: unknown;
}

/** Turns an issue of a request schema (parsed with `reportInput: true`) into the form that is sent. */
export function toIssue(root: "body" | "query" | "path", issue: RawIssue): Issue {
  const path = [root, ...issue.path.map((step) => (typeof step === "number" ? step : String(step)))];
  return { path, code: issueCode(issue), message: issue.message };
}

function issueCode(issue: RawIssue): IssueCode {
  const { params } = issue;
  if (typeof params === "object" && params !== null && "issue" in params) {
    const found = ISSUE_CODES.find((code) => code === params.issue);
    if (found !== undefined) return found;
  }
  const isMissing = issue.path.length > 0 && (issue.input === undefined || issue.input === null);
  return isMissing ? "required" : "invalid_type";
}
