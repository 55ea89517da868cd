/** Following a run: what a caller sees while it is executed, across processes, lost connections and restarts. */
import type { RunEvent } from "@promptd/contract";
import { runEventStreamSchema } from "@promptd/contract/schemas";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { json, startOwnServer } from "../providers/own-server.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { get } from "../wire/requests.ts";

const STORY =
  "---\npromptd: 1\ntitle: Story\nmodel: sandbox/text\ninputs: { ask: {} }\n---\nsandbox: delay=2000\n{{ ask }}\n";
const QUICK = STORY.replace("sandbox: delay=2000\n", "").replace("Story", "Quick");
const ASK = "Once upon a time a fox \u{1f98a} walked through the snow. ".repeat(8);

let server: TestServer;
let caller: TestCaller;
let story: string;
let quick: string;

beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller();
  story = (await server.publish(STORY)).promptVersionId;
  quick = (await server.publish(QUICK)).promptVersionId;
});
afterAll(() => server.close());

const create = (promptVersionId: string, stream = true) =>
  caller.client.runs.create({ promptVersionId, inputs: { textInputs: { ask: ASK } } }, { respondAsync: true, stream });

async function follow(runId: string, client = caller.client): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of client.runs.follow(runId)) events.push(event);
  return events;
}

type TextEvent = Extract<RunEvent, { event: "text" }>;

/** A chunk of a chat completion, as the OpenAI interface streams it. */
function chunk(content: string, finish: string | null = null): string {
  const choices = [{ index: 0, delta: { role: "assistant", content }, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "tale", choices })}\n\n`;
}

function parse(text: string): RunEvent[] {
  return text.split("\n\n").flatMap((block) => {
    const event = /^event: (.+)$/m.exec(block)?.[1];
    if (event === undefined) return [];
    const id = /^id: (.+)$/m.exec(block)?.[1];
    const data: unknown = JSON.parse(/^data: (.+)$/m.exec(block)?.[1] ?? "");
    return [{ event, data, ...(id === undefined ? {} : { id }) } as RunEvent];
  });
}

function namesOf(events: readonly RunEvent[]): string[] {
  return [...new Set(events.map(({ event }) => event))];
}

function textOf(events: readonly RunEvent[]): string {
  return events.flatMap((event) => (event.event === "text" ? [event.data.text] : [])).join("");
}

async function rawEvents(runId: string, lastEventId: string): Promise<string> {
  const answer = await fetch(`${server.url}/v1/runs/${runId}/events`, {
    headers: { authorization: `Bearer ${caller.apiKey}`, "last-event-id": lastEventId },
  });
  return answer.text();
}

describe.concurrent("a run that is followed", () => {
  test("shows its text while it is being written, and ends with the same run that a GET returns", async () => {
    const { runId } = await create(story);
    const events = await follow(runId);
    const run = await caller.client.runs.get(runId);
    expect(namesOf(events)).toEqual(["status", "text", "output", "done"]);
    expect(events.filter(({ event }) => event === "text").length).toBeGreaterThan(3);
    expect(run.outputs[0]?.data.startsWith(textOf(events))).toBe(true);
    expect(textOf(events)).toContain("Once upon a time");
    expect(events.at(-1)).toEqual({ event: "done", data: run });
    expect(runEventStreamSchema.parse({ events })).toBeDefined();
  });

  test("can have two followers at once, and through a process that has no worker", async () => {
    const api = await server.startAnother("api");
    const { runId } = await create(story);
    const [here, there] = await Promise.all([
      follow(runId),
      follow(runId, server.clientOf(caller.apiKey, api.listenUrl ?? "")),
    ]);
    expect(textOf(there)).toContain("Once upon a time");
    expect(there.at(-1)).toEqual(here.at(-1));
    await api.close();
  });

  test("continues after the last event that a follower has", async () => {
    const { runId } = await create(story);
    const early: TextEvent[] = [];
    for await (const event of caller.client.runs.follow(runId)) {
      if (event.event === "text") early.push(event);
      if (early.length === 2) break;
    }
    const rest = parse(await rawEvents(runId, early.at(-1)?.id ?? ""));
    const texts = rest.filter((event) => event.event === "text");
    expect(texts.length).toBeGreaterThan(0);
    expect(Number(texts[0]?.id)).toBeGreaterThan(Number(early.at(-1)?.id));
    const done = rest.find((event) => event.event === "done");
    expect(done?.data.outputs[0]?.data.startsWith(textOf([...early, ...texts]))).toBe(true);
  });

  test("that has ended sends its state, its outputs, and its end at once", async () => {
    const { runId } = await caller.client.runs.create({
      promptVersionId: quick,
      inputs: { textInputs: { ask: "hi" } },
    });
    const events = await follow(runId);
    expect(events.map(({ event }) => event)).toEqual(["status", "output", "done"]);
    expect(await rawEvents(runId, "0")).toMatch(/^retry: 1000\n\nevent: status\ndata: /);
  });

  test("fails with its cause in the right position", async () => {
    const broken = await server.publish(STORY.replace("delay=2000", "delay=50 error=400").replace("Story", "Broken"));
    const { runId } = await create(broken.promptVersionId);
    const events = await follow(runId);
    expect(events.at(-1)).toMatchObject({ event: "done", data: { runStatus: "failed" } });
    expect(events.at(-2)).toMatchObject({ event: "output", data: { index: 0, type: "error" } });
  });

  test("of another account is the same 404 as a run that never existed", async () => {
    const { runId } = await create(quick, false);
    const stranger = await server.createCaller();
    const foreign = await get(stranger.client, `/v1/runs/${runId}/events`);
    const absentId = `${runId.slice(0, -1)}${runId.endsWith("0") ? "1" : "0"}`;
    const absent = await get(stranger.client, `/v1/runs/${absentId}/events`);
    expect(foreign.httpStatus).toBe(404);
    expect(absent.text).toBe(foreign.text.replaceAll(runId, absentId));
  });

  test("rejects an event id that is not valid", async () => {
    const { runId } = await create(quick, false);
    const answer = await caller.client.request({
      method: "GET",
      path: `/v1/runs/${runId}/events`,
      headers: { "last-event-id": "abc" },
    });
    expect(answer.httpStatus).toBe(400);
  });
});

describe("a run whose model has to be called again", () => {
  test("starts its text over", async () => {
    let calls = 0;
    // The provider continues when the follower has received what came before.
    const [firstSeen, secondSeen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const provider = await startOwnServer(({ path }, response) => {
      if (path === "/v1/models") return json(response, { data: [{ id: "tale" }] });
      calls += 1;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(chunk(`take ${calls}: once `));
      response.write(chunk("upon "));
      const isFirst = calls === 1;
      void (isFirst ? firstSeen : secondSeen).promise.then(() =>
        isFirst ? response.destroy() : response.end(`${chunk("a time", "stop")}data: [DONE]\n\n`),
      );
    });
    const app = await startTestServer({
      environment: { OPENAI_BASE_URL: `${provider.url}/v1`, OPENAI_API_KEY: "key" },
    });
    onTestFinished(() => app.close());
    const { client } = await app.createCaller();
    const { promptVersionId } = await app.publish(QUICK.replace("sandbox/text", "compatible/tale"));
    const body = { promptVersionId, inputs: { textInputs: { ask: ASK } } };
    const { runId } = await client.runs.create(body, { respondAsync: true, stream: true });
    const events: RunEvent[] = [];
    const of = (call: number) =>
      textOf(events.filter((event) => event.event === "text").filter(({ data }) => data.call === call));
    for await (const event of client.runs.follow(runId)) {
      events.push(event);
      if (of(1) === "take 1: once upon ") firstSeen.resolve();
      if (of(2) === "take 2: once upon ") secondSeen.resolve();
    }
    expect(of(1)).toBe("take 1: once upon ");
    expect("take 2: once upon a time").toContain(of(2));
    expect(events.at(-1)).toMatchObject({
      event: "done",
      data: { outputs: [{ type: "text", data: "take 2: once upon a time" }] },
    });
  });
});

describe("a run that nobody follows", () => {
  test("leaves no piece of its text behind", async () => {
    const { runId } = await caller.client.runs.create({ promptVersionId: story, inputs: { textInputs: { ask: ASK } } });
    const pieces = await server.app.db.query("select 1 from run_pieces where run_id = $1", [runId]);
    expect(pieces).toEqual([]);
  });
});

describe("a process that stops", () => {
  test("ends its streams, and a follower finds the end of the run at another process", async () => {
    const api = await server.startAnother("api");
    const { runId } = await create(story);
    const client = server.clientOf(caller.apiKey, api.listenUrl ?? "");
    const first = client.runs.follow(runId)[Symbol.asyncIterator]();
    expect((await first.next()).value).toMatchObject({ event: "status" });
    await api.close();
    await expect(async () => {
      for (let next = await first.next(); next.done !== true; next = await first.next());
    }).rejects.toThrow(/ended before the run|No connection/);
    expect((await follow(runId)).at(-1)).toMatchObject({ event: "done", data: { runStatus: "succeeded" } });
  });
});
