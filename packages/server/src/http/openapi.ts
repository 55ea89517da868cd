import {
  ENDPOINTS,
  ERRORS,
  SHARED_ERRORS,
  type EndpointEntry,
  type EndpointName,
  type ErrorCode,
} from "@promptd/contract";
import { endpointSchemas, ERROR_SCHEMAS } from "@promptd/contract/schemas";
import { z } from "zod";
import { RESPONSE_HEADERS } from "./response/response-headers.ts";

type Json = Readonly<Record<string, unknown>>;

const COMMON_HEADERS = ["X-Request-Id", "RateLimit", "RateLimit-Policy", "X-Ignored", "action-require"];
function header(name: string, description: string): Json {
  return { name, in: "header", required: false, description, schema: { type: "string" } };
}

/** The OpenAPI 3.1 document of the interface, made from the contract: what is mounted is what is described. */
export function openApiText(): string {
  const paths: Record<string, Record<string, Json>> = {};
  for (const name of Object.keys(ENDPOINTS) as EndpointName[]) {
    const { method, path } = ENDPOINTS[name];
    const template = path.replace(/:(\w+)/g, "{$1}");
    paths[template] = { ...paths[template], [method.toLowerCase()]: operation(name) };
  }
  return JSON.stringify({
    openapi: "3.1.0",
    info: {
      title: "promptd",
      version: "1.0.0",
      description: "Runs published prompt versions and returns what they generate.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ apiKey: [] }],
    paths: { ...paths, ...openPaths() },
    components: {
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "Authorization: Bearer <API_KEY>" },
      },
      responses: errorResponses(),
      headers: sharedHeaders(),
    },
  });
}

function operation(name: EndpointName): Json {
  const entry: EndpointEntry = ENDPOINTS[name];
  const { params, query, body, data } = endpointSchemas[name];
  const success = {
    description: "Success",
    headers: headersOf([...COMMON_HEADERS, ...(entry.responseHeaders ?? [])]),
    content: { "application/json": { schema: envelope(data) } },
  };
  const otherSuccesses = Object.entries(entry.otherStatuses ?? {}).map(([status, description]) => [
    status,
    status === "304" ? { description } : { ...success, description },
  ]);
  return {
    operationId: name,
    summary: entry.summary,
    ...(entry.isExtension === true ? { "x-extension": true } : {}),
    parameters: [
      ...parametersOf(params, "path"),
      ...parametersOf(query, "query"),
      header("cli-agent", "resources_hash=<hash> of the models a client knows; see the header action-require."),
      ...(entry.headers ?? []).map((one) => header(one.name, one.description)),
    ],
    ...(body === null
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: input(body) } } } }),
    responses: {
      "200": success,
      ...Object.fromEntries(otherSuccesses),
      ...errorReferences([...SHARED_ERRORS, ...entry.errors]),
    },
    ...(entry.method === "GET" ? { "x-head": "HEAD answers the same headers without a body." } : {}),
  };
}

/** One path outside /v1 each; they need no key. */
function openPaths(): Record<string, Json> {
  const open = (summary: string, responses: Json) => ({ get: { summary, security: [], responses } });
  const json = (description: string) => ({
    description,
    content: { "application/json": { schema: { type: "object" } } },
  });
  return {
    "/healthz": open("The process answers", { "200": json("Healthy") }),
    "/readyz": open("The server can do its work", { "200": json("Ready"), "500": json("Not ready") }),
    "/openapi.json": open("This document", { "200": json("OpenAPI 3.1") }),
    "/files/{name}": {
      get: {
        summary: "A generated file, by its signed address",
        security: [],
        parameters: [{ name: "name", in: "path", required: true, schema: { type: "string" } }],
        responses: {
          "200": { description: "The file" },
          "206": { description: "A part of the file; only after Range" },
          ...errorReferences(["NOT_FOUND_ERROR", "GONE_ERROR", "SERVER_ERROR"]),
        },
      },
    },
  };
}

function parametersOf(schema: z.ZodObject, location: "path" | "query"): Json[] {
  const { properties = {}, required = [] } = input(schema) as {
    properties?: Record<string, Json>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, leaf]) => ({
    name,
    in: location,
    required: location === "path" || required.includes(name),
    schema: leaf,
  }));
}

function input(schema: z.ZodType): Json {
  return withoutDialect(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
}

function envelope(data: z.ZodType): Json {
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

/** OpenAPI 3.1 names the dialect once for the document. */
function withoutDialect(schema: object): Json {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "$schema" && key !== "~standard"));
}

function errorReferences(codes: readonly ErrorCode[]): Json {
  return Object.fromEntries(
    codes.map((code) => [String(ERRORS[code].httpStatus), { $ref: `#/components/responses/${code}` }]),
  );
}

const HEADERS_OF_ERRORS: Readonly<Partial<Record<ErrorCode, readonly string[]>>> = {
  UNAUTHORIZED_ERROR: ["WWW-Authenticate"],
  TOO_MANY_REQUESTS_ERROR: ["Retry-After", "retry-after-ms"],
  GATEWAY_TIMEOUT_ERROR: ["Location", "Retry-After"],
  NOT_FOUND_ERROR: ["Allow"],
};

function errorResponses(): Json {
  return Object.fromEntries(
    (Object.keys(ERRORS) as ErrorCode[]).map((code) => [
      code,
      {
        description: ERRORS[code].meaning,
        headers: headersOf(["X-Request-Id", "x-should-retry", ...(HEADERS_OF_ERRORS[code] ?? [])]),
        content: { "application/json": { schema: withoutDialect(z.toJSONSchema(ERROR_SCHEMAS[code])) } },
      },
    ]),
  );
}

function sharedHeaders(): Json {
  return Object.fromEntries(
    Object.entries(RESPONSE_HEADERS).map(([name, description]) => [name, { description, schema: { type: "string" } }]),
  );
}

function headersOf(names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
