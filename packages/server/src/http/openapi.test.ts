import { ENDPOINTS, ERRORS } from "@promptd/contract";
import { ENDPOINT_EXAMPLES } from "@promptd/contract/examples";
import { describe, expect, test } from "vitest";
import { endpointSchemas, errorEnvelopeSchema, REQUEST_LIMITS, type EndpointSchemas } from "@promptd/contract/schemas";
import { toEndpoints, type Handlers, type ServerContext } from "./endpoint.ts";
import { CALLERS_API, MANAGE_API } from "./described-apis.ts";
import { openApiText } from "./openapi.ts";
import { successEnvelopeSchema } from "../../test/support/success-envelope.ts";
import { perUrl, unauthenticatedEndpoints } from "./unauthenticated-endpoints.ts";
import { createRouter } from "./request/router.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly example?: unknown;
  readonly schema?: unknown;
}
interface WithContent {
  readonly content?: Readonly<
    Record<string, { readonly examples?: Readonly<Record<string, { readonly value: unknown }>> }>
  >;
}
interface Response extends WithContent {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
}
interface Operation {
  readonly operationId?: string;
  readonly parameters?: readonly Parameter[];
  readonly responses: Readonly<Record<string, Response>>;
  readonly requestBody?: WithContent;
  readonly security?: readonly object[];
  readonly "x-scope"?: string;
}
interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly servers: unknown;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>> & {
    readonly responses: Readonly<Record<string, Response>>;
  };
}

const PUBLIC_URL = "https://prompts.example.com";
const text = openApiText(PUBLIC_URL, CALLERS_API);
const document: Document = JSON.parse(text);
const manage: Document = JSON.parse(openApiText(PUBLIC_URL, MANAGE_API));
const never = () => Promise.reject(new Error("never asked"));
const open = unauthenticatedEndpoints({
  openFile: never,
  publicUrl: () => PUBLIC_URL,
  readiness: never,
  isStopping: () => false,
  isBusy: () => false,
});
const allOperations = Object.values(document.paths).flatMap((path) => Object.values(path));
const examplesOf = ({ content = {} }: WithContent) =>
  Object.values(content["application/json"]?.examples ?? {}).map(({ value }) => value);
const template = (path: string) => path.replace(/:(\w+)/g, "{$1}");

describe("the OpenAPI document", () => {
  test("describes every mounted route, including the extension", () => {
    for (const [name, { method, path }] of Object.entries(ENDPOINTS)) {
      expect(document.paths[template(path)]?.[method.toLowerCase()]?.operationId).toBe(name);
    }
    const described = { ...document.paths, ...manage.paths };
    for (const { path } of open) expect(described[template(path)]?.["get"]?.security).toEqual([]);
  });

  test("does not describe routes that are not mounted", () => {
    const handlers = Object.fromEntries(Object.keys(ENDPOINTS).map((name) => [name, never])) as unknown as Handlers;
    const endpoints = toEndpoints({ entries: ENDPOINTS, schemas: async () => endpointSchemas, handlers });
    const router = createRouter([...endpoints, ...open], {});
    for (const [path, operations] of Object.entries(document.paths)) {
      const methods = Object.keys(operations).map((method) => method.toUpperCase());
      const allowed = router.unrecognized("BREW", path.replace(/\{\w+\}/g, "x")).headers["allow"]?.split(", ") ?? [];
      expect(allowed).toEqual(expect.arrayContaining(methods));
    }
  });

  test.each([
    ["userFlags", "The sum of 1 (the account's plan is active) and 2 (the account has published a prompt)."],
    ["tokens", "Credits charged"],
  ])("says what %s means, which its name does not", (name, meaning) => {
    const described = new RegExp(`"${name}":(\\{[^{}]*\\})`).exec(text)?.[1] ?? "{}";
    expect(JSON.parse(described)).toMatchObject({ type: "integer", description: expect.stringContaining(meaning) });
  });

  test("has a target for every reference", () => {
    for (const [, target = ""] of text.matchAll(/"\$ref":"#\/([^"]*)"/g)) {
      const [root, group = "", name = ""] = target.split("/");
      expect(root).toBe("components");
      expect(document.components[group]).toHaveProperty([name]);
    }
  });

  test("lists only specified statuses for each endpoint, and every error of the table at least once", () => {
    const statuses = new Set(
      Object.values(document.paths)
        .flatMap((path) => Object.values(path))
        .flatMap(({ responses }) => Object.keys(responses)),
    );
    const specified = Object.values(ERRORS).map(({ httpStatus }) => String(httpStatus));
    expect([...statuses].sort()).toEqual([...specified, "200", "201", "202", "206", "304"].sort());
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
      "include",
    ]);
  });

  test("describes which members of the create body are required and which are optional", () => {
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

  test("has the public URL as its server", () => {
    expect(document.servers).toEqual([{ url: PUBLIC_URL }]);
  });

  test("gives each operation a unique id", () => {
    const ids = allOperations.map(({ operationId }) => operationId);
    expect(ids).not.toContain(undefined);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("names a scope only for operations that accept a token", () => {
    const operations = Object.values(manage.paths).flatMap((path) => Object.values(path));
    const scoped = operations.filter((one) => one["x-scope"] !== undefined);
    expect(scoped.length).toBeGreaterThan(0);
    // Without a list, every credential is accepted.
    const withoutToken = scoped.filter(({ security }) => security?.every((kind) => !("token" in kind)) === true);
    expect(withoutToken.map(({ operationId }) => operationId)).toEqual([]);
  });

  test("describes q as the server reads it: a longer text that trims to 200 characters is allowed", () => {
    const q = document.paths["/v1/prompts/publish"]?.["get"]?.parameters?.find(({ name }) => name === "q");
    const description = expect.stringMatching(/200 characters .* normalized .* trimmed/);
    expect(q?.schema).toEqual({ type: "string", minLength: 1, pattern: "\\S", description });
    const longest = "a".repeat(REQUEST_LIMITS.searchCodePointsMax);
    expect(endpointSchemas.searchPrompts.query.parse({ q: `  ${longest} ` })).toEqual({ q: longest });
  });

  test("lists each error's possible headers", () => {
    const { responses } = document.components;
    const shared = ["X-Request-Id", "x-should-retry", "RateLimit", "RateLimit-Policy", "action-require", "X-Ignored"];
    const own = {
      UNAUTHORIZED_ERROR: ["WWW-Authenticate"],
      NOT_FOUND_ERROR: ["Allow"],
      TOO_MANY_REQUESTS_ERROR: ["Retry-After", "retry-after-ms"],
      GATEWAY_TIMEOUT_ERROR: ["Location", "Retry-After", "Preference-Applied", "Idempotent-Replayed"],
    };
    for (const code of Object.keys(ERRORS)) {
      const expected = new Set([
        ...(code === "UNAUTHORIZED_ERROR" ? shared.slice(0, 2) : shared),
        ...(Object.entries(own).find(([one]) => one === code)?.[1] ?? []),
      ]);
      expect([code, ...Object.keys(responses[code]?.headers ?? {}).sort()]).toEqual([code, ...[...expected].sort()]);
    }
  });
});

const ANSWERED_WHOLE = Object.entries(ENDPOINTS).filter(([, entry]) => !("isStream" in entry || "isLines" in entry));

describe("the examples of the OpenAPI document", () => {
  test("show an event stream as it is sent", () => {
    const { data } = ENDPOINT_EXAMPLES.followRun;
    const answer = document.paths["/v1/runs/{runId}/events"]?.["get"]?.responses["200"];
    const sent = data.events.map(({ event, data: content }) => ({ event, data: content }));
    const stream = (answer as { content?: Record<string, { examples: Record<string, { value: string }> }> }).content?.[
      "text/event-stream"
    ]?.examples["events"]?.value;
    const read = (stream ?? "")
      .split("\n\n")
      .slice(0, -1)
      .map((block) => {
        const [, event, content = ""] = /^event: (.+)\n(?:id: .+\n)?data: (.+)$/.exec(block) ?? [];
        return { event, data: JSON.parse(content) as unknown };
      });
    expect(read).toEqual(sent);
    expect(endpointSchemas.followRun.data.parse(data)).toEqual(data);
  });

  test("show batch results as lines, as they are sent", () => {
    const { data } = ENDPOINT_EXAMPLES.getBatchResults;
    const answer = document.paths["/v1/batches/{batchId}/results"]?.["get"]?.responses["200"];
    const { content = {} } = answer as { content?: Record<string, { examples?: Record<string, { value: string }> }> };
    const sent = content["application/x-ndjson"]?.examples?.["lines"]?.value ?? "";
    expect(
      sent
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(data.lines);
    expect(endpointSchemas.getBatchResults.data.parse(data)).toEqual(data);
    expect(Object.keys(content)).toEqual(["application/x-ndjson", "text/csv"]);
  });

  test.each(ANSWERED_WHOLE)("of %s match its request and response schemas", (name, { method, path }) => {
    const operation = document.paths[template(path)]?.[method.toLowerCase()];
    const { params, query, body, data }: EndpointSchemas = endpointSchemas[name as keyof typeof endpointSchemas];
    const { parameters = [], requestBody = {}, responses } = operation ?? { responses: {} };
    const valuesIn = (location: string) =>
      Object.fromEntries(
        parameters
          .filter((one) => one.in === location && one.example !== undefined)
          .map((one) => [one.name, String(one.example)]),
      );
    expect(Object.keys(params.parse(valuesIn("path")))).toEqual(Object.keys(params.shape));
    expect(Object.keys(query.parse(valuesIn("query"))).length).toBe(Object.keys(valuesIn("query")).length);
    const bodies = examplesOf(requestBody);
    expect(bodies.length > 0).toBe(body !== null);
    for (const example of bodies) expect(body?.parse(example)).toMatchObject(example as object);
    const answers = examplesOf(responses["200"] ?? {});
    expect(answers).toHaveLength(1);
    for (const example of answers) expect(successEnvelopeSchema(data).parse(example)).toEqual(example);
  });

  test.each(Object.keys(ERRORS))("of %s match its envelope", (code) => {
    const examples = examplesOf(document.components.responses[code] ?? {});
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) expect(errorEnvelopeSchema.parse(example)).toMatchObject({ status: code });
  });

  test("are present for every JSON response, also of endpoints without a key", () => {
    const answers = allOperations.flatMap(({ responses }) => Object.values(responses));
    const json = answers.filter(({ content }) => content?.["application/json"] !== undefined);
    expect(json.filter((answer) => examplesOf(answer).length === 0)).toEqual([]);
  });
});

test("the readers of a document share its bytes, so that slow readers do not fill the memory", async () => {
  const edge = unauthenticatedEndpoints({
    openFile: () => Promise.reject(new Error("not used")),
    publicUrl: () => "https://promptd.example.org",
    readiness: () => Promise.reject(new Error("not used")),
    isStopping: () => false,
    isBusy: () => false,
  }).find(({ path }) => path === "/manage/openapi.json");
  const read = async (): Promise<unknown> => {
    const answer = await edge?.handle({ params: {}, query: {}, body: {} }, {} as ServerContext);
    return answer !== undefined && "body" in answer ? answer.body?.toArray().then(([bytes]) => bytes) : answer;
  };
  const [first, second] = [await read(), await read()];
  expect(first).toBeInstanceOf(Buffer);
  expect(second).toBe(first);
});

test("a document that could not be generated is generated for the next request, and then only once", async () => {
  const made: string[] = [];
  const read = perUrl(async (url) => {
    if (made.push(url) === 1) throw new Error("No file could be opened.");
    return `at ${url}`;
  });
  await expect(read("a")).rejects.toThrow("No file could be opened.");
  expect([await read("a"), await read("a"), await read("b")]).toEqual(["at a", "at a", "at b"]);
  expect(made).toEqual(["a", "a", "b"]);
});
