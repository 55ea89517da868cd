/**
 * Pictures and videos that a provider makes in a queue: ordered once, then polled at the addresses that the provider
 * named. The SDK polls pictures itself, and a failed poll there ends a call whose picture is under way and billed, so fal
 * and Replicate are called through their own interfaces.
 */
import type { Modality } from "@promptd/contract";
import type { LoadedImage } from "../../files/index.ts";
import { isPlainObject, parseJson, type JsonValue, type PlainObject } from "../../platform/json.ts";

/** A caller's image, prepared for a model. */
export interface ModelImage extends LoadedImage {
  /** True: a mask that says which parts of the others may change. */
  readonly isMask?: boolean;
}

/** What to make, in the catalogue's terms. */
export interface JobOrder {
  readonly providerModel: string;
  readonly modality: Modality;
  readonly prompt: string;
  readonly images: readonly ModelImage[];
  readonly size: string | undefined;
  readonly aspectRatio: string | undefined;
  /** Seconds. */
  readonly duration: number | undefined;
  readonly resolution: string | undefined;
  /** This provider's options, as in the catalogue. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string;
  /** How long the job is waited for. */
  readonly timeLimitMs: number;
}

/** A provider's address; see ProviderEndpoint. */
interface JobEndpoint {
  readonly baseUrl: string;
  readonly apiKey: string | null;
  /** Addresses that receive the key. */
  readonly origins: readonly string[];
}

export interface JobSource {
  readonly endpoint: JobEndpoint;
  readonly fetch: typeof globalThis.fetch;
  readonly signal: AbortSignal;
}

export type JobState =
  | { readonly kind: "pending" }
  /** The job is paid for. `read` requests the result if it is at another address. */
  | { readonly kind: "done"; readonly read: (source: JobSource) => Promise<JobFile> };

export type JobFile =
  | { readonly kind: "file"; readonly url: string; readonly mediaType: string | null }
  /** The result is withheld: a black picture instead, or none. */
  | { readonly kind: "declined" }
  | { readonly kind: "empty" }
  /** The result has an unknown format: polling until the run's deadline would not change that. */
  | { readonly kind: "unknown" };

export interface JobInterface {
  /** @returns the provider's name for the job, to be stored. */
  readonly start: (order: JobOrder, source: JobSource) => Promise<JsonValue>;
  readonly poll: (operation: unknown, source: JobSource) => Promise<JobState>;
}

/** The job itself failed: no further request changes that. */
export class JobFailure extends Error {
  override readonly name = "JobFailure";
  /** Machine-readable; null: only the message says why. */
  readonly code: string | null;
  constructor(words: string, code: string | null = null) {
    super(words);
    this.code = code;
  }
}

/** A provider's response that is not a result. */
export class AnswerFailure extends Error {
  override readonly name = "AnswerFailure";
  readonly httpStatus: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  constructor(
    { status, headers }: Pick<Response, "status"> & { readonly headers: Iterable<readonly [string, string]> },
    body: string,
  ) {
    super(`the provider answered ${status}`);
    this.httpStatus = status;
    this.headers = Object.fromEntries(headers);
    this.body = body;
  }
}

/** A response whose JSON has an unknown format. */
export class UnreadableAnswer extends Error {
  override readonly name = "UnreadableAnswer";
}

/** Sends an order. @throws AnswerFailure for any status but success. */
export async function sendOrder(
  url: string,
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: unknown },
  { fetch, signal }: JobSource,
): Promise<PlainObject> {
  const sent = { ...headers, "content-type": "application/json" };
  return objectOf(await fetch(url, { method: "POST", headers: sent, body: JSON.stringify(body), signal }));
}

/** Requests the state of a job. @throws AnswerFailure for any status but success. */
export async function askState(url: string, authorization: string, { fetch, signal }: JobSource): Promise<PlainObject> {
  const answer = await fetch(url, { headers: { authorization }, signal });
  if (answer.status !== 404) return objectOf(answer);
  await answer.body?.cancel();
  throw new JobFailure("the provider no longer knows the job");
}

async function objectOf(answer: Response): Promise<PlainObject> {
  const text = await answer.text();
  if (!answer.ok) throw new AnswerFailure(answer, text);
  return parseObject(text);
}

export function parseObject(text: string): PlainObject {
  const value = parseJson(text);
  if (!isPlainObject(value)) throw new UnreadableAnswer(); // truncated, or a page from something in between
  return value;
}

/** Returns an address of the provider's own, since the key is sent nowhere else. @throws UnreadableAnswer */
export function ownAddress(value: unknown, endpoint: Pick<JobEndpoint, "origins">): string {
  const url = parseOwn(value, endpoint);
  if (url === null) throw new UnreadableAnswer();
  return url.href;
}

/** @returns null if this is not one of the provider's own addresses. */
export function parseOwn(value: unknown, { origins }: Pick<JobEndpoint, "origins">): URL | null {
  const url = typeof value === "string" ? URL.parse(value) : null;
  return url !== null && origins.some((origin) => new URL(origin).origin === url.origin) ? url : null;
}

export function dataUri({ bytes, mediaType }: ModelImage): string {
  return `data:${mediaType};base64,${Buffer.from(bytes).toString("base64")}`;
}

export function splitMask(images: readonly ModelImage[]): {
  readonly pictures: readonly ModelImage[];
  readonly mask: ModelImage | undefined;
} {
  return {
    pictures: images.filter(({ isMask = false }) => !isMask),
    mask: images.find(({ isMask = false }) => isMask),
  };
}
