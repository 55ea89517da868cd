import { ENDPOINTS, ERRORS } from "@promptd/contract";
import { describe, expect, test } from "vitest";
import { endpointSchemas } from "@promptd/contract/schemas";
import { toEndpoints, type Handlers } from "./endpoint.ts";
import { openApiText } from "./openapi.ts";
import { openEndpoints } from "./public-endpoints.ts";
import { createRouter } from "./request/router.ts";

interface Operation {
  readonly operationId?: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly responses: Readonly<Record<string, { readonly $ref?: string }>>;
  readonly requestBody?: unknown;
  readonly security?: readonly unknown[];
}
interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const text = openApiText();
const document: Document = JSON.parse(text);
const never = () => Promise.reject(new Error("never asked"));
const open = openEndpoints({ openFile: never, readiness: never, isStopping: () => false, isBusy: () => false });
const template = (path: string) => path.replace(/:(\w+)/g, "{$1}");

describe("the OpenAPI document", () => {
  test("describes every route that is mounted, the extension too", () => {
    for (const [name, { method, path }] of Object.entries(ENDPOINTS)) {
      expect(document.paths[template(path)]?.[method.toLowerCase()]?.operationId).toBe(name);
    }
    for (const { path } of open) expect(document.paths[template(path)]?.["get"]?.security).toEqual([]);
  });

  test("describes no route that is not mounted", () => {
    const handlers = Object.fromEntries(Object.keys(ENDPOINTS).map((name) => [name, never])) as unknown as Handlers;
    const endpoints = toEndpoints({ entries: ENDPOINTS, schemas: endpointSchemas, handlers });
    const router = createRouter([...endpoints, ...open], {});
    for (const [path, operations] of Object.entries(document.paths)) {
      const methods = Object.keys(operations).map((method) => method.toUpperCase());
      const allowed = router.unrecognized("BREW", path.replace(/\{\w+\}/g, "x")).headers["allow"]?.split(", ") ?? [];
      expect(allowed).toEqual(expect.arrayContaining(methods));
    }
  });

  test("leads every reference to something", () => {
    for (const [, target = ""] of text.matchAll(/"\$ref":"#\/([^"]*)"/g)) {
      const [root, group = "", name = ""] = target.split("/");
      expect(root).toBe("components");
      expect(document.components[group]).toHaveProperty([name]);
    }
  });

  test("lists for each endpoint only specified statuses, and all errors of the table somewhere", () => {
    const statuses = new Set(
      Object.values(document.paths)
        .flatMap((path) => Object.values(path))
        .flatMap(({ responses }) => Object.keys(responses)),
    );
    const specified = Object.values(ERRORS).map(({ httpStatus }) => String(httpStatus));
    expect([...statuses].sort()).toEqual([...specified, "200", "202", "206", "304"].sort());
  });

  test("names path parameters as required and query parameters by their schema", () => {
    const prompt = document.paths["/v1/prompts/{promptId}"]?.["get"]?.parameters ?? [];
    expect(prompt).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: "promptId", in: "path", required: true }),
        expect.objectContaining({ name: "versionId", in: "query", required: false }),
      ]),
    );
    const search = document.paths["/v1/prompts/publish"]?.["get"]?.parameters ?? [];
    expect(search).toContainEqual(expect.objectContaining({ name: "q", in: "query", required: true }));
    const list = document.paths["/v1/runs"]?.["get"]?.parameters ?? [];
    expect(list.filter((parameter) => parameter.in === "query").map(({ name }) => name)).toEqual([
      "limit",
      "startingAfter",
      "endingBefore",
      "status",
      "since",
      "until",
    ]);
  });

  test("describes the body of create with what is required and what may be left out", () => {
    const body = document.paths["/v1/runs"]?.["post"]?.requestBody;
    expect(body).toMatchObject({
      content: {
        "application/json": {
          schema: {
            required: ["promptVersionId", "inputs"],
            properties: {
              promptVersionId: { type: "string", format: "uuid" },
              runOptions: { type: ["object", "null"] },
            },
          },
        },
      },
    });
  });
});
