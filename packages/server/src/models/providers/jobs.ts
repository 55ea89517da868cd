/**
 * Pictures and videos that a provider makes in a queue: asked for once, then polled by the addresses that it named. The
 * SDK polls pictures itself, and a poll that fails there ends a call whose picture is under way and billed; so those of
 * fal and Replicate go through their own interfaces.
 */
import type { Modality } from "@promptd/contract";
import type { LoadedImage } from "../../files/index.ts";
import { isPlainObject, parseJson, type JsonValue, type PlainObject } from "../../platform/json.ts";

/** An image of a caller, as a model takes it. */
export interface ModelImage extends LoadedImage {
  /** It says what of the others may change. */
  readonly isMask?: boolean;
}

/** What is to be made, in the words of the catalogue. */
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
  /** Of this provider, as the catalogue has them. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string;
  /** Nobody waits for the job any longer than this. */
  readonly timeLimitMs: number;
}

/** Where a provider is reached; see ProviderEndpoint. */
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
  /** It is paid for. `read` asks for what was made, where another address has that. */
  | { readonly kind: "done"; readonly read: (source: JobSource) => Promise<JobFile> };

export type JobFile =
  | { readonly kind: "file"; readonly url: string; readonly mediaType: string | null }
  /** What was made is withheld: a black picture in its place, or none. */
  | { readonly kind: "declined" }
  | { readonly kind: "empty" }
  /** It is there, in a form that nobody knows: asking until the run's deadline would not change that. */
  | { readonly kind: "unknown" };

export interface JobInterface {
  /** @returns how the provider names the job, to be stored. */
  readonly start: (order: JobOrder, source: JobSource) => Promise<JsonValue>;
  readonly poll: (operation: unknown, source: JobSource) => Promise<JobState>;
}

/** The job itself failed: it is over, whatever is asked of the provider. */
export class JobFailure extends Error {
  override readonly name = "JobFailure";
  /** Machine-readable; null: only `words` say why. */
  readonly code: string | null;
  constructor(words: string, code: string | null = null) {
    super(words);
    this.code = code;
  }
}

/** An answer of a provider that is not a result. */
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

/** An answer with JSON that nobody understands. */
export class UnreadableAnswer extends Error {
  override readonly name = "UnreadableAnswer";
}

/** Sends an order. @throws AnswerFailure for everything but a success. */
export async function sendOrder(
  url: string,
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: unknown },
  { fetch, signal }: JobSource,
): Promise<PlainObject> {
  const sent = { ...headers, "content-type": "application/json" };
  return objectOf(await fetch(url, { method: "POST", headers: sent, body: JSON.stringify(body), signal }));
}

/** Asks for the state of a job. @throws AnswerFailure for everything but a success. */
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
  if (!isPlainObject(value)) throw new UnreadableAnswer(); // cut short, or a page of something between
  return value;
}

/** An address of the provider's own: nowhere else is the key sent. @throws UnreadableAnswer */
export function ownAddress(value: unknown, endpoint: Pick<JobEndpoint, "origins">): string {
  const url = parseOwn(value, endpoint);
  if (url === null) throw new UnreadableAnswer();
  return url.href;
}

/** @returns null for what is no address of the provider's own. */
export function parseOwn(value: unknown, { origins }: Pick<JobEndpoint, "origins">): URL | null {
  const url = typeof value === "string" ? URL.parse(value) : null;
  return url !== null && origins.some((origin) => new URL(origin).origin === url.origin) ? url : null;
}

export function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (Reflect.get(value, name) as unknown) : undefined;
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
