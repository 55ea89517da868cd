/**
 * Turns errors that a call throws into values; only cancellation, bugs, and outages stay exceptions. SDK errors are
 * recognized by name and shape, not by class: each SDK package may bring its own copy of the classes.
 */
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import { classifyAnswer, classifyJobFailure, classifyTransport, failure, type Failure } from "../providers/failure.ts";
import { AnswerFailure, JobFailure, UnreadableAnswer } from "../providers/jobs.ts";
import { TransportFailure } from "../providers/transport.ts";
import { SandboxFailure } from "../sandbox/sandbox-failure.ts";
import type { Adapter } from "./call-settings.ts";
import type { ModelResult } from "./model-adapter.ts";

/**
 * Runs an SDK call and turns what it throws into a value; only cancellation stays an exception. Unrecognized errors come
 * from the provider's response: invalid base64, or a missing field that the SDK reads anyway.
 */
export async function settled<Result>(
  { log, clock }: Adapter,
  { entry, signal }: { readonly entry: Pick<CatalogueEntry, "modality">; readonly signal: AbortSignal },
  work: () => Promise<Result>,
): Promise<Result | Failure> {
  try {
    return await work();
  } catch (error) {
    const result = readProviderError(error, entry, clock.nowMs());
    if (result !== null) return result;
    if (signal.aborted) throw error;
    // The message may contain the provider's error message.
    log.warn({ error: error instanceof Error ? error.name : typeof error }, "the SDK could not read a response");
    return classifyTransport("protocol", entry.modality);
  }
}

/** The same for a file fetched without the SDK: an unrecognized error is a failure of our disk, or a bug. */
export async function settledFile(
  adapter: Adapter,
  entry: CatalogueEntry,
  work: () => Promise<ModelResult>,
): Promise<ModelResult> {
  try {
    return await work();
  } catch (error) {
    const result = readProviderError(error, entry, adapter.clock.nowMs());
    if (result === null) throw error;
    return result;
  }
}

/** Null: not recognized. */
function readProviderError(error: unknown, entry: Pick<CatalogueEntry, "modality">, nowMs: number): Failure | null {
  const result = readError(error, entry, nowMs);
  if (result?.kind !== "failed" || result.cause !== "protocol" || entry.modality === "text") return result;
  return { ...result, retry: "never" }; // the unreadable picture may be billed
}

function readError(error: unknown, entry: Pick<CatalogueEntry, "modality">, nowMs: number): Failure | null {
  const chain = causes(error);
  const sandbox = chain.find((cause) => cause instanceof SandboxFailure);
  if (sandbox !== undefined) return readSandboxFailure(sandbox, entry, nowMs);
  const transport = chain.find((cause) => cause instanceof TransportFailure);
  if (transport !== undefined) return classifyTransport(transport.stage, entry.modality);
  const answered = chain.find((cause) => cause instanceof AnswerFailure);
  if (answered !== undefined) return classifyAnswer(answered, nowMs);
  const job = chain.find((cause) => cause instanceof JobFailure);
  if (job !== undefined) return classifyJobFailure(job.message, job.code);
  if (chain.some((cause) => cause instanceof UnreadableAnswer)) return classifyTransport("protocol", entry.modality);
  if (chain.some(isDownloadError)) return classifyTransport("result", entry.modality);
  const answer = chain.find(isApiCallError);
  if (answer !== undefined) return readAnswer(answer, nowMs);
  return readByName(error, entry);
}

function readSandboxFailure(sandbox: SandboxFailure, entry: Pick<CatalogueEntry, "modality">, nowMs: number): Failure {
  switch (sandbox.kind) {
    case "directive":
      return failure("bad_request", { retry: "never", breaker: "ignored", sentence: sandbox.message });
    case "reset":
      return classifyTransport("sent", entry.modality);
    case "garbled":
    case "status": {
      const { httpStatus, responseHeaders: headers, responseBody: body } = sandbox;
      return classifyAnswer({ httpStatus: httpStatus ?? 500, headers, body }, nowMs);
    }
    default:
      return sandbox.kind satisfies never;
  }
}

interface ApiCallError extends Error {
  readonly statusCode?: number;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** The response text; for a response with status 200 that the package rejects, the parsed value. */
  readonly responseBody?: unknown;
}

function isApiCallError(error: unknown): error is ApiCallError {
  return error instanceof Error && error.name === "AI_APICallError";
}

/** The package rejected a result's address before requesting it. Actual requests go through transport.ts. */
function isDownloadError(error: unknown): boolean {
  return error instanceof Error && error.name === "AI_DownloadError";
}

function readAnswer(error: ApiCallError, nowMs: number): Failure {
  const { statusCode, responseHeaders: headers = {}, responseBody = "" } = error;
  // No status: the package found the response unusable before it looked at the status.
  if (typeof responseBody === "string") {
    return classifyAnswer({ httpStatus: statusCode ?? 200, headers, body: responseBody }, nowMs);
  }
  // Here the status is the package's own: 400 for an error in the body, otherwise 500, which would count as safe to retry.
  const httpStatus = statusCode === undefined || statusCode >= 500 ? 200 : statusCode;
  return classifyAnswer({ httpStatus, headers, body: JSON.stringify(responseBody) }, nowMs);
}

function readByName(error: unknown, { modality }: Pick<CatalogueEntry, "modality">): Failure | null {
  if (!(error instanceof Error)) return null;
  if (/^(AI_NoImageGeneratedError|RetryableNoImageResultError)$/.test(error.name)) {
    return failure("empty", { retry: "never", breaker: "ignored" });
  }
  // Such as a response without a choice, or a complete response when a stream was requested.
  if (modality === "text" && error.name === "AI_InvalidResponseDataError")
    return classifyTransport("protocol", modality);
  // Failed Veo jobs are errors whose message is the provider's text.
  if (/^AI_InvalidResponseDataError$|VIDEO_GENERATION_ERROR$/.test(error.name))
    return classifyJobFailure(error.message);
  return error.name.startsWith("AI_") ? failure("protocol", { retry: "never", breaker: "counted" }) : null;
}

const CAUSES_MAX = 8;

function causes(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let next = error; next !== undefined && next !== null && chain.length < CAUSES_MAX;) {
    chain.push(next);
    next = next instanceof Error ? next.cause : undefined;
  }
  return chain;
}
