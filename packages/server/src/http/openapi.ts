import {
  ERRORS,
  SHARED_ERRORS,
  type EndpointEntry,
  type ErrorCode,
  type EventStream,
  type ResultLines,
} from "@promptd/contract";
import type { EndpointSchemas } from "@promptd/contract/schemas";
import { z } from "zod";
import { RESPONSE_HEADERS } from "./response/response-headers.ts";
import { presentMembers, type PlainObject } from "../platform/json.ts";

interface Example {
  readonly parameters?: ParameterExamples;
  readonly bodies?: Readonly<Record<string, unknown>>;
  readonly data: unknown;
}

/** One API as its document describes it. */
export interface DescribedApi {
  readonly info: PlainObject;
  readonly entries: Readonly<Record<string, EndpointEntry>>;
  readonly schemas: Readonly<Record<string, EndpointSchemas>>;
  readonly examples: Readonly<Record<string, Example>>;
  readonly errorSchemas: Readonly<Record<ErrorCode, z.ZodType>>;
  readonly errorExamples: Readonly<
    Record<ErrorCode, Readonly<Record<string, { readonly message: string; readonly data: unknown }>>>
  >;
  /** By name, one per kind of credential. */
  readonly securitySchemes: Readonly<Record<string, PlainObject>>;
  /** Request headers of every endpoint. */
  readonly headers: readonly { readonly name: string; readonly description: string }[];
  /** Paths that are not in the contract. */
  readonly otherPaths: () => Record<string, PlainObject>;
}

/** Headers of every response to a request that was admitted or counted. */
const COMMON_HEADERS = ["X-Request-Id", "RateLimit", "RateLimit-Policy", "X-Ignored", "action-require"];

type ParameterExamples = Readonly<Record<string, string | number>>;

/**
 * Returns the OpenAPI 3.1 document of an API, generated from the contract that the endpoints are mounted from.
 * @param publicUrl the URL under which callers reach the server.
 */
export function openApiText(publicUrl: string, api: DescribedApi): string {
  const paths: Record<string, Record<string, PlainObject>> = {};
  for (const [name, { method, path }] of Object.entries(api.entries)) {
    const template = path.replace(/:(\w+)/g, "{$1}");
    paths[template] = { ...paths[template], [method.toLowerCase()]: operation(name, api) };
  }
  const otherPaths = api.otherPaths();
  return JSON.stringify({
    openapi: "3.1.0",
    info: { version: "1.0.0", license: { name: "Apache-2.0", identifier: "Apache-2.0" }, ...api.info },
    servers: [{ url: publicUrl }],
    security: Object.keys(api.securitySchemes).map((scheme) => ({ [scheme]: [] })),
    paths: { ...paths, ...otherPaths },
    components: {
      securitySchemes: api.securitySchemes,
      responses: errorResponses(api),
      headers: sharedHeaders(api, JSON.stringify(otherPaths)),
    },
  });
}

function operation(name: string, api: DescribedApi): PlainObject {
  const { [name]: entry } = api.entries;
  const { [name]: schemas } = api.schemas;
  const { [name]: example } = api.examples;
  if (entry === undefined || schemas === undefined || example === undefined)
    throw new Error(`${name} is not described.`);
  const { params, query, body, data } = schemas;
  const { parameters: examples = {}, bodies = {}, data: answer } = example;
  const success = {
    description: "Success",
    headers: headersOf([...COMMON_HEADERS, ...(entry.responseHeaders ?? [])]),
    content: successContent(entry, data, answer),
  };
  const otherSuccesses = Object.entries(entry.otherStatuses ?? {}).map(([status, description]) => [
    status,
    status === "304" ? { description, headers: success.headers } : { ...success, description },
  ]);
  return {
    operationId: name,
    summary: entry.summary,
    ...(entry.isExtension === true ? { "x-extension": true } : {}),
    ...rightsOf(entry, api),
    parameters: [
      ...parametersOf(params, "path", examples),
      ...parametersOf(query, "query", examples),
      ...api.headers.map((one) => headerParameter(one.name, one.description, {})),
      ...(entry.headers ?? []).map((one) => headerParameter(one.name, one.description, examples)),
    ],
    ...(body === null ? {} : { requestBody: { required: true, content: jsonContent(input(body), bodies) } }),
    responses: {
      "200": success,
      ...Object.fromEntries(otherSuccesses),
      ...errorReferences([...SHARED_ERRORS, ...entry.errors]),
    },
    ...(entry.method === "GET" ? { "x-head": "HEAD returns the same headers without a body." } : {}),
  };
}

function successContent(entry: EndpointEntry, data: z.ZodType, answer: unknown): PlainObject {
  if (entry.file !== undefined) return { [entry.file]: { schema: { type: "string", format: "binary" } } };
  if (entry.isStream === true) return eventContent(data, answer as EventStream);
  if (entry.isLines === true) return lineContent(data, answer as ResultLines<unknown>);
  const json = jsonContent(envelope(data), { success: { status: "SUCCESS", data: answer } });
  return entry.isAlsoCsv === true ? { ...json, ...CSV } : json;
}

/** Which credentials the endpoint accepts, if not all of them, and the role and scope that it requires. */
function rightsOf({ auth, role, scope }: EndpointEntry, { securitySchemes }: DescribedApi): PlainObject {
  const kinds = auth === "none" ? [] : [auth].flat();
  const isUsual = kinds.length === Object.keys(securitySchemes).length;
  return {
    ...(isUsual ? {} : { security: kinds.map((kind) => ({ [kind]: [] })) }),
    ...presentMembers({ "x-role": role, "x-scope": scope }),
  };
}

export function headerParameter(name: string, description: string, examples: ParameterExamples): PlainObject {
  return { name, in: "header", required: false, description, schema: { type: "string" }, ...exampleOf(name, examples) };
}

function exampleOf(name: string, examples: ParameterExamples): PlainObject {
  return examples[name] === undefined ? {} : { example: examples[name] };
}

export function jsonContent(schema: PlainObject, examples: Readonly<Record<string, unknown>>): PlainObject {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }]);
  return { "application/json": { schema, examples: Object.fromEntries(named) } };
}

/** OpenAPI 3.1 cannot describe events: the schema describes the list of all events, the example shows what is sent. */
function eventContent(schema: z.ZodType, { events }: EventStream): PlainObject {
  const lines = events.map(({ event, data, ...rest }) => {
    const id = "id" in rest ? `id: ${rest.id}\n` : "";
    return `event: ${event}\n${id}data: ${JSON.stringify(data)}\n\n`;
  });
  const { properties } = z.toJSONSchema(schema) as { properties?: Record<string, PlainObject> };
  return {
    "text/event-stream": {
      schema: { type: "string", "x-events": properties?.["events"] ?? {} },
      examples: { events: { value: lines.join("") } },
    },
  };
}

/** As with events, the schema describes the list of all lines, and the example shows what is sent. */
function lineContent(schema: z.ZodType, { lines }: ResultLines<unknown>): PlainObject {
  const { properties } = z.toJSONSchema(schema) as { properties?: Record<string, PlainObject> };
  return {
    "application/x-ndjson": {
      schema: { type: "string", "x-lines": properties?.["lines"] ?? {} },
      examples: { lines: { value: lines.map((line) => `${JSON.stringify(line)}\n`).join("") } },
    },
    ...CSV,
  };
}

const CSV: PlainObject = { "text/csv": { schema: { type: "string" } } };

function parametersOf(schema: z.ZodObject, location: "path" | "query", examples: ParameterExamples): PlainObject[] {
  const { properties = {}, required = [] } = input(schema) as {
    properties?: Record<string, PlainObject>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, field]) => ({
    name,
    in: location,
    required: location === "path" || required.includes(name),
    schema: field,
    ...exampleOf(name, examples),
  }));
}

function input(schema: z.ZodType): PlainObject {
  return withoutDialect(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
}

function envelope(data: z.ZodType): PlainObject {
  return {
    type: "object",
    properties: {
      status: { const: "SUCCESS" },
      data: withoutDialect(z.toJSONSchema(data, { unrepresentable: "any" })),
    },
    required: ["status", "data"],
    additionalProperties: false,
  };
}

/** An OpenAPI 3.1 document names the dialect once. */
function withoutDialect(schema: object): PlainObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "$schema" && key !== "~standard"));
}

export function errorReferences(codes: readonly ErrorCode[]): PlainObject {
  return Object.fromEntries(
    codes.map((code) => [String(ERRORS[code].httpStatus), { $ref: `#/components/responses/${code}` }]),
  );
}

/** Response headers by error code. After authentication, a part of the request may have had no effect (X-Ignored). */
const HEADERS_OF_ERRORS: Readonly<Record<ErrorCode, readonly string[]>> = {
  BAD_REQUEST_ERROR: COMMON_HEADERS,
  UNAUTHORIZED_ERROR: ["X-Request-Id", "WWW-Authenticate"],
  PAYMENT_REQUIRED_ERROR: COMMON_HEADERS,
  NOT_FOUND_ERROR: [...COMMON_HEADERS, "Allow"],
  GONE_ERROR: COMMON_HEADERS,
  VALIDATION_ERROR: COMMON_HEADERS,
  TOO_MANY_REQUESTS_ERROR: [...COMMON_HEADERS, "Retry-After", "retry-after-ms"],
  SERVER_ERROR: COMMON_HEADERS,
  GATEWAY_TIMEOUT_ERROR: [...COMMON_HEADERS, "Location", "Retry-After", "Preference-Applied", "Idempotent-Replayed"],
};

function errorResponses({ errorSchemas, errorExamples }: DescribedApi): PlainObject {
  return Object.fromEntries(
    (Object.keys(ERRORS) as ErrorCode[]).map((code) => {
      const schema = withoutDialect(z.toJSONSchema(errorSchemas[code]));
      const examples = Object.entries(errorExamples[code]).map(([name, one]) => [name, { status: code, ...one }]);
      return [
        code,
        {
          description: ERRORS[code].meaning,
          headers: headersOf(["x-should-retry", ...HEADERS_OF_ERRORS[code]]),
          content: jsonContent(schema, Object.fromEntries(examples)),
        },
      ];
    }),
  );
}

/** The headers that some response refers to. `otherPaths`: as JSON text. */
function sharedHeaders({ entries }: DescribedApi, otherPaths: string): PlainObject {
  const used = new Set([
    "x-should-retry",
    ...Object.values(HEADERS_OF_ERRORS).flat(),
    ...(otherPaths.includes("#/components/headers/ETag") ? ["ETag"] : []),
    ...Object.values(entries).flatMap((entry) => entry.responseHeaders ?? []),
  ]);
  return Object.fromEntries(
    Object.entries(RESPONSE_HEADERS)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => [name, { description, schema: { type: "string" } }]),
  );
}

export function headersOf(names: readonly string[]): PlainObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
