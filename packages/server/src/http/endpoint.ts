import type { EndpointName, EndpointShapes } from "@promptd/contract";
import type { Readable } from "node:stream";
import type { Problem } from "../platform/problem.ts";

/** Who sends a request: found from the API key, never from anything the caller wrote elsewhere. */
export interface Caller {
  readonly accountId: string;
  readonly keyId: string;
}

/** What admission is decided from: every Authorization header in order, and the peer address. */
export interface AdmissionRequest {
  readonly authorization: readonly string[];
  readonly address: string;
}

/** `remaining`: requests left in this second; null when the request was not counted (401). */
export type Admission =
  | { readonly kind: "admitted"; readonly caller: Caller; readonly remaining: number }
  | { readonly kind: "refused"; readonly problem: Problem; readonly remaining: number | null };

/** Key, rate and plan in one step, decided from the headers alone, before a byte of the body is read. */
export type Admit = (request: AdmissionRequest) => Promise<Admission>;

export interface RequestContext {
  readonly caller: Caller;
  readonly requestId: string;
  /** When the request headers arrived, on the monotonic clock (`performance.now()`), milliseconds. */
  readonly arrivedAtMs: number;
  /** First value of a request header, or null; `name` in lower case. */
  header(name: string): string | null;
  /** How often a header was sent: Node keeps the first of two silently. */
  headerCount(name: string): number;
  /** Names a part of the request that had no effect; it is listed in the response header X-Ignored. */
  ignore(name: string): void;
  /**
   * Gives the memory for bodies back: the body is worked up and not kept while the request waits. Without this that
   * comes with the answer.
   */
  releaseBody(): void;
  /**
   * Names what to call when the caller hangs up before the answer is complete, at once if that has happened. Not a
   * cancel of a run. One listener, the last one named: an AbortSignal took half a kilobyte of every waiting request.
   */
  onGone(listener: () => void): void;
}

export interface Answer<Data> {
  /** 200 when absent; 202 only after `Prefer: respond-async`, 304 only after `If-None-Match`. */
  readonly status?: 200 | 202 | 304;
  /** Content of the envelope; not sent with 304. */
  readonly data: Data;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Input already has the types of EndpointShapes: decoded, checked by the contract schemas, free of NUL and lone surrogates. */
export interface EndpointInput<N extends EndpointName> {
  readonly params: EndpointShapes[N]["params"];
  readonly query: EndpointShapes[N]["query"];
  readonly body: EndpointShapes[N]["body"];
}

export type Endpoint<N extends EndpointName> = (
  input: EndpointInput<N>,
  context: RequestContext,
) => Promise<Answer<EndpointShapes[N]["data"]>>;

/** One implementation for every entry of ENDPOINTS; each slice gives a part of it. */
export type Endpoints = { readonly [N in EndpointName]: Endpoint<N> };

export interface FileRequest {
  readonly method: "GET" | "HEAD";
  /** Last path segment, percent-decoded, at most 255 characters. */
  readonly name: string;
  readonly query: URLSearchParams;
  /** Values of the headers of these names. */
  readonly range: string | null;
  readonly ifRange: string | null;
  readonly ifNoneMatch: string | null;
}

export interface FileAnswer {
  readonly status: 200 | 206 | 304;
  readonly headers: Readonly<Record<string, string>>;
  /** Null for HEAD and 304. The server destroys it when the caller hangs up. */
  readonly body: Readable | null;
}

/** Throws Problem NOT_FOUND_ERROR or GONE_ERROR. */
export type OpenFile = (request: FileRequest) => Promise<FileAnswer>;

export interface Readiness {
  readonly ready: boolean;
  readonly details: Readonly<Record<string, unknown>>;
}
