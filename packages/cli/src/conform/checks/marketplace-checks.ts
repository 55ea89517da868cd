import type { Group } from "../check.ts";
import { expectData, expectRows, expectThat, type Json } from "../expect.ts";
import type { ConformContext } from "../context.ts";
import { ABSENT_ID, BAD_IDS, fieldChecks, OTHER_ABSENT_ID, refusalChecks, type ConformCheck } from "./table.ts";

const SEARCH = "GET /v1/prompts/publish";
const searchPath = (q: string): string => `/v1/prompts/publish?q=${encodeURIComponent(q)}`;

/** A search that finds something: the title of the prompt that was found. */
async function readRows(context: ConformContext) {
  const exchange = await context.answer(searchPath(context.prompt().title.slice(0, 200)));
  const rows = expectRows(exchange);
  expectThat(rows.length > 0, "at least one row for the title of a published prompt", exchange);
  return { objects: rows, exchange };
}

const idsOf = (rows: readonly Json[]): string => rows.map((row) => String(row["promptId"])).join();

const search: Group<ConformContext> = {
  title: "Search",
  checks: [
    {
      name: "a search for the title of a prompt finds rows",
      section: SEARCH,
      run: async (context) => void (await readRows(context)),
    },
    ...fieldChecks(
      { what: "each row of a search", section: "Search result row" },
      {
        promptId: "text",
        promptVersionId: "text",
        title: "text",
        description: "text",
        slug: "text",
        model: "integer",
        modality: "searchedModality",
        estimatedCredits: "integer",
        uses: "count",
        upVotes: "count",
        publishedAt: "time",
        samples: "object",
        configs: "object",
      },
      readRows,
    ),
    {
      name: "the row of a prompt names its latest version",
      section: "Search result row",
      run: async (context) => {
        const { objects, exchange } = await readRows(context);
        const [row] = objects;
        const prompt = expectData(await context.answer(`/v1/prompts/${String(row?.["promptId"])}`));
        const isSame = row?.["promptVersionId"] === prompt["promptVersionId"];
        expectThat(isSame, `promptVersionId ${String(prompt["promptVersionId"])}, the latest version`, exchange);
      },
    },
    {
      name: "words that match nothing return rows, possibly none",
      section: SEARCH,
      run: async (context) => void expectRows(await context.send(searchPath("zzqqxxjjwwvv"))),
    },
    {
      name: "white space around the words is ignored",
      section: SEARCH,
      run: async (context) => {
        const q = context.prompt().title.slice(0, 100).trim();
        const plain = expectRows(await context.send(searchPath(q)));
        const spaced = await context.send(searchPath(`  ${q}  `));
        expectThat(idsOf(expectRows(spaced)) === idsOf(plain), "the rows of the same words without spaces", spaced);
      },
    },
    {
      name: "a query of 200 characters is accepted",
      section: "Limits, q length",
      run: async (context) => void expectRows(await context.send(searchPath("a".repeat(200)))),
    },
    {
      name: "a query of 200 characters with spaces around it is accepted",
      section: "Limits, q length",
      run: async (context) => void expectRows(await context.send(searchPath(`   ${"a".repeat(200)}   `))),
    },
    {
      name: "letters of every script are accepted",
      section: SEARCH,
      run: async (context) => void expectRows(await context.send(searchPath("стихи 詩 été ☕"))),
    },
    ...refusalChecks(SEARCH, [
      { name: "a search without q is rejected with 422", path: "/v1/prompts/publish" },
      { name: "a search with an empty q is rejected with 422", path: "/v1/prompts/publish?q=" },
      { name: "a search for only spaces is rejected with 422", path: searchPath("   ") },
      { name: "201 characters are rejected with 422", path: searchPath("a".repeat(201)) },
    ]),
  ],
};

const VERSION_FIELDS = {
  promptVersionId: "uuid",
  promptId: "uuid",
  title: "text",
  publishedAt: "time",
  config: "object",
} as const;

const promptPath = (context: ConformContext): string => `/v1/prompts/${context.prompt().promptId}`;
const versionPath = (context: ConformContext): string => `/v1/prompt-versions/${context.prompt().promptVersionId}`;

function readOne(path: (context: ConformContext) => string) {
  return async (context: ConformContext) => {
    const exchange = await context.answer(path(context));
    return { objects: [expectData(exchange)], exchange };
  };
}

/** Checks that every form of malformed id is a 422. */
function badIdChecks(
  section: string,
  name: string,
  pathOf: (id: string, context: ConformContext) => string,
): ConformCheck[] {
  return refusalChecks(
    section,
    Object.entries(BAD_IDS).map(([what, id]) => ({
      name: `${name} that is ${what} is rejected with 422`,
      path: (context: ConformContext) => pathOf(id, context),
    })),
  );
}

const GET_PROMPT = "GET /v1/prompts/:promptId";
const prompts: Group<ConformContext> = {
  title: "Prompts",
  checks: [
    ...fieldChecks({ what: "a prompt", section: GET_PROMPT }, VERSION_FIELDS, readOne(promptPath)),
    {
      name: "a prompt is the requested one",
      section: GET_PROMPT,
      run: async (context) => {
        const exchange = await context.answer(promptPath(context));
        const { promptId } = context.prompt();
        expectThat(expectData(exchange)["promptId"] === promptId, `promptId ${promptId}`, exchange);
      },
    },
    {
      name: "a prompt with versionId is that version",
      section: GET_PROMPT,
      run: async (context) => {
        const { promptVersionId } = context.prompt();
        const exchange = await context.send(`${promptPath(context)}?versionId=${promptVersionId}`);
        const isSame = expectData(exchange)["promptVersionId"] === promptVersionId;
        expectThat(isSame, `promptVersionId ${promptVersionId}`, exchange);
      },
    },
    ...badIdChecks(GET_PROMPT, "a promptId", (id) => `/v1/prompts/${id}`),
    ...badIdChecks(GET_PROMPT, "a versionId", (id, context) => `${promptPath(context)}?versionId=${id}`),
    ...refusalChecks(GET_PROMPT, [
      { name: "an unknown prompt returns 404", path: `/v1/prompts/${ABSENT_ID}`, codes: ["NOT_FOUND_ERROR"] },
      {
        name: "an unknown version of a prompt returns 404",
        path: (context) => `${promptPath(context)}?versionId=${ABSENT_ID}`,
        codes: ["NOT_FOUND_ERROR"],
      },
      {
        name: "a version of an unknown prompt returns 404",
        path: (context) => `/v1/prompts/${OTHER_ABSENT_ID}?versionId=${context.prompt().promptVersionId}`,
        codes: ["NOT_FOUND_ERROR"],
      },
    ]),
  ],
};

const GET_VERSION = "GET /v1/prompt-versions/:promptVersionId";
const versions: Group<ConformContext> = {
  title: "Prompt versions",
  checks: [
    ...fieldChecks({ what: "a version", section: GET_VERSION }, VERSION_FIELDS, readOne(versionPath)),
    {
      name: "a version equals its prompt requested with that versionId",
      section: GET_VERSION,
      run: async (context) => {
        const { promptVersionId } = context.prompt();
        const version = expectData(await context.answer(versionPath(context)));
        const exchange = await context.send(`${promptPath(context)}?versionId=${promptVersionId}`);
        const same = ["promptId", "promptVersionId", "title", "publishedAt"].every(
          (name) => expectData(exchange)[name] === version[name],
        );
        expectThat(same, "the same fields as the version requested by its own id", exchange);
      },
    },
    ...badIdChecks(GET_VERSION, "a promptVersionId", (id) => `/v1/prompt-versions/${id}`),
    ...refusalChecks(GET_VERSION, [
      { name: "an unknown version returns 404", path: `/v1/prompt-versions/${ABSENT_ID}`, codes: ["NOT_FOUND_ERROR"] },
      {
        name: "the id of a prompt is not a version: 404",
        path: (context) => `/v1/prompt-versions/${context.prompt().promptId}`,
        codes: ["NOT_FOUND_ERROR"],
      },
    ]),
  ],
};

export const MARKETPLACE_GROUPS: readonly Group<ConformContext>[] = [search, prompts, versions];
