/**
 * Compares what this service can send, member by member, with what the providers document (documented/): every catalogue
 * model with every option, and everything an author may write in a prompt file.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ModelCall } from "../../src/models/ai-sdk/model-adapter.ts";
import { resolveMapping, type CatalogueEntry } from "../../src/models/catalogue/catalogue.ts";
import { featuresOf } from "../../src/models/index.ts";
import { callOf, catalogue, createRig, IMAGE } from "./adapter-rig.ts";
import { ELSEWHERE } from "./all-providers.ts";
import { acceptedSettings, captureTransport, type Captured } from "./capture.ts";
import { covers, DOCUMENTED, documentationOf, findUndocumented, membersOf } from "./documented/documented.ts";

interface Request {
  readonly name: string;
  /** Host and path. */
  readonly to: string;
  readonly body: unknown;
}

const GOLDEN = join(import.meta.dirname, "golden");
/** wire.test.ts verifies these files. */
const golden = readdirSync(GOLDEN).flatMap((file) => {
  const models = JSON.parse(readFileSync(join(GOLDEN, file), "utf8")) as Record<string, Record<string, Captured[]>>;
  return Object.entries(models).flatMap(([model, calls]) =>
    Object.entries(calls).flatMap(([name, requests]) => requests.map((each) => requestOf(`${model}, ${name}`, each))),
  );
});

function requestOf(name: string, { request, body }: Captured): Request {
  return { name, to: request.replace(/^POST https?:\/\//, ""), body };
}

const SCHEMA = {
  type: "object",
  properties: { verdict: { type: "string" } },
  required: ["verdict"],
  additionalProperties: false,
};

/** For a picture that is generated, not edited, as in the golden files. */
function optionsOf(entry: CatalogueEntry): Record<string, Partial<ModelCall>> {
  return Object.fromEntries(
    Object.entries(entry.runOptions).flatMap(([key, { values }]) =>
      Object.keys(values).map((value) => [`${key}=${value}`, { mapping: resolveMapping(entry, { [key]: value }) }]),
    ),
  );
}

/** What an author may add to a prompt for this model. */
function authorsCalls(entry: CatalogueEntry): Record<string, Partial<ModelCall>> {
  const [picture, mask] = [IMAGE, { ...IMAGE, isMask: true }];
  if (entry.modality !== "text")
    return entry.inputs?.images?.mask === true ? { mask: { images: [picture, mask] }, ...optionsOf(entry) } : {};
  const settings = acceptedSettings(entry);
  return {
    settings: { settings },
    ...(featuresOf(entry)?.both === false ? { "topP alone": { settings: { topP: 0.75 } } } : {}),
    "messages and a schema": {
      messages: [
        { role: "user", text: "A question." },
        { role: "assistant", text: "An answer." },
      ],
      outputSchema: SCHEMA,
      correction: { answer: "No.", problem: "it is not JSON" },
    },
    "streamed text": { onText: () => {} },
    ...(entry.webSearch === undefined ? {} : { "search of the web": { webSearch: { sources: true } } }),
  };
}

async function sentFor(entry: CatalogueEntry, settings: Record<string, string> = {}): Promise<Request[]> {
  const requests = Object.entries(authorsCalls(entry)).map(async ([name, change]) => {
    const captured: Captured[] = [];
    const { adapter, signal } = createRig(settings, { connect: () => captureTransport(captured) });
    await adapter.callModel(callOf(entry, change), signal);
    return captured.map((each) => requestOf(`${entry.model}, ${name}`, each));
  });
  return (await Promise.all(requests)).flat();
}

const living = catalogue.entries.filter(({ status, provider }) => status !== "retired" && provider !== "sandbox");

test("every member that is sent is in its provider's documentation, and nothing is listed there without need", async () => {
  const elsewhere = living.filter(({ provider, modality }) => provider === "openai" && modality === "text");
  const authors = await Promise.all([
    ...living.map((entry) => sentFor(entry)),
    ...elsewhere.map((entry) => sentFor(entry, { OPENAI_BASE_URL: ELSEWHERE })),
  ]);
  const sent = [...golden, ...authors.flat()];
  const undocumented = sent.flatMap(({ name, to, body }) =>
    findUndocumented(to, body).map((path) => `${name}: ${path}`),
  );
  expect(undocumented).toEqual([]);
  const vain = DOCUMENTED.filter(({ to }) => !to.test("127.0.0.1:11434/v1/chat/completions")).flatMap(
    ({ to, sources }) => {
      const paths = sent.filter((each) => to.test(each.to)).flatMap(({ body }) => membersOf(body));
      const members = sources.flatMap((source) => source.members);
      return members.filter((each) => !paths.some((path) => covers(each, path))).map((each) => `${to.source}: ${each}`);
    },
  );
  expect(vain).toEqual([]);
});

test("an undocumented member is found at any depth, and so is a missing required one", () => {
  const to = "api.mistral.ai/v1/chat/completions";
  const body = { model: "m", messages: [{ role: "user", content: "x", name: "ada" }], seed: 1 };
  expect(findUndocumented(to, body)).toEqual(["messages[].name", "seed"]);
  expect(findUndocumented(to, { model: "m" })).toEqual(["messages is missing"]);
  expect(() => documentationOf("api.example.com/v1/chat/completions")).toThrow("documented 0 times");
});

test("every page has the day it was read", () => {
  const sources = DOCUMENTED.flatMap(({ sources: each }) => each);
  expect(sources.filter(({ page, read }) => !/^[\w.-]+\.\w+\//.test(page) || !/^\d{4}-\d\d-\d\d$/.test(read))).toEqual(
    [],
  );
});
