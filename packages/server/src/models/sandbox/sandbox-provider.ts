import type { Clock } from "../../platform/clock.ts";
import { orAborted, sleep } from "../../platform/resilience/deadline.ts";
import { directiveFault, readDirectives, type Directives } from "./directives.ts";
import { drawSandboxImage, parseImageSize } from "./image.ts";
import { SandboxFailure } from "./sandbox-failure.ts";
import { countInputTokens, writeSandboxText } from "./text.ts";
import { chooseClip, isClip, loadClip } from "./video.ts";

/**
 * The provider that needs no key: the same boundary, errors, and metering as a real one, without a network.
 * Its output depends only on prompt, options, and image bytes; directive lines in the prompt
 * (`sandbox: delay=500 flaky=1`) make it fail or answer oddly on purpose.
 */
export interface SandboxRequest {
  /** The model's public id, shown in texts. */
  readonly model: string;
  readonly instructions: string;
  readonly prompt: string;
  readonly images: readonly { readonly bytes: Uint8Array; readonly mediaType: string }[];
  /** 0-based number among the items of its step. */
  readonly itemIndex: number;
  /** From 1, counted across crashes: what `flaky` depends on. */
  readonly callNumber: number;
  /** The prompt as its author wrote it: only directives in it are obeyed; null: all directives are obeyed. */
  readonly authorsText: string | null;
  /** The conversation before the prompt. */
  readonly messages?: readonly { readonly role: string; readonly text: string }[] | undefined;
  /** JSON Schema for the returned text. */
  readonly outputSchema?: { readonly [key: string]: unknown } | undefined;
  /** Set: the text says that it would search the web. */
  readonly webSearch?: object | undefined;
}

export interface SandboxTextRequest extends SandboxRequest {
  /** The SDK's level (`low`, `medium`, …); null if none was requested. */
  readonly reasoning: string | null;
  readonly maxOutputTokens: number;
}

/** Tokens; null with the directive `nousage`. */
type SandboxUsage = { readonly inputTokens: number; readonly outputTokens: number } | null;

/** A started video, stored as plain JSON. `clip` is null with the directive `empty`. */
interface SandboxVideoOperation {
  readonly v: 1;
  readonly clip: string | null;
  /** Milliseconds since 1970. */
  readonly readyAt: number;
}

/** The sandbox's time, passed in so that tests need not wait. */
export interface SandboxTimer extends Clock {
  /** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as it is aborted. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

export function createSandboxTimer(clock: Clock): SandboxTimer {
  return { nowMs: clock.nowMs, wait: sleep };
}

/** Time from start to ready without a `delay`: long enough that one poll finds it pending. */
const VIDEO_READY_MS = 500;

/**
 * @returns `searches`: the web searches that it claims, none of which is made; null: it may not search, or does not say.
 * @throws SandboxFailure as a provider's error; the signal's reason when aborted.
 */
export async function runSandboxText(request: SandboxTextRequest, timer: SandboxTimer, signal: AbortSignal) {
  const { directives, instructions, prompt } = await passDirectives(request, timer, signal);
  if (directives.refuse === true) {
    const usage = usageOf(request, directives, 0);
    return { text: "", finishReason: "content-filter" as const, usage, searches: null };
  }
  failPartially(request, directives);
  const searches = request.webSearch === undefined ? null : (directives.searches ?? 1);
  const parts = { ...request, instructions, prompt, searches };
  const { text, isTruncated, outputTokens } = writeSandboxText(parts, directives);
  const usage = usageOf(request, directives, outputTokens);
  const finishReason = isTruncated ? ("length" as const) : ("stop" as const);
  return { text, finishReason, usage, searches: directives.nousage === true ? null : searches };
}

/**
 * @param request `size`: such as `512x512`; null: 512x512.
 * @returns one PNG; none with the directive `empty`.
 * @throws SandboxFailure as a provider's error; the signal's reason when aborted.
 */
export async function runSandboxImage(
  request: SandboxRequest & { readonly size: string | null },
  timer: SandboxTimer,
  signal: AbortSignal,
): Promise<{ readonly images: Uint8Array[]; readonly usage: SandboxUsage }> {
  const size = parseImageSize(request.size);
  const { directives, instructions, prompt } = await passDirectives(request, timer, signal);
  failRefused(directives);
  failPartially(request, directives);
  const usage = usageOf(request, directives, 0);
  if (directives.empty === true) return { images: [], usage };
  const subject = `${instructions}\n${prompt}`;
  const image = await drawSandboxImage({ subject, itemIndex: request.itemIndex, size, images: request.images });
  signal.throwIfAborted();
  return { images: [image], usage };
}

/**
 * Starts a video. Clips exist for 2 and 4 seconds; `durationSeconds` null: 2. `delay` is the time until it is ready, so
 * starting itself waits only for `hang`.
 * @throws SandboxFailure as a provider's error; the signal's reason when aborted.
 */
export async function startSandboxVideo(
  request: SandboxRequest & { readonly durationSeconds: number | null },
  timer: SandboxTimer,
  signal: AbortSignal,
): Promise<SandboxVideoOperation> {
  const { directives, instructions, prompt } = await passDirectives(request, { ...timer, wait: dontWait }, signal);
  failRefused(directives);
  failPartially(request, directives);
  const subject = `${instructions}\n${prompt}`;
  return {
    v: 1,
    clip: directives.empty === true ? null : chooseClip(subject, request.durationSeconds),
    readyAt: timer.nowMs() + (directives.delay ?? VIDEO_READY_MS),
  };
}

/**
 * @param operation what startSandboxVideo returned, read back from the database.
 * @throws SandboxFailure 404 if it is not such an operation.
 */
export async function pollSandboxVideo(operation: unknown, timer: SandboxTimer) {
  if (!isOperation(operation)) {
    throw new SandboxFailure("status", "Sandbox: no such video.", { httpStatus: 404, code: "not_found" });
  }
  if (timer.nowMs() < operation.readyAt) return { status: "pending" as const };
  const { clip } = operation;
  const videos = clip === null ? [] : [{ bytes: await loadClip(clip), mediaType: "video/mp4" }];
  return { status: "completed" as const, videos };
}

/** Does everything that can happen before a provider begins to generate, in the documented order. */
async function passDirectives(request: SandboxRequest, timer: SandboxTimer, signal: AbortSignal) {
  signal.throwIfAborted();
  const reading = readDirectives([request.instructions, request.prompt], request.authorsText);
  if (reading.kind === "faulty") throw directiveFault(reading.word);
  const { directives } = reading;
  if (directives.delay !== undefined) await timer.wait(directives.delay, signal);
  if (directives.hang === true) await orAborted(new Promise<never>(() => {}), signal);
  if (directives.reset === true)
    throw new SandboxFailure("reset", "read ECONNRESET", { httpStatus: null, code: "ECONNRESET" });
  failByStatus(request, directives);
  if (directives.garble === true) {
    throw new SandboxFailure("garbled", "Invalid JSON response", { httpStatus: 200 });
  }
  const [instructions = "", prompt = ""] = reading.texts;
  return { directives, instructions, prompt };
}

function failByStatus(request: SandboxRequest, directives: Directives): void {
  const isFlaky = directives.flaky !== undefined && request.callNumber <= directives.flaky;
  const isBroken = directives.flaky === undefined && directives.error !== undefined;
  if (isFlaky || isBroken) {
    const httpStatus = directives.error ?? 503;
    throw new SandboxFailure("status", `Sandbox: HTTP ${httpStatus} as requested.`, {
      httpStatus,
      retryAfterSeconds: directives.retryafter ?? null,
    });
  }
  if (directives.quota === true) {
    throw new SandboxFailure("status", "Sandbox: the quota is used up, as requested.", {
      httpStatus: 429,
      code: "insufficient_quota",
    });
  }
}

/** Pictures and videos have no finish reason: providers decline them with a 400 that names the policy. */
function failRefused(directives: Directives): void {
  if (directives.refuse !== true) return;
  throw new SandboxFailure("status", "Sandbox: declined as requested.", {
    httpStatus: 400,
    code: "content_policy_violation",
  });
}

/** A 400, so that failing items are not retried. */
function failPartially(request: SandboxRequest, directives: Directives): void {
  if (directives.partial === undefined || request.itemIndex < directives.partial) return;
  throw new SandboxFailure("status", "Sandbox: this item fails, as requested.", { httpStatus: 400 });
}

function usageOf(request: SandboxRequest, directives: Directives, outputTokens: number): SandboxUsage {
  if (directives.nousage === true) return null;
  const counted = countInputTokens([request.instructions, request.prompt], request.images.length);
  return { inputTokens: directives.input ?? counted, outputTokens };
}

async function dontWait(): Promise<void> {
  // For a video, the delay is between start and ready, not before the response to the start.
}

function isOperation(value: unknown): value is SandboxVideoOperation {
  if (typeof value !== "object" || value === null) return false;
  const { v, clip, readyAt } = value as Record<string, unknown>;
  return v === 1 && typeof readyAt === "number" && (clip === null || (typeof clip === "string" && isClip(clip)));
}
