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

/** Who sends a request: derived from the credential alone, never from anything else in the request. */
export interface Caller {
  readonly accountId: string;
  /** Null: the request used a session or a management token, not an API key. */
  readonly keyId: string | null;
  /** The person who acts in the account; absent: an API key. */
  readonly actor?: Actor;
  /** As the statement that admitted the API key read it; absent: no API key was used. */
  readonly account?: {
    readonly username: string | null;
    readonly displayName: string | null;
    readonly flags: number;
    readonly isPro: boolean;
  };
}

/** A person, signed in by a session or by one of their tokens. */
export interface Actor {
  readonly credential: "session" | "token";
  readonly personId: string;
  readonly isOperator: boolean;
  /** In the chosen account. */
  readonly role: Exclude<Role, "operator">;
  readonly tokenId: string | null;
  /** Null: all scopes, as a session has. */
  readonly scopes: readonly Scope[] | null;
}

/**
 * What a request shows of its caller: all Authorization headers in order, the peer address, and what a cookie needs.
 */
export interface AdmissionRequest {
  readonly authorization: readonly string[];
  readonly address: string;
  readonly method: string;
  /** Values of a request header, in order; `name` in lower case. */
  readonly headers: (name: string) => readonly string[];
  /** The account that the query names, if the endpoint accepts that; null: the query names none. */
  readonly requestedAccount: string | null;
}

/** How many requests are allowed per second, and what they are counted by. */
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
      /** The whole server's policy when absent. */
      readonly rate?: RatePolicy;
      /** Why an endpoint that needs a plan refuses the request; absent: the account has a plan. */
      readonly planProblem?: Problem | null;
    }
  | {
      readonly kind: "refused";
      readonly problem: Problem;
      readonly remaining: number | null;
      readonly rate?: RatePolicy;
      /** Whose credential it is, for the log; absent: nobody's, or not known. */
      readonly caller?: Pick<Caller, "accountId" | "keyId">;
      /** True: the request has no credential of this kind, so another kind may admit it. */
      readonly isAbsent?: boolean;
    };

/** Checks credential (401), rate (429), and plan (402) at once, from the headers alone: the body is still unread. */
export type Admit = (request: AdmissionRequest) => Promise<Admission>;

/** One for each kind of credential that endpoints accept. */
export type Authenticators = { readonly [Kind in Credential]?: Admit };

export interface RequestContext {
  readonly caller: Caller;
  /** The caller's address, found with PROMPTD_PROXIES. */
  readonly address: string;
  readonly requestId: string;
  /** When the request headers arrived, on the monotonic clock (`performance.now()`), milliseconds. */
  readonly arrivedAtMs: number;
  /** First value of a request header, or null; `name` in lower case. */
  header(name: string): string | null;
  /** Lists a part of the request that had no effect in the response header X-Ignored. */
  ignore(name: string): void;
  /** Names the request's run in the log, as soon as it exists: the caller may hang up before there is an answer. */
  nameRun(runId: string): void;
  /**
   * Releases the memory reserved for the body, for a handler that no longer needs the body while the request waits.
   * Otherwise the answer releases it.
   */
  releaseBody(): void;
  /**
   * Sets what to call when the caller hangs up before the answer is complete; called at once if that has happened. It
   * does not cancel a run. Only the last listener set is called: an AbortSignal cost half a kilobyte per waiting
   * request.
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

/** One handler per endpoint. Its input is decoded, checked by the schemas, and free of NUL and lone surrogates. */
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

/** Handlers of /v1; each slice provides some of them. */
export type Handlers = HandlersOf<EndpointShapes>;

/** Handlers of /manage/v1; each slice provides some of them, in its x-manage-routes.ts. */
export type ManageHandlers = HandlersOf<ManageShapes>;

/**
 * Checks a body against rules that no schema of the contract can express. Gets the parsed body, valid or not, and the
 * schema's issues, so that a caller learns of all problems at once and of none twice.
 */
export type CheckBody = (body: unknown, issues: readonly Issue[]) => readonly Issue[];

/** What the server's own endpoints see in addition to a slice's context. */
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
  /** A list: one handler for all of these methods. */
  readonly method: EndpointEntry["method"] | readonly EndpointEntry["method"][];
  /** The entry's name in the contract, for the audit log; null: the server's own endpoint. */
  readonly name: string | null;
  /** True: each request leaves a row in the audit log. */
  readonly isAudited: boolean;
  readonly bodyBytesMax: number;
  /**
   * A promise until the schemas of the API are loaded. Null: nothing is checked, and the body stays unread unless
   * `takesBytes` is true.
   */
  readonly schemas: (() => EndpointSchemas | Promise<EndpointSchemas>) | null;
  /** True: the handler gets the raw bytes of the body. */
  readonly takesBytes?: boolean;
  /** True: a request over the rate limit waits for its admission, because these callers do not retry after a 429. */
  readonly waitsForRate?: boolean;
  /** True: programs request it every few seconds, so its requests are logged at the level debug. */
  readonly isPolled?: boolean;
  /** The WWW-Authenticate header of its 401; `Bearer` when absent. */
  readonly challenge?: () => string;
  readonly checkBody: CheckBody | null;
  readonly handle: (
    input: EndpointInput,
    context: ServerContext,
  ) => Promise<Answer<unknown> | TextAnswer | StreamAnswer>;
}

export type EndpointInput = Omit<Shape, "data">;

/** Makes an endpoint outside the contract: open to everyone, without a body, and unchecked unless it says otherwise. */
export function ownEndpoint(own: Pick<Endpoint, "method" | "path" | "handle"> & Partial<Endpoint>): Endpoint {
  return { name: null, auth: "none", isAudited: false, bodyBytesMax: 0, schemas: null, checkBody: null, ...own };
}

/** The endpoints of one API: what the contract says about each, with its handler. */
export interface Api<Schemas extends Readonly<Record<string, EndpointSchemas>>> {
  readonly entries: Readonly<Record<keyof Schemas, EndpointEntry>>;
  /** Called by the first request, so that startup does not load what this process may never use. */
  readonly schemas: () => Promise<Schemas>;
  readonly handlers: HandlersOf<ShapesOf<Schemas>>;
  readonly checks?: Partial<Record<keyof Schemas, CheckBody>>;
  /** True: every write leaves a row in the audit log, unless its entry says otherwise; an entry may also add a read. */
  readonly isAudited?: boolean;
}

export function toEndpoints<Schemas extends Readonly<Record<string, EndpointSchemas>>>(api: Api<Schemas>): Endpoint[] {
  const schemasOf = schemaReader(api.schemas);
  return Object.keys(api.entries).map((name: keyof Schemas) => ({
    ...api.entries[name],
    name: String(name),
    isAudited: api.isAudited === true && (api.entries[name].isAudited ?? api.entries[name].method !== "GET"),
    bodyBytesMax: api.entries[name].bodyBytesMax ?? DEFAULT_BODY_BYTES_MAX,
    schemas: () => schemasOf(name),
    checkBody: api.checks?.[name] ?? null,
    // A handler is only called with input made by the schemas of the same name.
    handle: api.handlers[name] as Endpoint["handle"],
  }));
}

/** Returns no promise once the schemas are loaded: the path of a request waits only where it must. */
function schemaReader<Schemas extends object>(load: () => Promise<Schemas>) {
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

/** A body that is sent as it is produced: a file, or events. */
export interface StreamAnswer {
  readonly status: 200 | 206 | 304;
  readonly headers: Readonly<Record<string, string>>;
  /** Null for HEAD and 304. The server destroys it when the caller hangs up. */
  readonly body: Readable | null;
}

/** A request to an audited endpoint: who did what to which subject, from where, and how it ended. */
export interface AuditedWrite extends Pick<
  AuditEntry,
  "action" | "personId" | "subject" | "address" | "requestId" | "outcome"
> {
  /** Null: nobody was admitted; `personId` is then the person whom the request let in. */
  readonly caller: Caller | null;
}

/** Writes a row of the audit log. Never rejects. */
export type WriteAudit = (write: AuditedWrite) => Promise<void>;

/** Throws Problem NOT_FOUND_ERROR or GONE_ERROR. */
export type OpenFile = (request: FileRequest) => Promise<StreamAnswer>;

/** The path of an endpoint that answers requests that match no other endpoint and no API. */
export const FALLBACK_PATH = "/*";

export interface Readiness {
  readonly ready: boolean;
  readonly details: Readonly<Record<string, unknown>>;
}
