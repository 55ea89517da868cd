import {
  DEFAULT_BODY_BYTES_MAX,
  type Credential,
  type EndpointEntry,
  type EndpointShapes,
  type EventStream,
  type Issue,
  type ResultLines,
  type Role,
  type Scope,
  type ShapesOf,
} from "@promptd/contract";
import type { Archive, AuditEntry, ManageShapes, Report } from "@promptd/contract/manage";
import type { EndpointSchemas } from "@promptd/contract/schemas";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import type { Problem } from "../platform/problem.ts";

/** Who sends a request: found from the credential, never from anything the caller wrote elsewhere. */
export interface Caller {
  readonly accountId: string;
  /** Null: no API key was used, but a session or a management token. */
  readonly keyId: string | null;
  /** Who acts in the account; absent: an API key. */
  readonly actor?: Actor;
  /** As the statement that admitted the API key read it; absent: no API key was used. */
  readonly account?: {
    readonly username: string | null;
    readonly displayName: string | null;
    readonly flags: number;
    readonly isPro: boolean;
  };
}

/** A person, by a session or by a token of theirs. */
export interface Actor {
  readonly credential: "session" | "token";
  readonly personId: string;
  readonly isOperator: boolean;
  /** In the chosen account. */
  readonly role: Exclude<Role, "operator">;
  readonly tokenId: string | null;
  /** Null: all of them, as a session has. */
  readonly scopes: readonly Scope[] | null;
}

/** What a request shows of its caller: every Authorization header in order, the peer address, and what goes with a cookie. */
export interface AdmissionRequest {
  readonly authorization: readonly string[];
  readonly address: string;
  readonly method: string;
  /** Values of a request header, in order; `name` in lower case. */
  readonly headers: (name: string) => readonly string[];
  /** The account that the query chooses, where the endpoint takes that; null: the query chooses none. */
  readonly accountAsked: string | null;
}

/** What a caller may do in one second, and as what it is counted. */
export interface RatePolicy {
  readonly scope: "account" | "key" | "person" | "token";
  readonly perSecond: number;
}

/** `remaining`: requests left in this second; null when the request was not counted (401). */
export type Admission =
  | {
      readonly kind: "admitted";
      readonly caller: Caller;
      readonly remaining: number;
      /** Of the server as a whole when absent. */
      readonly rate?: RatePolicy;
      /** Why an endpoint that needs a plan refuses; absent: there is a plan. */
      readonly planProblem?: Problem | null;
    }
  | {
      readonly kind: "refused";
      readonly problem: Problem;
      readonly remaining: number | null;
      readonly rate?: RatePolicy;
      /** True: the request shows no credential of this kind, so another kind may be what it is admitted by. */
      readonly isAbsent?: boolean;
    };

/** Credential (401), rate (429) and plan (402) at once, from the headers alone: no byte of the body is read yet. */
export type Admit = (request: AdmissionRequest) => Promise<Admission>;

/** One for each kind of credential that an endpoint asks for. */
export type Authenticators = { readonly [Kind in Credential]?: Admit };

export interface RequestContext {
  readonly caller: Caller;
  /** Of who asks, as far as PROMPTD_PROXIES tells. */
  readonly address: string;
  readonly requestId: string;
  /** When the request headers arrived, on the monotonic clock (`performance.now()`), milliseconds. */
  readonly arrivedAtMs: number;
  /** First value of a request header, or null; `name` in lower case. */
  header(name: string): string | null;
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
  /**
   * 200 when absent; 201 where the contract lists it, 202 only after `Prefer: respond-async`, 304 only after
   * `If-None-Match`.
   */
  readonly status?: 200 | 201 | 202 | 304;
  /** Content of the envelope; not sent with 304. */
  readonly data: Data;
  readonly headers?: Readonly<Record<string, string | string[]>>;
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
  ) => Promise<
    Shapes[N]["data"] extends EventStream | ResultLines<unknown> | Archive
      ? StreamAnswer
      : Answer<Shapes[N]["data"]> | (Shapes[N]["data"] extends Report<unknown> ? TextAnswer : never)
  >;
};

/** Those of /v1; each slice gives some of them. */
export type Handlers = HandlersOf<EndpointShapes>;

/** Those of /manage/v1; each slice gives some of them, in its x-manage-routes.ts. */
export type ManageHandlers = HandlersOf<ManageShapes>;

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
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

/** An endpoint as the server serves it: its entry in the contract, with schemas and handler. */
export interface Endpoint extends Pick<
  EndpointEntry,
  "path" | "auth" | "headers" | "role" | "scope" | "needsPlan" | "subject" | "bodyMembersMax"
> {
  /** Several: one handler for all of them. */
  readonly method: EndpointEntry["method"] | readonly EndpointEntry["method"][];
  /** Of the entry in the contract, for the audit log; null: the server's own. */
  readonly name: string | null;
  /** True: each request leaves a row in the audit log. */
  readonly isAudited: boolean;
  readonly bodyBytesMax: number;
  /**
   * A promise until those of its API are loaded. Null: nothing is checked, and a body stays unread unless the handler takes
   * its bytes.
   */
  readonly schemas: (() => EndpointSchemas | Promise<EndpointSchemas>) | null;
  /** True: the handler gets the bytes of the body as they came. */
  readonly takesBytes?: boolean;
  /** True: a request over the rate limit waits for its admission, since its callers do not come back after a 429. */
  readonly waitsForRate?: boolean;
  /** What its 401 says of how to get in (WWW-Authenticate); `Bearer` when absent. */
  readonly challenge?: () => string;
  readonly checkBody: CheckBody | null;
  readonly handle: (
    input: EndpointInput,
    context: ServerContext,
  ) => Promise<Answer<unknown> | TextAnswer | StreamAnswer>;
}

export type EndpointInput = Omit<Shape, "data">;

/** One that is in no contract: for everybody, without a body and unchecked, unless it says otherwise. */
export function ownEndpoint(own: Pick<Endpoint, "method" | "path" | "handle"> & Partial<Endpoint>): Endpoint {
  return { name: null, auth: "none", isAudited: false, bodyBytesMax: 0, schemas: null, checkBody: null, ...own };
}

/** The endpoints of one API: what the contract says of each, with its handler. */
export interface Api<Schemas extends Readonly<Record<string, EndpointSchemas>>> {
  readonly entries: Readonly<Record<keyof Schemas, EndpointEntry>>;
  /** Called by the first request, so that a start need not load what no caller of this process may ever use. */
  readonly schemas: () => Promise<Schemas>;
  readonly handlers: HandlersOf<ShapesOf<Schemas>>;
  readonly checks?: Partial<Record<keyof Schemas, CheckBody>>;
  /** True: every write leaves a row in the audit log, and what else its entry says. */
  readonly isAudited?: boolean;
}

export function toEndpoints<Schemas extends Readonly<Record<string, EndpointSchemas>>>(api: Api<Schemas>): Endpoint[] {
  const schemasOf = loadOnce(api.schemas);
  return Object.keys(api.entries).map((name: keyof Schemas) => ({
    ...api.entries[name],
    name: String(name),
    isAudited: api.isAudited === true && (api.entries[name].isAudited ?? api.entries[name].method !== "GET"),
    bodyBytesMax: api.entries[name].bodyBytesMax ?? DEFAULT_BODY_BYTES_MAX,
    schemas: () => schemasOf(name),
    checkBody: api.checks?.[name] ?? null,
    // A handler is only ever called with the input that the schemas of the same name made.
    handle: api.handlers[name] as Endpoint["handle"],
  }));
}

function loadOnce<Schemas extends object>(load: () => Promise<Schemas>) {
  let loaded: Schemas | null = null;
  return <Name extends keyof Schemas>(name: Name): Schemas[Name] | Promise<Schemas[Name]> =>
    loaded === null ? load().then((schemas) => (loaded = schemas)[name]) : loaded[name];
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

/** A request to an audited endpoint: who, what, on what, from where, and how it ended. */
export interface AuditedWrite extends Pick<
  AuditEntry,
  "action" | "personId" | "subject" | "address" | "requestId" | "outcome"
> {
  /** Null: nobody was admitted; `personId` is then who came in by the request. */
  readonly caller: Caller | null;
}

/** Writes a row of the audit log. Never rejects. */
export type WriteAudit = (write: AuditedWrite) => Promise<void>;

/** Throws Problem NOT_FOUND_ERROR or GONE_ERROR. */
export type OpenFile = (request: FileRequest) => Promise<StreamAnswer>;

/** The path of an endpoint that answers what no other endpoint and no API has. */
export const FALLBACK_PATH = "/*";

export interface Readiness {
  readonly ready: boolean;
  readonly details: Readonly<Record<string, unknown>>;
}
