import { Skipped, type Exchange, type Group } from "../check.ts";
import { expectData, expectError, expectField, expectThat, FORMS, isObject, type Json } from "../expect.ts";
import type { ConformContext } from "../context.ts";
import type { RequestOptions } from "../requests.ts";
import { ABSENT_ID, BAD_IDS, fieldChecks, OTHER_ABSENT_ID, refusalChecks } from "./table.ts";

const CREATE = "POST /v1/runs";

/** A valid body with these members replaced. */
function bodyWith(change: (context: ConformContext) => Json): (context: ConformContext) => RequestOptions {
  return (context) => {
    const { promptVersionId, inputs } = context.prompt();
    return { body: { promptVersionId, inputs, ...change(context) } };
  };
}

const refused = (name: string, change: (context: ConformContext) => Json) => ({
  name: `${name} is rejected with 422`,
  path: "/v1/runs",
  options: bodyWith(change),
});
const inputsWith = (change: Json) => (context: ConformContext) => ({
  inputs: { ...context.prompt().inputs, ...change },
});
const image = (value: unknown) => inputsWith({ imageInputs: [value] });
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

const validation: Group<ConformContext> = {
  title: "Creating a run: rejected requests",
  checks: [
    ...refusalChecks(CREATE, [
      refused("a body without promptVersionId", () => ({ promptVersionId: undefined })),
      refused("a promptVersionId of null", () => ({ promptVersionId: null })),
      refused("a promptVersionId that is a number", () => ({ promptVersionId: 7 })),
      ...Object.entries(BAD_IDS).map(([what, id]) =>
        refused(`a promptVersionId that is ${what}`, () => ({ promptVersionId: id })),
      ),
      refused("a body without inputs", () => ({ inputs: undefined })),
      refused("inputs that are a string", () => ({ inputs: "tea" })),
      refused("inputs that are a list", () => ({ inputs: [] })),
      refused("inputs that are a number", () => ({ inputs: 7 })),
      refused("textInputs that are a list", inputsWith({ textInputs: ["tea"] })),
      refused("textInputs that are a string", inputsWith({ textInputs: "tea" })),
      ...Object.entries({ "a number": 7, "a boolean": true, "a list": ["tea"], "an object": { a: "tea" } }).map(
        ([what, value]) => refused(`a text input that is ${what}`, (context) => ({ inputs: withText(context, value) })),
      ),
      refused("imageInputs that are an object", inputsWith({ imageInputs: { type: "url" } })),
      refused("an image that is a string", image("https://example.com/cat.png")),
      refused("an image without a type", image({ url: "https://example.com/cat.png" })),
      refused("an image of the type file", image({ type: "file", file: "cat.png" })),
      refused("an image of the type url without a url", image({ type: "url" })),
      refused("an image of the type base64 without base64", image({ type: "base64" })),
      refused("an image with a data URL prefix", image({ type: "base64", base64: `data:image/png;base64,${PNG}` })),
      refused("an image with an http URL", image({ type: "url", url: "http://example.com/cat.png" })),
      refused("an image with a URL that is not valid", image({ type: "url", url: "cat.png" })),
      refused("one image more than the prompt expects", image({ type: "base64", base64: PNG })),
      refused("a run option that the model does not have", () => ({ runOptions: { notAnOption: "high" } })),
      refused("runOptions that are a list", () => ({ runOptions: ["high"] })),
      refused("a run option that is a number", () => ({ runOptions: { notAnOption: 4 } })),
    ]),
    ...refusalChecks(CREATE, [
      {
        name: "an unknown version returns 404",
        path: "/v1/runs",
        options: bodyWith(() => ({ promptVersionId: ABSENT_ID })),
        codes: ["NOT_FOUND_ERROR"],
      },
      {
        name: "the id of a prompt is not a version: 404",
        path: "/v1/runs",
        options: bodyWith((context) => ({ promptVersionId: context.prompt().promptId })),
        codes: ["NOT_FOUND_ERROR"],
      },
    ]),
    {
      name: "a missing required input is rejected with 422",
      section: CREATE,
      run: async (context) => {
        const { promptVersionId, hasRequiredInput } = context.prompt();
        if (!hasRequiredInput) throw new Skipped("No text input of the prompt is required.");
        expectError(await context.send("/v1/runs", { body: { promptVersionId, inputs: {} } }), "VALIDATION_ERROR");
      },
    },
    ...refusalChecks("Errors", [
      ...Object.entries({ "not JSON": "{not json", "cut off": '{"promptVersionId": "', "two values": "{} {}" }).map(
        ([what, body]) => ({
          name: `a body that is ${what} is rejected with 400`,
          path: "/v1/runs",
          options: { body },
          codes: ["BAD_REQUEST_ERROR"] as const,
        }),
      ),
      ...Object.entries({ "an empty object": "{}", "a list": "[]", "a string": '"tea"', "a number": "7" }).map(
        ([what, body]) => ({
          name: `a body that is ${what} is rejected with 422 or 400`,
          path: "/v1/runs",
          options: { body },
          codes: ["VALIDATION_ERROR", "BAD_REQUEST_ERROR"] as const,
        }),
      ),
    ]),
  ],
};

function withText(context: ConformContext, value: unknown): Json {
  const [key = "text"] = Object.keys(context.prompt().inputs.textInputs);
  return { ...context.prompt().inputs, textInputs: { ...context.prompt().inputs.textInputs, [key]: value } };
}

const RUN_FIELDS = { runId: "text", outputs: "array", runStatus: "runStatus", tokens: "count" } as const;

const itemsOf = (run: Json): Json[] => (Array.isArray(run["outputs"]) ? run["outputs"].filter(isObject) : []);

const create: Group<ConformContext> = {
  title: "Creating a run",
  checks: [
    {
      name: "a run is created, and members that the table does not list are ignored",
      section: CREATE,
      run: async (context) => void (await context.run()),
    },
    ...fieldChecks({ what: "the run", section: "Run" }, RUN_FIELDS, async (context) => {
      const { data, exchange } = await context.run();
      return { objects: [data], exchange };
    }),
    {
      name: "the returned run is final",
      section: CREATE,
      run: async (context) => {
        const { data, exchange } = await context.run();
        const isFinal = data["runStatus"] === "succeeded" || data["runStatus"] === "failed";
        expectThat(isFinal, "runStatus succeeded or failed: the run finished within the wait", exchange);
      },
    },
    {
      name: "a run of a text prompt succeeds with a text",
      section: "Output item",
      run: async (context) => {
        const { data, exchange } = await context.run();
        const hasText = itemsOf(data).some(({ type }) => type === "text");
        expectThat(
          data["runStatus"] === "succeeded" && hasText,
          "succeeded, with an output of the type text",
          exchange,
        );
      },
    },
    ...fieldChecks({ what: "each output", section: "Output item" }, { type: "text", data: "text" }, async (context) => {
      const { data, exchange } = await context.run();
      return { objects: itemsOf(data), exchange };
    }),
  ],
};

const GET_RUN = "GET /v1/runs/:runId";

/** Checks what must be the same wherever a run is shown. */
function checkSame(run: Json, created: Json, exchange: Exchange): void {
  for (const name of Object.keys(RUN_FIELDS)) {
    const isSame = JSON.stringify(run[name]) === JSON.stringify(created[name]);
    expectThat(isSame, `${name} as the create returned it: ${JSON.stringify(created[name])}`, exchange);
  }
}

/** An error about an id, without the id: another account's run must look the same as one that does not exist. */
function withoutId({ response }: Exchange, id: string): string {
  return `${response.httpStatus} ${response.text.replaceAll(id, "ID")}`;
}

const retrieve: Group<ConformContext> = {
  title: "Retrieving a run",
  checks: [
    {
      name: "a run is returned as it was created",
      section: GET_RUN,
      run: async (context) => {
        const { runId, data } = await context.run();
        const exchange = await context.send(`/v1/runs/${runId}`);
        checkSame(expectData(exchange), data, exchange);
      },
    },
    {
      name: "unknown query parameters of a run are ignored",
      section: GET_RUN,
      run: async (context) => {
        const { runId } = await context.run();
        const exchange = await context.send(`/v1/runs/${runId}?remote=true`);
        expectField(expectData(exchange), "runId", FORMS.text, exchange);
      },
    },
    ...refusalChecks(
      GET_RUN,
      Object.entries(BAD_IDS).map(([what, id]) => ({
        name: `a runId that is ${what} is rejected with 422`,
        path: `/v1/runs/${id}`,
      })),
    ),
    ...refusalChecks(GET_RUN, [
      { name: "an unknown run returns 404", path: `/v1/runs/${ABSENT_ID}`, codes: ["NOT_FOUND_ERROR"] },
    ]),
    {
      name: "two unknown runs return the same response except for their ids",
      section: GET_RUN,
      run: async (context) => {
        const first = await context.send(`/v1/runs/${ABSENT_ID}`);
        const second = await context.send(`/v1/runs/${OTHER_ABSENT_ID}`);
        const isSame = withoutId(first, ABSENT_ID) === withoutId(second, OTHER_ABSENT_ID);
        expectThat(isSame, `the bytes of the response for ${ABSENT_ID}`, second);
      },
    },
    {
      name: "another account's run looks like an unknown run",
      section: "Authentication 5",
      run: async (context) => {
        if (context.otherKey === null) throw new Skipped("Pass a key of another account with --other-key.");
        const options = { authorization: `Bearer ${context.otherKey}` };
        const { runId } = await context.run();
        const foreign = await context.send(`/v1/runs/${runId}`, options);
        const absent = await context.send(`/v1/runs/${ABSENT_ID}`, options);
        expectError(foreign, "NOT_FOUND_ERROR");
        const isSame = withoutId(foreign, runId) === withoutId(absent, ABSENT_ID);
        expectThat(isSame, "the bytes of the response for an unknown run", foreign);
      },
    },
  ],
};

export const RUN_GROUPS: readonly Group<ConformContext>[] = [validation, create, retrieve];
