import type { Clock } from "../../platform/clock.ts";
import { orAborted, sleep } from "../../platform/resilience/deadline.ts";
import { directiveFault, readDirectives, type Directives } from "./directives.ts";
import { drawSandboxImage, parseImageSize } from "./image.ts";
import { SandboxFailure } from "./sandbox-failure.ts";
import { countInputTokens, writeSandboxText } from "./text.ts";
import { chooseClip, isClip, loadClip } from "./video.ts";

/**
 * The provider that needs no key: same boundary, errors and metering as a real one, without network.
 * What comes out is a function of prompt, options and image bytes alone; directive lines in the prompt
 * (`sandbox: delay=500 flaky=1`) make it fail or answer oddly on purpose.
 */
export interface SandboxRequest {
  /** Public id of the model, shown in texts. */
  readonly model: string;
  readonly instructions: string;
  readonly prompt: string;
  readonly images: readonly { readonly bytes: Uint8Array; readonly mediaType: string }[];
  /** 0-based number among the items of its step. */
  readonly itemIndex: number;
  /** From 1, counted across crashes: what `flaky` depends on. */
  readonly callNumber: number;
  /** The prompt as its author wrote it: directives are obeyed where they stand in it; null: wherever they stand. */
  readonly authorsText: string | null;
  /** Said before the prompt. */
  readonly messages?: readonly { readonly role: string; readonly text: string }[] | undefined;
  /** JSON Schema for the returned text. */
  readonly outputSchema?: { readonly [key: string]: unknown } | undefined;
  /** Set: the text says that it would search the web. */
  readonly webSearch?: object | undefined;
}

export interface SandboxTextRequest extends SandboxRequest {
  /** As the SDK names it (`low`, `medium`, …); null when the model was asked for none. */
  readonly reasoning: string | null;
  readonly maxOutputTokens: number;
}

/** Tokens; null when the directive `nousage` asks for none. */
type SandboxUsage = { readonly inputTokens: number; readonly outputTokens: number } | null;

/** What a started video is stored as; plain JSON. `clip` is null with the directive `empty`. */
interface SandboxVideoOperation {
  readonly v: 1;
  readonly clip: string | null;
  /** Milliseconds since 1970. */
  readonly readyAt: number;
}

/** Time as the sandbox sees it, passed in so that tests need not wait. */
export interface SandboxTimer extends Clock {
  /** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as it is aborted. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

export function createSandboxTimer(clock: Clock): SandboxTimer {
  return { nowMs: clock.nowMs, wait: sleep };
}

/** Time from start to ready when no `delay` says otherwise: long enough that one poll finds it pending. */
const VIDEO_READY_MS = 500;

/**
 * @returns `searches`: of the web, none of which is made; null: it was not to search, or does not say.
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
 * Starts a video. Clips exist for 2 and 4 seconds; `durationSeconds` null: 2. `delay` is the time until it is ready, so starting itself never waits except to `hang`.
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
 * @param operation what startSandboxVideo gave, after its way through the database.
 * @throws SandboxFailure 404 when it is none.
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

/** Everything that can happen before a provider begins to generate, in the documented order. */
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

/** Pictures and videos have no finish reason: providers refuse them with a 400 that names the policy. */
function failRefused(directives: Directives): void {
  if (directives.refuse !== true) return;
  throw new SandboxFailure("status", "Sandbox: declined as requested.", {
    httpStatus: 400,
    code: "content_policy_violation",
  });
}

/** A 400, so that no other attempt is made for the failing items. */
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
  // A video waits between start and ready, not before its start is answered.
}

function isOperation(value: unknown): value is SandboxVideoOperation {
  if (typeof value !== "object" || value === null) return false;
  const { v, clip, readyAt } = value as Record<string, unknown>;
  return v === 1 && typeof readyAt === "number" && (clip === null || (typeof clip === "string" && isClip(clip)));
}
