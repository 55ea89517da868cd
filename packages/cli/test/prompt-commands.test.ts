import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { setup, type Reply, type Routes } from "./fake-service.ts";
import { config, PROMPT, RUN, VERSION, version } from "./sample-prompt.ts";

describe("search", () => {
  const row = {
    ...version,
    description: "From one\u001b[31m photo.",
    slug: "s",
    model: 12,
    modality: 1,
    estimatedCredits: 12,
    uses: 340,
    upVotes: 17,
    samples: {},
    configs: config,
  };

  test("joins its words, and shows each prompt with its price, use, and next command", async () => {
    const { run, seen } = await setup({ "GET /v1/prompts/publish": { data: { rows: [row] } } });
    const { stdout } = await run("search", "cat", "&", "dog");
    expect(seen[0]?.route).toBe("GET /v1/prompts/publish?q=cat+%26+dog");
    expect(stdout).toBe(
      `Cat portrait (image, sandbox: not an AI model, 12 credits, 340 runs)\n  From one\\u001b[31m photo.\n  promptd show s\n`,
    );
  });

  test("says so when nothing is found", async () => {
    const { run, runJson } = await setup({ "GET /v1/prompts/publish": { data: { rows: [] } } });
    expect((await run("search", "cat")).stdout).toBe("No prompts found.\n");
    expect(await runJson("search", "cat")).toEqual({ rows: [] });
  });
});

describe("show", () => {
  test("describes inputs in order, images, options, and a matching command", async () => {
    const { run } = await setup({ [`GET /v1/prompt-versions/${VERSION}`]: { data: version } });
    expect((await run("show", VERSION)).stdout).toBe(`Cat portrait

prompt     ${PROMPT}
version    ${VERSION}
published  2026-11-02T08:00:00.000Z
model      sandbox/image (image; sandbox: not an AI model)
price      about 12 credits; 15 must be available

Text inputs:
  Child's Age  required; Age; In years
  tone         default "calm"; one of: calm, loud

Images:
  1  Photo  One clear face

Options:
  quality  low, medium, high (default medium)

Run it:
  promptd run ${VERSION} 'Child'\\''s Age=…' --image Photo.jpg
`);
  });

  test("also accepts a prompt id; --json is the server's response", async () => {
    const { runJson, seen } = await setup({ [`GET /v1/prompts/${PROMPT}`]: { data: version } });
    expect(await runJson("show", PROMPT)).toEqual(version);
    expect(seen.map(({ route }) => route)).toEqual([`GET /v1/prompt-versions/${PROMPT}`, `GET /v1/prompts/${PROMPT}`]);
  });

  test("an id that matches neither is reported as such: the server's message mentions only the last attempt", async () => {
    const { run } = await setup();
    const stderr = `No published prompt or prompt version has the id ${RUN}.\nFind prompts with "promptd search <words>".\n`;
    expect(await run("show", RUN)).toEqual({ code: 1, stdout: "", stderr });
    expect(await run("run", RUN)).toEqual({ code: 1, stdout: "", stderr });
  });
});

test("an unknown label is reported as an unknown label, not as an unknown slug", async () => {
  const refused: Reply = { status: 404, error: { code: "NOT_FOUND_ERROR", message: "No prompt has it." } };
  const route = "GET /v1/prompt-slugs/cat-poem";
  const { run } = await setup({ [`${route}?label=prod`]: refused, [route]: { data: version } });
  const stderr = 'The prompt "cat-poem" has no label "prod".\nFor its latest version, use "cat-poem".\n';
  expect(await run("show", "cat-poem@prod")).toEqual({ code: 1, stdout: "", stderr });
});

describe("models", () => {
  const models = [
    { model: "sandbox/image", modality: "image", availableRunOptions: [{ key: "quality", options: ["low", "high"] }] },
    { model: "sandbox/video", modality: "video", availableRunOptions: [] },
  ];
  const reply: Reply = { data: { hash: "h1", resources: { models } } };

  test("are listed with their options", async () => {
    const { run } = await setup({ "GET /v1/resources": reply });
    const { stdout } = await run("models");
    expect(stdout).toBe(
      "MODEL          MODALITY  OPTIONS\nsandbox/image  image     quality=low|high\nsandbox/video  video\n",
    );
  });

  test("of discovered servers come with a note about how many run at once", async () => {
    const found = { model: "local/llama3.2", modality: "text", availableRunOptions: [] };
    const { run } = await setup({ "GET /v1/resources": { data: { hash: "h", resources: { models: [found] } } } });
    expect((await run("models")).stdout).toContain("runs as many requests at once as its server accepts, at most 64");
  });

  test("are cached: every command sends the hash, and an unchanged list is not sent again", async () => {
    const routes: Routes = { "GET /v1/resources": reply, "GET /v1/prompts/publish": { data: { rows: [] } } };
    const { run, runJson, seen } = await setup(routes);
    await run("models");
    await run("search", "x");
    expect(seen.map(({ headers }) => headers["cli-agent"])).toEqual([undefined, "resources_hash=h1"]);
    routes["GET /v1/resources"] = { status: 304, bytes: new Uint8Array() };
    expect(await runJson("models")).toEqual({ hash: "h1", resources: { models } });
    expect(seen[2]?.headers["if-none-match"]).toBe('"h1"');
  });

  test("a command that learns that the list has changed fetches it again", async () => {
    const stale = { "action-require": "update-resources" };
    const routes: Routes = { "GET /v1/resources": reply, "GET /v1/prompts/publish": { data: { rows: [] } } };
    const { run, seen } = await setup(routes);
    await run("models");
    routes["GET /v1/resources"] = { data: { hash: "h2", resources: { models: [] } } };
    routes["GET /v1/prompts/publish"] = { data: { rows: [] }, headers: stale };
    expect((await run("search", "x")).stdout).toBe("No prompts found.\n");
    await run("search", "x");
    expect(seen.map(({ route }) => route.split("?")[0])).toEqual([
      "GET /v1/resources",
      "GET /v1/prompts/publish",
      "GET /v1/resources",
      "GET /v1/prompts/publish",
      "GET /v1/resources",
    ]);
    expect(seen[3]?.headers["cli-agent"]).toBe("resources_hash=h2");
  });

  test("another server's cache is not used, and a broken cache counts as missing", async () => {
    const { run, env, seen, home, baseUrl } = await setup({ "GET /v1/resources": reply });
    await run("models");
    env["PROMPTD_URL"] = baseUrl.replace("127.0.0.1", "localhost");
    await run("models");
    expect(seen[1]?.headers).not.toHaveProperty("if-none-match");
    await writeFile(join(home, ".config/promptd/models.json"), "{broken");
    expect((await run("models")).code).toBe(0);
  });
});

test("search rejects empty words, and mcp rejects an invalid image folder, before contacting a server", async () => {
  const { run, home, seen } = await setup();
  expect((await run("search", " ", "")).stderr).toBe(
    "No words to search for were given.\nExample: promptd search cat poem\n",
  );
  expect((await run("mcp", "--images", "nope")).stderr).toBe("There is no folder nope. Check the name.\n");
  await writeFile(join(home, "a.png"), "");
  expect((await run("mcp", "--images", "a.png")).stderr).toBe(
    "a.png is not a folder. Name the folder that the file is in.\n",
  );
  expect(seen).toEqual([]);
});
