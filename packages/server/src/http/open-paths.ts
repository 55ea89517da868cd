/** What the OpenAPI documents say about paths that are not in the contract. */
import type { PlainObject } from "../platform/json.ts";
import { errorReferences, headerParameter, headersOf, jsonContent } from "./openapi.ts";

/** Describes a path that needs no credential. */
export function openPath(operationId: string, summary: string, responses: PlainObject): PlainObject {
  const errors = errorReferences(["BAD_REQUEST_ERROR"]);
  return { get: { operationId, summary, security: [], responses: { ...responses, ...errors } } };
}

/** Describes a JSON response outside the envelopes of an API. */
export function openJson(description: string, example: PlainObject, headers: readonly string[] = []): PlainObject {
  return {
    description,
    headers: headersOf(["X-Request-Id", ...headers]),
    content: jsonContent({ type: "object" }, { answer: example }),
  };
}

/** The paths outside /v1, which need no key. */
export function openPaths(): Record<string, PlainObject> {
  const readyData = { ready: true, role: "all", database: "ok", clock: "ok", files: "ok", search: "ok", degraded: [] };
  const ready = { status: "SUCCESS", data: { ...readyData, switchedOff: [] } };
  const notReady = {
    status: "SERVER_ERROR",
    message: "The server is not ready.",
    data: { ready: false, role: "all", database: "unreachable", files: "ok", search: "ok", degraded: [] },
  };
  return {
    "/healthz": openPath("getHealth", "Whether the process responds", {
      "200": openJson("Healthy", { status: "SUCCESS", data: { healthy: true } }),
    }),
    "/readyz": openPath("getReadiness", "Whether the server can do its work", {
      "200": openJson("Ready", ready),
      "500": openJson("Not ready", notReady, ["x-should-retry"]),
    }),
    "/openapi.json": openPath("getOpenApi", "This document", {
      "200": openJson("OpenAPI 3.1", { openapi: "3.1.0", info: { title: "promptd", version: "1.0.0" }, paths: {} }),
    }),
    "/files/{name}": { get: fileOperation() },
  };
}

/** The whole address comes from an output; its query contains the signature. */
function fileOperation(): PlainObject {
  const parameter = (name: string, location: "path" | "query", meaning: string, example: string) => ({
    name,
    in: location,
    required: true,
    description: meaning,
    schema: { type: "string" },
    example,
  });
  const file = {
    headers: headersOf(["X-Request-Id", "ETag"]),
    content: { "image/*": {}, "video/*": {} },
  };
  return {
    operationId: "getFile",
    summary: "A generated file, at its signed address",
    security: [],
    parameters: [
      parameter("name", "path", "The file's id and extension.", "019a1f88-0c1d-7a52-b7e4-2f90c6d1a3b5.png"),
      parameter("e", "query", "When the address expires, in Unix seconds.", "1795256130"),
      parameter("k", "query", "Number of the key that signed the address.", "1"),
      parameter("s", "query", "Signature.", "b0mN2Yx4v7Qd8sK1tRz5Wg"),
      headerParameter("Range", "bytes=FIRST-LAST: return only this part.", { Range: "bytes=0-1023" }),
      headerParameter(
        "If-None-Match",
        "The ETag of an earlier response. If it still matches, the response is 304.",
        {},
      ),
    ],
    responses: {
      "200": { description: "The file", ...file },
      "206": { description: "A part of the file; only in response to Range", ...file },
      "304": { description: "Not modified; only in response to If-None-Match", headers: file.headers },
      ...errorReferences([
        "BAD_REQUEST_ERROR",
        "NOT_FOUND_ERROR",
        "GONE_ERROR",
        "TOO_MANY_REQUESTS_ERROR",
        "SERVER_ERROR",
      ]),
    },
  };
}
