/** The tools for agents, held to the same guarantees on every way to reach them, with the official client. */
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { upsertLabel } from "../../src/prompts/own/labels-store.ts";
import { directedPrompt, imagePrompt, photoPrompt, PNG_BASE64, promptFile } from "../prompts/prompt-files.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { closeAll, connect, connectOnce, hearProgress, textsOf, WAYS, type Connecting } from "./mcp-clients.ts";
import { eventually } from "../support/eventually.ts";

const POEM = promptFile({
  title: "Poem for agents",
  slug: "poem-for-agents",
  description: "Writes a poem about a thing.",
  fields: `inputs: { "The Thing's name": { description: What it is about }, mood: { options: { Calm: calm, Loud: loud }, default: Calm }, lines: { type: number, min: 1, max: 9, default: "3" } }`,
  body: `Write about {{ input["The Thing's name"] }}, {{ mood }}, {{ lines }}.`,
});

let server: TestServer;
let caller: TestCaller;
let to: Connecting;

beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller();
  to = { url: server.url, apiKey: caller.apiKey };
  await server.publish(POEM, { authorId: caller.accountId });
  await server.publish(imagePrompt({ slug: "blue-square" }));
  await server.publish(photoPrompt(1, { slug: "redraw" }));
  await server.publish(directedPrompt({ slug: "directed" }));
  await server.publish(
    promptFile({
      slug: "as-json",
      fields: "output: { schema: { type: object, properties: { word: { type: string } }, required: [word] } }",
    }),
  );
});
afterAll(async () => {
  await closeAll();
  await server.close();
});

async function onlyRun() {
  const { rows } = await caller.client.runs.list({ limit: 1 });
  const [row] = rows;
  if (row === undefined) throw new Error("There is no run.");
  return row;
}

describe.each(WAYS)("over %s", (way) => {
  test("four tools are listed, and none for a prompt that was not chosen", async () => {
    const client = await connectOnce(way, to);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["search_prompts", "show_prompt", "run_prompt", "get_run"]);
    expect((await client.listResources()).resources).toEqual([]);
  });

  test("a prompt is found, shown with its inputs and price, and run once with them", async () => {
    const client = await connectOnce(way, to);
    const found = await client.callTool({ name: "search_prompts", arguments: { query: "poem for agents" } });
    expect(textsOf(found.content)[0]).toContain("- poem-for-agents: Poem for agents (text, ");
    const shown = await client.callTool({ name: "show_prompt", arguments: { prompt: "poem-for-agents" } });
    expect(textsOf(shown.content)[0]).toContain("`The Thing's name`: required; What it is about");
    const inputs = { "The Thing's name": "tea", mood: "Loud", lines: 2 };
    const ran = await client.callTool({ name: "run_prompt", arguments: { prompt: "poem-for-agents", inputs } });
    expect(ran.isError).toBeFalsy();
    const { runId, outputs } = await onlyRun();
    expect(textsOf(ran.content)).toEqual([outputs[0]?.data, expect.stringContaining(`Run ${runId}, `)]);
    const again = await client.callTool({ name: "get_run", arguments: { runId } });
    expect(textsOf(again.content)).toEqual(textsOf(ran.content));
  });

  test("a chosen prompt is its own tool, whose arguments are its inputs", async () => {
    const client = await connectOnce(way, { ...to, prompts: "a b,poem-for-agents,nobody-has-this,tea@" });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).slice(4)).toEqual(["poem-for-agents"]);
    expect(tools[4]).toMatchObject({
      title: "Poem for agents",
      description: expect.stringContaining("Writes a poem about a thing.\nMakes text; ") as string,
      inputSchema: {
        type: "object",
        properties: {
          The_Thing_s_name: { type: "string", title: "The Thing's name", description: "What it is about" },
          mood: { type: "string", enum: ["Calm", "Loud"], default: "Calm" },
          lines: { type: "number", minimum: 1, maximum: 9 },
        },
        required: ["The_Thing_s_name"],
      },
    });
    const ran = await client.callTool({ name: "poem-for-agents", arguments: { The_Thing_s_name: "rain", lines: 4 } });
    expect(textsOf(ran.content)[0]).toBe((await onlyRun()).outputs[0]?.data);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(["promptd://prompts/poem-for-agents"]);
    const read = await client.readResource({ uri: "promptd://prompts/poem-for-agents" });
    expect(read.contents[0]).toMatchObject({
      mimeType: "text/markdown",
      text: expect.stringContaining("# Poem for agents\n\nWrites a poem about a thing.") as string,
    });
  });

  test("an invalid label is reported to each client that connects, and removes no other tool", async () => {
    const prompts = "directed,poem-for-agents@latest";
    const client = await connectOnce(way, { ...to, prompts, label: "Production!" });
    const fault =
      'The label must be 1 to 40 letters a-z, digits, and hyphens, starting with a letter, got "Production!". It chooses no prompts.';
    expect(client.getInstructions()).toContain(fault);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).slice(3)).toEqual(["get_run", "poem-for-agents_latest"]);
    await expect(client.callTool({ name: "directed", arguments: {} })).rejects.toThrow(fault);
  });

  test("progress is reported while the run continues", async () => {
    const client = await connectOnce(way, to);
    const messages = hearProgress(client);
    const call = { name: "run_prompt", arguments: { prompt: "directed", inputs: { do: "delay=200" } } };
    await client.callTool(call, { onprogress: () => {} }); // asks for progress
    expect(messages).toContain("succeeded");
    expect(messages).toContain("output 1 is ready");
  });

  test("an image is returned as an image, and by its address", async () => {
    const client = await connectOnce(way, to);
    const { content } = await client.callTool({ name: "run_prompt", arguments: { prompt: "blue-square" } });
    const [image] = content;
    expect(image).toMatchObject({ type: "image", mimeType: "image/png" });
    const address = (await onlyRun()).outputs[0]?.data ?? "";
    expect(textsOf(content)[0]).toContain(address);
    const bytes = Buffer.from(await (await fetch(address)).arrayBuffer());
    expect(image?.type === "image" && image.data).toBe(bytes.toString("base64"));
  });

  test("an image is accepted as Base64 or as a data URL, and never as a file path", async () => {
    const client = await connectOnce(way, { ...to, prompts: "redraw" });
    const tool = async (image: string) => client.callTool({ name: "redraw", arguments: { Photo_1: image } });
    expect((await tool(PNG_BASE64)).content[0]?.type).toBe("image");
    expect((await tool(`data:image/png;base64,${PNG_BASE64}`)).content[0]?.type).toBe("image");
    const before = (await onlyRun()).runId;
    const refused = await tool("/etc/hostname");
    expect(refused.isError).toBe(true);
    expect(textsOf(refused.content)[0]).toContain("File paths are not accepted here.");
    expect((await onlyRun()).runId).toBe(before);
  });

  test("the JSON that a prompt promises is returned as structured content", async () => {
    const client = await connectOnce(way, to);
    const { structuredContent, content } = await client.callTool({
      name: "run_prompt",
      arguments: { prompt: "as-json" },
    });
    expect(structuredContent).toEqual({ word: expect.any(String) as string });
    expect(JSON.parse(textsOf(content)[0] ?? "")).toEqual(structuredContent);
  });

  test("a failed run is an error with its reason, and costs nothing", async () => {
    const client = await connectOnce(way, to);
    const call = { name: "run_prompt", arguments: { prompt: "directed", inputs: { do: "error=400" } } };
    const { isError, content } = await client.callTool(call);
    const { runId, outputs } = await onlyRun();
    expect(isError).toBe(true);
    expect(textsOf(content)).toEqual([`The run ${runId} failed and costs nothing. ${outputs[0]?.data}`]);
  });

  test("invalid arguments are refused with the valid ones, and nothing is run", async () => {
    const client = await connectOnce(way, to);
    const before = (await onlyRun()).runId;
    const answerTo = async (args: Record<string, unknown>) => {
      const { isError, content } = await client.callTool({ name: "run_prompt", arguments: args });
      return [isError, textsOf(content)[0]];
    };
    expect(await answerTo({ prompt: "poem-for-agents", input: { "The Thing's name": "tea" } })).toEqual([
      true,
      'run_prompt has no argument "input". Did you mean "inputs"? Nothing was run.',
    ]);
    expect(await answerTo({ prompt: "nobody-has-this" })).toEqual([
      true,
      "No published prompt has the slug nobody-has-this.",
    ]);
    expect(await answerTo({ prompt: "poem-for-agents", inputs: { thing: "tea" } })).toEqual([
      true,
      `The prompt has no input "thing". Its inputs: The Thing's name, mood, lines. Nothing was run.`,
    ]);
    expect(await answerTo({ prompt: "poem-for-agents", inputs: { ["mood".repeat(50_000)]: "Loud" } })).toEqual([
      true,
      `The prompt has no input "${"mood".repeat(10)}…". Its inputs: The Thing's name, mood, lines. Nothing was run.`,
    ]);
    expect(await answerTo({ prompt: "poem-for-agents" })).toEqual([true, `Text input "The Thing's name" is required.`]);
    expect(await answerTo({})).toEqual([true, "prompt is required. Nothing was run."]);
    await expect(client.callTool({ name: "no_such_tool", arguments: {} })).rejects.toThrow("no_such_tool");
    expect((await onlyRun()).runId).toBe(before);
  });

  test.each([
    ["search_prompts", {}, "query is required."],
    ["search_prompts", { query: "" }, 'query must be a string of 1 to 200 characters, got "".'],
    [
      "search_prompts",
      { query: "tea", limit: 50, page: 2 },
      'limit must be an integer from 1 to 20, got 50. search_prompts has no argument "page". Its arguments: query, limit.',
    ],
    ["show_prompt", { prompt: 7 }, "prompt must be the slug or the id of a prompt, got 7."],
    ["get_run", { runId: null }, "runId must be the id of a run, got null."],
    ["get_run", { runId: "x", waitSeconds: 61 }, "waitSeconds must be an integer from 0 to 60, got 61."],
    [
      "run_prompt",
      { prompt: "a", images: [1] },
      "images must be a list of strings, got 1 in images[0]. Nothing was run.",
    ],
    [
      "run_prompt",
      { prompt: "a", inputs: { mood: null }, idempotencyKey: "a b" },
      'inputs must be an object whose values are strings, numbers, booleans, or lists of strings and numbers, got null in inputs.mood. idempotencyKey must be 1 to 255 visible ASCII characters without spaces, got "a b". Nothing was run.',
    ],
    [
      "run_prompt",
      { prompt: "a", options: "low" },
      'options must be an object whose values are strings or numbers, got "low". Nothing was run.',
    ],
  ])("%s with %j gets the same message as in the HTTP API", async (name, args, message) => {
    const client = await connectOnce(way, to);
    const { isError, content } = await client.callTool({ name, arguments: args });
    expect([isError, textsOf(content)[0]]).toEqual([true, message]);
  });

  test("another account's run and a run that does not exist are the same to the caller", async () => {
    const { promptVersionId } = await server.publish(promptFile());
    const { runId } = await (await server.createCaller()).client.run(promptVersionId);
    const client = await connectOnce(way, to);
    const answerTo = async (id: string) => {
      const { isError, content } = await client.callTool({ name: "get_run", arguments: { runId: id } });
      return { isError, text: textsOf(content)[0]?.replace(id, "ID") };
    };
    expect(await answerTo(runId)).toEqual(await answerTo(randomUUID()));
    expect(await answerTo(runId)).toEqual({ isError: true, text: "No run has the id ID." });
  });

  test("a call that the client cancels also cancels its run", async () => {
    const client = await connectOnce(way, to);
    const cancel = new AbortController();
    const call = { name: "run_prompt", arguments: { prompt: "directed", inputs: { do: "hang" } } };
    const onprogress = ({ message }: { message?: string | undefined }) => {
      if (message === "running") cancel.abort();
    };
    await expect(client.callTool(call, { signal: cancel.signal, onprogress })).rejects.toThrow(/abort/i);
    await eventually(async () => {
      const { runStatus, outputs } = await onlyRun();
      expect([runStatus, outputs]).toEqual(["failed", [{ type: "error", data: "Canceled by user." }]]);
    });
  });

  test("a label chooses the account's own prompts that carry it", async () => {
    const name = `label-of-${way.replaceAll(/[^a-z0-9]+/gi, "-").toLowerCase()}`;
    const own = await server.publish(promptFile({ slug: `own-${name}` }), { authorId: caller.accountId });
    const other = await server.publish(promptFile({ slug: `other-${name}` }));
    for (const { promptId, promptVersionId } of [own, other]) {
      await server.app.db.tx((tx) => upsertLabel(tx, promptId, { label: "agents", promptVersionId }));
    }
    const client = await connectOnce(way, { ...to, label: "agents" });
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    expect(names).toContain(`own-${name}_agents`);
    expect(names.filter((tool) => tool.startsWith("other-"))).toEqual([]);
  });

  test("words complete to slugs, and slugs lead to resources", async () => {
    const client = await connectOnce(way, to);
    const { completion } = await client.complete({
      ref: { type: "ref/resource", uri: "promptd://prompts/{slug}" },
      argument: { name: "slug", value: "poem-for-ag" },
    });
    expect(completion.values).toContain("poem-for-agents");
    await expect(client.readResource({ uri: "promptd://prompts/nobody-has-this" })).rejects.toThrow(/nobody-has-this/);
  });
});

describe("over standard input alone", () => {
  test("every tool reports a key that is not valid", async () => {
    const client = await connect("standard input", { ...to, apiKey: "pd_000000000000000000000000000000000000" });
    const { isError, content } = await client.callTool({ name: "search_prompts", arguments: { query: "tea" } });
    expect([isError, textsOf(content)[0]]).toEqual([true, expect.stringContaining("The API key is not valid.")]);
  });

  test("images in the chosen folder are read by path, and no other file is", async () => {
    const folder = await mkdtemp(join(tmpdir(), "promptd-images-"));
    const images = join(folder, "images");
    onTestFinished(() => rm(folder, { recursive: true }));
    await mkdir(images);
    await writeFile(join(images, "cat.png"), Buffer.from(PNG_BASE64, "base64"));
    await writeFile(join(folder, "secret.png"), Buffer.from(PNG_BASE64, "base64"));
    await symlink(join(folder, "secret.png"), join(images, "link.png"));
    const client = await connect("standard input", { ...to, prompts: "redraw", images });
    const redraw = (image: string) => client.callTool({ name: "redraw", arguments: { Photo_1: image } });
    expect((await redraw("cat.png")).content[0]?.type).toBe("image");
    expect((await redraw(join(images, "cat.png"))).content[0]?.type).toBe("image");
    const before = (await onlyRun()).runId;
    for (const path of ["../secret.png", join(folder, "secret.png"), "link.png", "missing.png", "/etc/hostname"]) {
      const { isError, content } = await redraw(path);
      expect([path, isError, textsOf(content)[0]]).toEqual([
        path,
        true,
        `An image must be a URL, Base64 data, or a file in ${images}.`,
      ]);
    }
    expect((await onlyRun()).runId).toBe(before);
  });
});
