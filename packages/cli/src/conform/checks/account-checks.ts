import type { Group } from "../check.ts";
import { expectData, expectError, expectSuccess, expectThat, isObject, type Json } from "../expect.ts";
import type { ConformContext } from "../context.ts";
import { ABSENT_ID, fieldChecks, type ConformCheck } from "./table.ts";

/** A request that reaches each endpoint. */
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
        name: `${name} without a key returns 401`,
        section: "Authentication 3",
        run: async (context) => {
          expectError(await context.send(path, { method, authorization: null, ...body }), "UNAUTHORIZED_ERROR");
        },
      },
      ...Object.entries(BAD_CREDENTIALS).map(([what, authorization]): ConformCheck => ({
        name: `${name} with ${what} returns 401`,
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
      name: "GET /v1/me returns a success",
      section: "GET /v1/me",
      run: async (context) => void expectData(await context.answer("/v1/me")),
    },
    ...fieldChecks(
      { what: "the profile", section: "User (GET /v1/me)" },
      { username: "textOrNull", displayName: "textOrNull", userFlags: "count" },
      onlyObject("/v1/me"),
    ),
    {
      name: "GET /v1/me/credits returns a success",
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

/** The User-Agent of a client that has the model list with this hash. */
const agentOf = (hash: unknown) => ({ headers: { "cli-agent": `resources_hash=${String(hash)}` } });

const models: Group<ConformContext> = {
  title: "Models",
  checks: [
    {
      name: "GET /v1/resources returns a success",
      section: "GET /v1/resources",
      run: async (context) => void expectData(await context.answer("/v1/resources")),
    },
    ...fieldChecks(
      { what: "the model list", section: "GET /v1/resources" },
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
      name: "the hash stays the same while the models do",
      section: "GET /v1/resources",
      run: async (context) => {
        const first = expectData(await context.answer("/v1/resources"));
        const second = await context.send("/v1/resources");
        const isSame = JSON.stringify(first["resources"]) === JSON.stringify(expectData(second)["resources"]);
        expectThat(
          !isSame || expectData(second)["hash"] === first["hash"],
          "the hash of the previous response",
          second,
        );
      },
    },
    {
      name: "a client with the current hash is not asked to refresh",
      section: "GET /v1/resources, cache invalidation",
      run: async (context) => {
        const { hash } = expectData(await context.answer("/v1/resources"));
        const exchange = await context.send("/v1/me", agentOf(hash));
        expectThat(exchange.response.headers.get("action-require") === null, "no action-require header", exchange);
      },
    },
    {
      name: "a client with a different hash is asked to refresh",
      section: "GET /v1/resources, cache invalidation",
      run: async (context) => {
        const exchange = await context.send("/v1/me", agentOf("another"));
        expectThat(exchange.response.headers.get("action-require") !== null, "the action-require header", exchange);
      },
    },
  ],
};

export const ACCOUNT_GROUPS: readonly Group<ConformContext>[] = [authentication, account, models];
