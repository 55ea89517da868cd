import { rmSync, writeFileSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CommandFailure } from "../src/command.ts";
import { setup, type Reply, type Routes } from "./fake-service.ts";
import { config, PROMPT, RUN, VERSION, version } from "./sample-prompt.ts";

const done = {
  runId: RUN,
  outputs: [{ type: "text", data: "Two lines\nabout tea." }],
  runStatus: "succeeded",
  tokens: 12,
};
const failed = {
  ...done,
  outputs: [{ type: "error", data: "The model did not answer." }],
  runStatus: "failed",
  tokens: 0,
};
const found = { [`GET /v1/prompt-versions/${VERSION}`]: { data: version } };
const POST = "POST /v1/runs";
const body = (seen: readonly { body: unknown }[], at: number): Record<string, unknown> =>
  seen[at]?.body as Record<string, unknown>;

/** The run continues after the server's own wait. */
const timeout = { status: 504, error: { code: "GATEWAY_TIMEOUT_ERROR", message: "m", data: { runId: RUN } } };

describe("run", () => {
  test("sends inputs, images, and options, and prints only the outputs", async () => {
    const { run, seen, home } = await setup({ ...found, "POST /v1/runs": { data: done } });
    await writeFile(join(home, "cat.png"), "not really");
    const argv = [
      "--input",
      "Child's Age=7=8",
      "-i",
      "tone=",
      "--image",
      "cat.png",
      "--image",
      "https://x.example/a.png",
    ];
    expect(await run("run", VERSION, ...argv, "--option", "quality=high")).toEqual({
      code: 0,
      stdout: "Two lines\nabout tea.\n",
      stderr: "",
    });
    expect(seen[1]?.headers.authorization).toBe("Bearer pd_test");
    expect(body(seen, 1)).toEqual({
      promptVersionId: VERSION,
      inputs: {
        textInputs: { "Child's Age": "7=8", tone: "" },
        imageInputs: [
          { type: "base64", base64: Buffer.from("not really").toString("base64") },
          { type: "url", url: "https://x.example/a.png" },
        ],
      },
      runOptions: { quality: "high" },
    });
  });

  test("says that the sandbox's JSON is not from an AI model, because the JSON cannot say so itself", async () => {
    const output = { type: "text", schema: { type: "object" } };
    const served = (model: string) => ({
      [`GET /v1/prompt-versions/${VERSION}`]: { data: { ...version, config: { ...config, model, output } } },
      [POST]: { data: done },
    });
    const sandbox = await setup(served("sandbox/text"));
    expect((await sandbox.run("run", VERSION)).stderr).toBe("sandbox/text is the sandbox, not an AI model.\n");
    const real = await setup(served("openai/gpt-5.2"));
    expect((await real.run("run", VERSION)).stderr).toBe("");
  });

  test("a prompt id runs its latest version", async () => {
    const { runJson, seen } = await setup({ [POST]: { data: done }, [`GET /v1/prompts/${PROMPT}`]: { data: version } });
    expect(await runJson("run", PROMPT)).toEqual(done);
    expect(seen.map(({ route }) => route)).toEqual([
      `GET /v1/prompt-versions/${PROMPT}`,
      `GET /v1/prompts/${PROMPT}`,
      POST,
    ]);
    expect(body(seen, 2)).toMatchObject({ promptVersionId: VERSION });
  });

  test("a slug runs the latest version; an unknown slug gets a suggestion", async () => {
    const rows = [{ ...version, slug: "cat-portrait", configs: config }];
    const { run, runJson, seen } = await setup({
      [POST]: { data: done },
      "GET /v1/prompt-slugs/cat-portrait": { data: { ...version, slug: "cat-portrait", label: null } },
      "GET /v1/prompts/publish": { data: { rows } },
    });
    expect(await runJson("run", "cat-portrait")).toEqual(done);
    expect(await runJson("run", "cat-portrait@production")).toEqual(done);
    expect(seen.map(({ route }) => route)).toContain("GET /v1/prompt-slugs/cat-portrait?label=production");
    expect((await run("run", "cat-potrait")).stderr).toBe(
      'No published prompt has the slug "cat-potrait". Did you mean "cat-portrait"?\nFind prompts with "promptd search <words>".\n',
    );
  });

  test("inputs come from words, files, standard input, a JSON file, and images by slot name", async () => {
    const { run, seen, home } = await setup({ ...found, [POST]: { data: done } }, undefined, { stdin: "from stdin\n" });
    await writeFile(join(home, "age.txt"), "seven\n");
    await writeFile(join(home, "cat.png"), "x");
    await writeFile(join(home, "inputs.json"), JSON.stringify({ tone: "loud", "Child's Age": 9 }));
    await run("run", VERSION, "Child's Age=@age.txt", "tone=-", "photo=@cat.png");
    await run("run", VERSION, "-", "-i", "tone=@me");
    await run("run", VERSION, "--inputs", "inputs.json", "tone=calm");
    const inputs = seen.filter(({ route }) => route === POST).map((one) => (one.body as { inputs: object }).inputs);
    expect(inputs).toEqual([
      { textInputs: { "Child's Age": "seven", tone: "from stdin" }, imageInputs: [{ type: "base64", base64: "eA==" }] },
      { textInputs: { "Child's Age": "from stdin", tone: "@me" }, imageInputs: [] },
      { textInputs: { "Child's Age": "9", tone: "calm" }, imageInputs: [] },
    ]);
  });

  test("a file that is not UTF-8 is rejected before anything is sent, and a byte order mark is dropped", async () => {
    const { run, seen, home } = await setup({ ...found, [POST]: { data: done } });
    await writeFile(join(home, "latin1.txt"), Buffer.from("caf\u00e9", "latin1"));
    await writeFile(join(home, "mark.txt"), "\ufeffseven\n");
    for (const argv of [["Child's Age=@latin1.txt"], ["--inputs", "latin1.txt"]]) {
      const { code, stderr } = await run("run", VERSION, ...argv);
      expect([code, stderr]).toEqual([
        1,
        "latin1.txt is not UTF-8 text.\nSave it as UTF-8, and run the command again.\n",
      ]);
    }
    await run("run", VERSION, "Child's Age=@mark.txt");
    const created = seen.filter(({ route }) => route === POST);
    expect(created).toMatchObject([{ body: { inputs: { textInputs: { "Child's Age": "seven" } } } }]);
  });

  test("an image that names its slot fills it, and the others fill the remaining slots", async () => {
    const slots = [
      { position: 0, label: "Photo", description: "" },
      { position: 1, label: "Style", description: "" },
    ];
    const both = { data: { ...version, config: { ...version.config, imageInputs: slots } } };
    const { run, seen } = await setup({ [`GET /v1/prompt-versions/${VERSION}`]: both, [POST]: { data: done } });
    await run("run", VERSION, "style=https://x.example/style.png", "--image", "https://x.example/photo.png");
    const sent = seen.find(({ route }) => route === POST)?.body;
    const image = (name: string) => ({ type: "url", url: `https://x.example/${name}.png` });
    expect(sent).toMatchObject({ inputs: { imageInputs: [image("photo"), image("style")] } });
  });

  test("a misspelled input or option is rejected with a suggestion before a run is created", async () => {
    const { run, seen } = await setup({ ...found, [POST]: { data: done } });
    const { code, stdout, stderr } = await run("run", VERSION, "tune=calm", "shape=round", "-o", "qualty=high");
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(`The prompt has no input "tune". Did you mean "tone"?
The prompt has no input "shape". Its inputs: tone, Child's Age.
The prompt has no option "qualty". Did you mean "quality"?
Nothing was sent, and nothing was charged.
`);
    expect(seen.map(({ route }) => route)).not.toContain(POST);
  });

  test("a failed run prints its error and exits with 1", async () => {
    const { run } = await setup({ ...found, "POST /v1/runs": { data: failed } });
    expect(await run("run", VERSION)).toEqual({ code: 1, stdout: "Error: The model did not answer.\n", stderr: "" });
  });

  test("--no-wait asks not to wait and prints only the runId", async () => {
    const queued = { ...done, outputs: [], runStatus: "queued", tokens: 0 };
    const { run, seen } = await setup({ ...found, "POST /v1/runs": { status: 202, data: queued } });
    expect((await run("run", VERSION, "--no-wait")).stdout).toBe(`${RUN}\n`);
    expect(seen[1]?.headers["prefer"]).toBe("respond-async");
  });

  test("keeps waiting for a run that outlives the first wait, and names it", async () => {
    const { run, seen } = await setup({ ...found, [POST]: timeout, [`GET /v1/runs/${RUN}`]: { data: done } });
    expect(await run("run", VERSION)).toMatchObject({ code: 0, stderr: `Waiting for the run ${RUN}\n` });
    expect(seen.filter(({ route }) => route === POST)).toHaveLength(1);
  });

  test.each([
    [130, new Error("Ctrl-C")],
    [143, new CommandFailure("Stopped by SIGTERM.", { exitCode: 143 })],
  ])("exit code %i after a stop during the wait, which says how to find the run again", async (exitCode, reason) => {
    const routes: Routes = { ...found, [POST]: timeout };
    const { run, stop } = await setup(routes);
    routes[`GET /v1/runs/${RUN}`] = () => {
      stop.abort(reason);
      return { data: { ...done, outputs: [], runStatus: "running" } };
    };
    const stderr = `Stopped waiting for the run.\nIt continues: promptd runs watch ${RUN}\n`;
    expect(await run("run", VERSION)).toMatchObject({ code: exitCode, stderr: expect.stringContaining(stderr) });
  });

  test.each([
    [["--input", "topic"], '--input must have the form KEY=VALUE, got "topic".'],
    [["--input", "=x"], '--input must have the form KEY=VALUE, got "=x".'],
    [["--option", "a=1", "--option", "a=2"], '--option names "a" twice. Give it once.'],
    [["--image", "missing.png"], "There is no file missing.png. Check the name.\n"],
    [["--image", "."], ". is a directory; name an image in it.\n"],
    [["--no-wait", "--out", "x"], "--no-wait and --out cannot be combined"],
    [["words"], 'An input must have the form KEY=VALUE, got "words".'],
    [["tone=@none.txt"], "There is no file none.txt. Check the name.\n"],
    [["--inputs", "none.json"], "There is no file none.json. Check the name.\n"],
    [["--inputs", "-"], "Standard input is not a JSON object."],
  ])("%j is refused before a run is made", async (argv, sentence) => {
    const { run, seen } = await setup(found);
    const { code, stderr } = await run("run", VERSION, ...argv);
    expect(code).toBe(1);
    expect(stderr).toContain(sentence);
    expect(seen.map(({ route }) => route)).not.toContain(POST);
  });

  test("all issues the server found are shown, with the command that lists the inputs", async () => {
    const message = 'Text input "a" is required. Text input "b" is required.';
    const { run } = await setup({
      ...found,
      "POST /v1/runs": { status: 422, error: { code: "VALIDATION_ERROR", message } },
    });
    const hint = `Nothing was charged. To see its inputs: promptd show ${VERSION}`;
    expect((await run("run", VERSION)).stderr).toBe(`${message}\n${hint}\n`);
  });
});

describe("run --out", () => {
  test("saves images and videos without sending the key to their URLs", async () => {
    const png = Buffer.from("89504e47", "hex");
    const routes: Routes = {
      ...found,
      "GET /files/a.png": { bytes: png, headers: { "content-type": "image/png" } },
      "GET /files/b": { bytes: Buffer.from("mp4"), headers: { "content-type": "video/mp4" } },
    };
    const { run, runJson, seen, home, baseUrl } = await setup(routes);
    const outputs = [
      { type: "text", data: "A story" },
      { type: "image", data: `${baseUrl}/files/a.png?e=1&s=x` },
      { type: "error", data: "Item 3 failed." },
      { type: "video", data: `${baseUrl}/files/b` },
    ];
    routes["POST /v1/runs"] = { data: { ...done, outputs } };
    const image = join(home, "new/folder", `${RUN}-2.png`);
    const video = join(home, "new/folder", `${RUN}-4.mp4`);
    const document = await runJson("run", VERSION, "--out", "new/folder");
    expect(document).toMatchObject({
      outputs,
      files: [
        { output: 1, path: image },
        { output: 3, path: video },
      ],
    });
    expect((await readFile(image)).equals(png)).toBe(true);
    expect(await readFile(video, "utf8")).toBe("mp4");
    expect(seen.filter(({ route }) => route.includes("/files/")).map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      undefined,
    ]);
    const { stdout, stderr } = await run("run", VERSION, "--out", ".");
    expect(stdout).toContain("A story\n\nhttp://");
    expect(stderr).toContain(`Saved ${join(home, `${RUN}-2.png`)}`);
  });

  test("a folder that cannot be created is named before anything is run", async () => {
    const { run, home, seen } = await setup({ ...found, "POST /v1/runs": { data: done } });
    await writeFile(join(home, "taken"), "");
    expect(await run("run", VERSION, "--out", "taken")).toEqual({
      code: 1,
      stdout: "",
      stderr: `${join(home, "taken")} cannot be written: part of its path is a file, not a folder. Choose another path.
Nothing was run, and nothing was charged.
`,
    });
    expect(seen).toEqual([]);
  });

  test("a folder that can no longer be written once the run has ended is named, with how to save elsewhere", async () => {
    const routes: Routes = { ...found };
    const { run, home } = await setup(routes);
    routes["POST /v1/runs"] = () => {
      rmSync(join(home, "taken"), { recursive: true });
      writeFileSync(join(home, "taken"), "");
      return { data: done };
    };
    expect((await run("run", VERSION, "--out", "taken")).stderr).toContain(
      `Choose another path.\nThe run is safe. Save its files elsewhere with: promptd runs get ${RUN} --out DIR\n`,
    );
  });

  test("a file that has expired is named, and no file is left", async () => {
    const routes: Routes = {
      ...found,
      "GET /files/a.png": { status: 410, error: { code: "GONE_ERROR", message: "expired" } },
    };
    const { run, home, baseUrl } = await setup(routes);
    routes["POST /v1/runs"] = { data: { ...done, outputs: [{ type: "image", data: `${baseUrl}/files/a.png` }] } };
    const { code, stderr } = await run("run", VERSION, "--out", "out");
    expect(code).toBe(1);
    expect(stderr).toContain("answered HTTP 410.\nGenerated files are available for 24 hours.");
    expect(await readdir(join(home, "out"))).toEqual([]);
  });
});

describe("a person at a terminal", () => {
  const event = (name: string, data: unknown, id?: string): string =>
    `event: ${name}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
  const stream = (...events: string[]): Reply => ({
    bytes: Buffer.from(events.join("")),
    headers: { "content-type": "text/event-stream" },
  });
  const status = (runStatus: string) => event("status", { runId: RUN, runStatus });
  const text = (call: number, words: string, id: string) => event("text", { index: 0, call, text: words }, id);
  const end = status("succeeded") + event("output", { index: 0, ...done.outputs[0] }) + event("done", done);
  const queued = { ...done, outputs: [], runStatus: "queued", tokens: 0 };
  const routes = (...events: string[]): Routes => ({
    ...found,
    [POST]: { status: 202, data: queued },
    [`GET /v1/runs/${RUN}/events`]: stream(...events),
  });
  const terminal = { isOut: true, isError: true };

  test("sees text as it is written, once, the state with the runId, and the cost", async () => {
    const events = [status("running"), text(1, "Two ", "1"), text(1, "lines\n", "2"), end];
    const { run } = await setup(routes(...events), undefined, { terminal });
    const { code, stdout, stderr } = await run("run", VERSION);
    expect([code, stdout]).toEqual([0, "Two lines\nabout tea.\n"]);
    expect(stderr).toContain(`queued  ${RUN}  Ctrl-C stops waiting, not the run (0 s)`);
    expect(stderr).toContain(`running  ${RUN}`);
    expect(stderr.endsWith(`\r\u001b[2K${RUN}  succeeded  12 credits\n`)).toBe(true);
  });

  test("sees that a run was free", async () => {
    const free = { ...done, tokens: 0 };
    const { run } = await setup({ ...found, [POST]: { data: free } }, undefined, { terminal });
    expect((await run("run", VERSION)).stderr).toContain(`${RUN}  succeeded  free\n`);
  });

  test("sees the whole text again when a model had to start over", async () => {
    const events = [status("running"), text(1, "Three", "1"), text(2, "Two lines", "2"), end];
    const { run } = await setup(routes(...events), undefined, { terminal });
    expect((await run("run", VERSION)).stdout).toBe("Three\n\n(written again)\nTwo lines\nabout tea.\n");
  });

  test("gets one document and no drawing with --json", async () => {
    const { run } = await setup(routes(status("running"), text(1, "Two ", "1"), end), undefined, { terminal });
    const { stdout, stderr } = await run("run", VERSION, "--json");
    expect(JSON.parse(stdout)).toEqual(done);
    expect(stderr).toBe(`Waiting for the run ${RUN}\n`);
  });

  test("watches a run that was started elsewhere", async () => {
    const { run } = await setup(routes(status("running"), text(1, "Two ", "1"), end), undefined, { terminal });
    expect((await run("runs", "watch", RUN)).stdout).toBe("Two lines\nabout tea.\n");
  });

  test.each([
    ["kitty", `\u001b_Ga=T,f=100,m=0;iVBORw==\u001b\\\n`],
    ["iterm", `\u001b]1337;File=inline=1;preserveAspectRatio=1;size=4:iVBORw==\u0007\n`],
  ] as const)("sees pictures where the terminal is %s", async (pictures, shown) => {
    const withFile: Routes = {
      ...found,
      "GET /files/a.png": { bytes: Buffer.from("89504e47", "hex"), headers: { "content-type": "image/png" } },
    };
    const { run, baseUrl } = await setup(withFile, undefined, { terminal: { ...terminal, pictures } });
    const url = `${baseUrl}/files/a.png`;
    withFile[POST] = { data: { ...done, outputs: [{ type: "image", data: url }] } };
    expect((await run("run", VERSION)).stdout).toBe(`${shown}${url}\n`);
  });

  test("sees errors in red and next steps dimmed, if there are colors", async () => {
    const { run } = await setup({}, undefined, { terminal: { ...terminal, hasColors: true } });
    const { stderr } = await run("run", VERSION);
    expect(stderr).toBe(
      `\u001b[31mNo published prompt or prompt version has the id ${VERSION}.\u001b[39m\n\u001b[2mFind prompts with "promptd search <words>".\u001b[22m\n`,
    );
  });
});

describe("runs", () => {
  const row = {
    runId: RUN,
    promptVersionId: VERSION,
    outputs: [],
    runStatus: "succeeded",
    credits: 12,
    runName: "Cat\u0007\u202e portrait",
    createdAt: "2026-11-20T10:15:30.123Z",
  };

  test("list passes on its filters and shows how to get the next page", async () => {
    const rows = [
      row,
      { ...row, credits: null },
      { ...row, runStatus: "failed", credits: 0 },
      { ...row, runStatus: "running", credits: 0 },
    ];
    const { run, seen } = await setup({
      "GET /v1/runs": { data: { rows, hasMore: true } },
    });
    const argv = [
      "--limit",
      "2",
      "--status",
      "succeeded",
      "--since",
      "2026-11-20",
      "--until",
      "1795169730",
      "--after",
      RUN,
    ];
    const { stdout } = await run("runs", "list", ...argv);
    expect(seen[0]?.route).toBe(
      `GET /v1/runs?limit=2&status=succeeded&since=${Date.UTC(2026, 10, 20)}&until=1795169730&startingAfter=${RUN}&include=batch`,
    );
    expect(stdout).toBe(`RUN                                   STATUS     CREDITS  CREATED              NAME
${RUN}  succeeded  12       2026-11-20 10:15:30  Cat\\u0007\\u202e portrait
${RUN}  succeeded  free     2026-11-20 10:15:30  Cat\\u0007\\u202e portrait
${RUN}  failed     free     2026-11-20 10:15:30  Cat\\u0007\\u202e portrait
${RUN}  running             2026-11-20 10:15:30  Cat\\u0007\\u202e portrait

More: promptd runs list --after ${RUN}
`);
  });

  test.each(["--after", "--before"])("list rejects a %s that is not an id, by the flag's name", async (flag) => {
    const { run, seen } = await setup();
    expect((await run("runs", "list", flag, "2")).stderr).toBe(
      `${flag} must be the id of a run, got "2".\nFind it with "promptd runs list".\n`,
    );
    expect(seen).toEqual([]);
  });

  test("list names a run's batch when a run belongs to one", async () => {
    const rows = [
      { ...row, batch: { batchId: VERSION, name: "topics" } },
      { ...row, batch: { batchId: VERSION, name: null } },
      { ...row, batch: null },
    ];
    const { run } = await setup({ "GET /v1/runs": { data: { rows, hasMore: false } } });
    const lines = (await run("runs", "list")).stdout.trimEnd().split("\n");
    const column = lines[0]?.indexOf("BATCH") ?? 0;
    expect(lines.map((line) => line.slice(column, -"Cat\\u0007\\u202e portrait".length).trim()).slice(1)).toEqual([
      "topics",
      VERSION,
      "",
    ]);
  });

  test("list --all reads every page", async () => {
    const { runJson, seen } = await setup({
      "GET /v1/runs?include=batch&limit=50": { data: { rows: [row], hasMore: true } },
      [`GET /v1/runs?include=batch&limit=50&startingAfter=${RUN}`]: {
        data: { rows: [{ ...row, runId: "last" }], hasMore: false },
      },
    });
    expect(await runJson("runs", "list", "--all")).toEqual({ rows: [row, { ...row, runId: "last" }], hasMore: false });
    expect(seen).toHaveLength(2);
  });

  test.each([
    [["--status", "done"], '--status must be one of queued, running, succeeded, failed, got "done".'],
    [["--limit", "ten"], '--limit must be a whole number, got "ten".'],
    [["--since", "yesterday"], "--since must be a time such as"],
    [["--all", "--before", RUN], "--all and --before cannot be combined."],
  ])("list %j is refused before anything is sent", async (argv, sentence) => {
    const { run, seen } = await setup();
    const { code, stderr } = await run("runs", "list", ...argv);
    expect({ code, seen }).toEqual({ code: 1, seen: [] });
    expect(stderr).toContain(sentence);
  });

  test("get with an invalid id says where to find ids", async () => {
    const error = { code: "VALIDATION_ERROR", message: 'runId must be a UUID, got "nope".' };
    const { run } = await setup({ "GET /v1/runs/nope": { status: 422, error } });
    expect(await run("runs", "get", "nope")).toEqual({
      code: 1,
      stdout: "",
      stderr: 'runId must be a UUID, got "nope".\nFind it with "promptd runs list".\n',
    });
  });

  test("get waits when asked, and exits with 1 for a failed run", async () => {
    const { run, seen } = await setup({ [`GET /v1/runs/${RUN}`]: { data: failed } });
    expect((await run("runs", "get", RUN, "--wait", "60")).code).toBe(1);
    expect(seen[0]?.headers["prefer"]).toBe("wait=60");
  });

  test("cancel ends a run and says that it costs nothing", async () => {
    const canceled = { ...failed, outputs: [{ type: "error", data: "Canceled by user." }] };
    const { run, runJson } = await setup({
      [`GET /v1/runs/${RUN}`]: { data: { ...done, runStatus: "running", outputs: [] } },
      [`POST /v1/runs/${RUN}/cancel`]: { data: canceled },
    });
    expect(await run("runs", "cancel", RUN)).toEqual({
      code: 0,
      stdout: `Canceled ${RUN}. It costs nothing.\n`,
      stderr: "",
    });
    expect(await runJson("runs", "cancel", RUN)).toEqual(canceled);
  });

  test.each([
    ["before the command", "12 credits", done],
    ["before the command", "free", failed],
    ["while the command was sent", "12 credits", done],
  ])("cancel of a run that ended %s (%s) changes nothing and says how it ended", async (when, cost, run) => {
    const before = when === "before the command" ? run : { ...run, runStatus: "running", outputs: [] };
    const service = await setup({
      [`GET /v1/runs/${RUN}`]: { data: before },
      [`POST /v1/runs/${RUN}/cancel`]: { data: run },
    });
    expect(await service.run("runs", "cancel", RUN)).toEqual({
      code: 0,
      stdout: `Nothing to cancel: ${RUN} has already ended (${run.runStatus}, ${cost}).\n`,
      stderr: "",
    });
  });
});

test("an input that is written as a flag is rejected with the correct form", async () => {
  const { run, seen } = await setup();
  expect((await run("run", VERSION, "--tune", "calm")).stderr).toBe(
    '"promptd run" has no flag --tune.\nPass a prompt input as -i tune=VALUE. See "promptd run --help".\n',
  );
  expect(seen).toEqual([]);
});

test("JSON in place of a file is rejected with the other ways to pass inputs", async () => {
  const { run } = await setup(found);
  expect((await run("run", VERSION, "--inputs", '{"tone":"calm"}')).stderr).toBe(
    "--inputs names a file, and this is JSON.\nPass each input as a word, KEY=VALUE, or the JSON on standard input with --inputs -\n",
  );
});
