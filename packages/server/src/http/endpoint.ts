import {
  DEFAULT_BODY_BYTES_MAX,
  type Credential,
  type EndpointEntry,
  type EndpointShapes,
  type EventStream,
  type Issue,
  type ShapesOf,
} from "@promptd/contract";
import type { EndpointSchemas } from "@promptd/contract/schemas";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import type { Problem } from "../platform/problem.ts";

/** Who sends a request: found from the credential, never from anything the caller wrote elsewhere. */
export interface Caller {
  readonly accountId: string;
  readonly keyId: string;
}

/** What a request shows of its caller: every Authorization header in order, and the peer address. */
export interface AdmissionRequest {
  readonly authorization: readonly string[];
  readonly address: string;
}

/** `remaining`: requests left in this second; null when the request was not counted (401). */
export type Admission =
  | { readonly kind: "admitted"; readonly caller: Caller; readonly remaining: number }
  | { readonly kind: "refused"; readonly problem: Problem; readonly remaining: number | null };

/** Credential (401), rate (429) and plan (402) at once, from the headers alone: no byte of the body is read yet. */
export type Admit = (request: AdmissionRequest) => Promise<Admission>;

/** One for each kind of credential that an endpoint asks for. */
export type Authenticators = { readonly [Kind in Credential]?: Admit };

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
   * Gives back the memory reserved for the body: for a handler that no longer needs the body while the request waits.
   * Otherwise that happens with the answer.
   */
  releaseBody(): void;
  /**
   * Sets what to call when the caller hangs up before the answer is complete, at once if that has happened. Not a
   * cancel of a run. One listener, the last one set: an AbortSignal took half a kilobyte of every waiting request.
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

interface Shape {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly data: unknown;
}

/** One handler for every endpoint. Its input is decoded, checked by the schemas, free of NUL and lone surrogates. */
type HandlersOf<Shapes extends Readonly<Record<keyof Shapes, Shape>>> = {
  readonly [N in keyof Shapes]: (
    input: Pick<Shapes[N], "params" | "query" | "body">,
    context: RequestContext,
  ) => Promise<Shapes[N]["data"] extends EventStream ? StreamAnswer : Answer<Shapes[N]["data"]>>;
};

/** Those of /v1; each slice gives some of them. */
export type Handlers = HandlersOf<EndpointShapes>;

/**
 * Rules for a body that no schema of the contract can hold. Takes the parsed body whatever is wrong with it, and what
 * the schema objects to, so that a caller learns of all problems at once and of none twice.
 */
export type CheckBody = (body: unknown, issues: readonly Issue[]) => readonly Issue[];

/** What the server's own endpoints see beyond what a slice does. */
export interface ServerContext extends RequestContext {
  readonly request: IncomingMessage;
  /** Resolves when the earlier answers on this connection are sent; never if the connection ends first. */
  afterEarlierAnswers(): Promise<void>;
}

/** A whole response body that is not the success envelope. */
export interface TextAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An endpoint as the server serves it: its entry in the contract, with schemas and handler. */
export interface Endpoint extends Pick<EndpointEntry, "method" | "path" | "auth" | "headers"> {
  readonly bodyBytesMax: number;
  /** Null: nothing is checked, and a body stays unread. */
  readonly schemas: EndpointSchemas | null;
  readonly checkBody: CheckBody | null;
  readonly handle: (
    input: EndpointInput,
    context: ServerContext,
  ) => Promise<Answer<unknown> | TextAnswer | StreamAnswer>;
}

export type EndpointInput = Omit<Shape, "data">;

/** The endpoints of one API: what the contract says of each, with its handler. */
export interface Api<Schemas extends Readonly<Record<string, EndpointSchemas>>> {
  readonly entries: Readonly<Record<keyof Schemas, EndpointEntry>>;
  readonly schemas: Schemas;
  readonly handlers: HandlersOf<ShapesOf<Schemas>>;
  readonly checks?: Partial<Record<keyof Schemas, CheckBody>>;
}

export function toEndpoints<Schemas extends Readonly<Record<string, EndpointSchemas>>>(api: Api<Schemas>): Endpoint[] {
  return Object.keys(api.schemas).map((name: keyof Schemas) => ({
    ...api.entries[name],
    bodyBytesMax: api.entries[name].bodyBytesMax ?? DEFAULT_BODY_BYTES_MAX,
    schemas: api.schemas[name] ?? null,
    checkBody: api.checks?.[name] ?? null,
    // A handler is only ever called with the input that the schemas of the same name made.
    handle: api.handlers[name] as Endpoint["handle"],
  }));
}

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

/** A body that is sent as it comes: a file, or events. */
export interface StreamAnswer {
  readonly status: 200 | 206 | 304;
  readonly headers: Readonly<Record<string, string>>;
  /** Null for HEAD and 304. The server destroys it when the caller hangs up. */
  readonly body: Readable | null;
}

/** Throws Problem NOT_FOUND_ERROR or GONE_ERROR. */
export type OpenFile = (request: FileRequest) => Promise<StreamAnswer>;

export interface Readiness {
  readonly ready: boolean;
  readonly details: Readonly<Record<string, unknown>>;
}
