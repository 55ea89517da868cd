import { z } from "zod";
import { ROLES, SCOPES, type Unauthorized } from "../credentials.ts";
import {
  type ErrorEnvelope,
  type Issue,
  ISSUE_CODES,
  type IssueCode,
  ISSUES_MAX,
  type ValidationData,
} from "../errors.ts";
import { idSchema } from "./answer-fields.ts";

export const issueSchema = z.strictObject({
  path: z.tuple([z.enum(["body", "query", "path", "header"])], z.union([z.string(), z.int()])),
  code: z.enum(ISSUE_CODES),
  message: z.string().min(1),
}) satisfies z.ZodType<Issue>;

export function errorOf<Code extends string, Data extends z.ZodType>(code: Code, data: Data) {
  return z.strictObject({ status: z.literal(code), message: z.string().min(1).max(1_000), data });
}

const validationSchema = z.strictObject({
  issues: z.array(issueSchema).min(1).max(ISSUES_MAX),
  invalidItems: z.int().optional(),
}) satisfies z.ZodType<ValidationData>;
const tooLargeSchema = z.strictObject({ reason: z.literal("BODY_TOO_LARGE"), maxBytes: z.int() });
const paymentSchema = z.discriminatedUnion("reason", [
  z.strictObject({ reason: z.literal("PLAN_REQUIRED") }),
  z.strictObject({ reason: z.literal("PLAN_LAPSED") }),
  z.strictObject({ reason: z.literal("ACCOUNT_FROZEN") }),
  z.strictObject({
    reason: z.literal("INSUFFICIENT_CREDITS"),
    required: z.int(),
    available: z.int(),
    estimated: z.int(),
  }),
  z.strictObject({
    reason: z.literal("KEY_CAP_REACHED"),
    required: z.int(),
    left: z.int(),
    opensAt: z.iso.datetime(),
  }),
]);
const goneSchema = z.discriminatedUnion("reason", [
  z.strictObject({ reason: z.literal("MODEL_RETIRED"), model: z.string() }),
  z.strictObject({ reason: z.literal("FILE_EXPIRED") }),
  z.strictObject({ reason: z.literal("API_VERSION_RETIRED") }),
]);
const tooManySchema = z.discriminatedUnion("reason", [
  z.strictObject({ reason: z.literal("TOO_MANY_ACTIVE_RUNS"), limit: z.int() }),
  z.strictObject({ reason: z.literal("TOO_MANY_BATCHES"), limit: z.int() }),
  z.strictObject({ reason: z.literal("SERVER_BUSY") }),
]);

/** One error envelope per code, with what its `data` can contain. */
export const ERROR_SCHEMAS = {
  BAD_REQUEST_ERROR: errorOf("BAD_REQUEST_ERROR", tooLargeSchema.nullable()),
  UNAUTHORIZED_ERROR: errorOf("UNAUTHORIZED_ERROR", z.null()),
  PAYMENT_REQUIRED_ERROR: errorOf("PAYMENT_REQUIRED_ERROR", paymentSchema),
  NOT_FOUND_ERROR: errorOf("NOT_FOUND_ERROR", z.null()),
  GONE_ERROR: errorOf("GONE_ERROR", goneSchema),
  VALIDATION_ERROR: errorOf("VALIDATION_ERROR", validationSchema),
  TOO_MANY_REQUESTS_ERROR: errorOf("TOO_MANY_REQUESTS_ERROR", tooManySchema.nullable()),
  SERVER_ERROR: errorOf("SERVER_ERROR", z.null()),
  GATEWAY_TIMEOUT_ERROR: errorOf("GATEWAY_TIMEOUT_ERROR", z.strictObject({ runId: idSchema })),
} as const;

/** The management API's 401, which says what credential would be needed instead. */
export const unauthorizedSchema = z.discriminatedUnion("reason", [
  z.strictObject({ reason: z.literal("SIGN_IN_REQUIRED") }),
  z.strictObject({ reason: z.literal("WRONG_CREDENTIAL"), expected: z.array(z.enum(["session", "token"])) }),
  z.strictObject({ reason: z.literal("SCOPE_REQUIRED"), scope: z.enum(SCOPES) }),
  z.strictObject({ reason: z.literal("ROLE_REQUIRED"), role: z.enum(ROLES) }),
]) satisfies z.ZodType<Unauthorized>;

export const errorEnvelopeSchema = z.discriminatedUnion("status", [
  ERROR_SCHEMAS.BAD_REQUEST_ERROR,
  errorOf("UNAUTHORIZED_ERROR", unauthorizedSchema.nullable()),
  ERROR_SCHEMAS.PAYMENT_REQUIRED_ERROR,
  ERROR_SCHEMAS.NOT_FOUND_ERROR,
  ERROR_SCHEMAS.GONE_ERROR,
  ERROR_SCHEMAS.VALIDATION_ERROR,
  ERROR_SCHEMAS.TOO_MANY_REQUESTS_ERROR,
  ERROR_SCHEMAS.SERVER_ERROR,
  ERROR_SCHEMAS.GATEWAY_TIMEOUT_ERROR,
]) satisfies z.ZodType<ErrorEnvelope>;

interface RawIssue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly input?: unknown;
  readonly params?: unknown;
}

/** Turns an issue of a request schema (parsed with `reportInput: true`) into the form that is sent. */
export function toIssue(root: "body" | "query" | "path", issue: RawIssue): Issue {
  // A lone surrogate is not valid Unicode: a caller's parser would reject the whole response.
  const path = [root, ...issue.path.map((step) => (typeof step === "number" ? step : String(step).toWellFormed()))];
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
