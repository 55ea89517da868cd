import type { Group } from "../check.ts";
import { expectData, expectError, expectSuccess, expectThat, isObject, type Json } from "../expect.ts";
import type { ConformContext } from "../context.ts";
import { ABSENT_ID, fieldChecks, type ConformCheck } from "./table.ts";

/** Every endpoint, with a request that reaches it. */
const ENDPOINTS: readonly (readonly [string, string])[] = [
  ["POST", "/v1/runs"],
  ["GET", `/v1/runs/${ABSENT_ID}`],
  ["GET", "/v1/runs"],
  ["GET", "/v1/prompts/publish?q=tea"],
  ["GET", `/v1/prompts/${ABSENT_ID}`],
  ["GET", `/v1/prompt-versions/${ABSENT_ID}`],
  ["GET", "/v1/resources"],
  ["GET", "/v1/me"],
  ["GET", "/v1/me/credits"],
];

const BAD_CREDENTIALS: Readonly<Record<string, string>> = {
  "an unknown key": "Bearer pd_000000000000000000000000000000000000",
  "another scheme": "Basic dXNlcjpwYXNz",
  "an empty key": "Bearer",
};

const authentication: Group<ConformContext> = {
  title: "Authentication",
  checks: ENDPOINTS.flatMap(([method, path]): ConformCheck[] => {
    const name = `${method} ${path.replace(ABSENT_ID, ":id").replace(/\?.*/, "")}`;
    const body = method === "POST" ? { body: {} } : {};
    return [
      {
        name: `${name} without a key answers 401`,
        section: "Authentication 3",
        run: async (context) => {
          expectError(await context.send(path, { method, authorization: null, ...body }), "UNAUTHORIZED_ERROR");
        },
      },
      ...Object.entries(BAD_CREDENTIALS).map(([what, authorization]): ConformCheck => ({
        name: `${name} with ${what} answers 401`,
        section: "Authentication 3",
        run: async (context) => {
          expectError(await context.send(path, { method, authorization, ...body }), "UNAUTHORIZED_ERROR");
        },
      })),
    ];
  }),
};

const onlyObject = (path: string) => async (context: ConformContext) => {
  const exchange = await context.answer(path);
  return { objects: [expectData(exchange)], exchange };
};

const account: Group<ConformContext> = {
  title: "Profile and credits",
  checks: [
    {
      name: "GET /v1/me answers a success",
      section: "GET /v1/me",
      run: async (context) => void expectData(await context.answer("/v1/me")),
    },
    ...fieldChecks(
      { what: "the profile", section: "User (GET /v1/me)" },
      { username: "textOrNull", displayName: "textOrNull", userFlags: "count" },
      onlyObject("/v1/me"),
    ),
    {
      name: "GET /v1/me/credits answers a success",
      section: "GET /v1/me/credits",
      run: async (context) => void expectData(await context.answer("/v1/me/credits")),
    },
    ...fieldChecks(
      { what: "the balance", section: "Credits (GET /v1/me/credits)" },
      { credits: "integer" },
      onlyObject("/v1/me/credits"),
    ),
    {
      name: "unknown query parameters are ignored",
      section: "POST /v1/runs",
      run: async (context) => void expectSuccess(await context.send("/v1/me?notListed=1")),
    },
  ],
};

async function readModels(context: ConformContext) {
  const exchange = await context.answer("/v1/resources");
  const { resources } = expectData(exchange);
  const models = isObject(resources) ? resources["models"] : undefined;
  expectThat(Array.isArray(models) && models.every(isObject), "data.resources.models as an array of objects", exchange);
  return { objects: models as Json[], exchange };
}

async function readOptions(context: ConformContext) {
  const { objects, exchange } = await readModels(context);
  const options = objects.flatMap((model) => (model["availableRunOptions"] ?? []) as Json[]);
  expectThat(options.every(isObject), "availableRunOptions as arrays of objects", exchange);
  return { objects: options, exchange };
}

/** What a client sends that knows the list of models by this hash. */
const agentOf = (hash: unknown) => ({ headers: { "cli-agent": `resources_hash=${String(hash)}` } });

const models: Group<ConformContext> = {
  title: "Models",
  checks: [
    {
      name: "GET /v1/resources answers a success",
      section: "GET /v1/resources",
      run: async (context) => void expectData(await context.answer("/v1/resources")),
    },
    ...fieldChecks(
      { what: "the list of models", section: "GET /v1/resources" },
      { hash: "hash", resources: "object" },
      onlyObject("/v1/resources"),
    ),
    ...fieldChecks(
      { what: "each model", section: "Model entry" },
      { model: "text", modality: "modality", availableRunOptions: "array" },
      readModels,
    ),
    ...fieldChecks({ what: "each run option", section: "Model entry" }, { key: "text", options: "array" }, readOptions),
    {
      name: "each value of a run option is a string",
      section: "Model entry",
      run: async (context) => {
        const { objects, exchange } = await readOptions(context);
        const values = objects.flatMap(({ options }) => options as unknown[]);
        expectThat(
          values.every((value) => typeof value === "string"),
          "strings as options",
          exchange,
        );
      },
    },
    {
      name: "the hash is the same while the models are",
      section: "GET /v1/resources",
      run: async (context) => {
        const first = expectData(await context.answer("/v1/resources"));
        const second = await context.send("/v1/resources");
        const isSame = JSON.stringify(first["resources"]) === JSON.stringify(expectData(second)["resources"]);
        expectThat(!isSame || expectData(second)["hash"] === first["hash"], "the hash of the answer before", second);
      },
    },
    {
      name: "a client with the present hash is not asked to refresh",
      section: "GET /v1/resources, cache invalidation",
      run: async (context) => {
        const { hash } = expectData(await context.answer("/v1/resources"));
        const exchange = await context.send("/v1/me", agentOf(hash));
        expectThat(exchange.response.headers.get("action-require") === null, "no header action-require", exchange);
      },
    },
    {
      name: "a client with another hash is asked to refresh",
      section: "GET /v1/resources, cache invalidation",
      run: async (context) => {
        const exchange = await context.send("/v1/me", agentOf("another"));
        expectThat(exchange.response.headers.get("action-require") !== null, "the header action-require", exchange);
      },
    },
  ],
};

export const ACCOUNT_GROUPS: readonly Group<ConformContext>[] = [authentication, account, models];
