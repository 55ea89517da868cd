import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { setup, type Reply, type Routes } from "./fake-service.ts";
import { PROMPT, RUN, VERSION, version } from "./sample-prompt.ts";

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
const body = (seen: readonly { body: unknown }[], at: number): Record<string, unknown> =>
  seen[at]?.body as Record<string, unknown>;

describe("run", () => {
  test("sends inputs, images and options, and prints the outputs alone", async () => {
    const { run, seen, home } = await setup({ "POST /v1/runs": { data: done } });
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
    expect(seen[0]?.headers.authorization).toBe("Bearer pd_test");
    expect(body(seen, 0)).toEqual({
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

  test("the id of a prompt runs its latest version", async () => {
    const create = (seen: { body: unknown }): Reply =>
      (seen.body as { promptVersionId: string }).promptVersionId === VERSION
        ? { data: done }
        : { error: { code: "NOT_FOUND_ERROR", message: "No published prompt version has the id." } };
    const { runJson, seen } = await setup({
      "POST /v1/runs": create,
      [`GET /v1/prompts/${PROMPT}`]: { data: version },
    });
    expect(await runJson("run", PROMPT)).toEqual(done);
    expect(seen.map(({ route }) => route)).toEqual(["POST /v1/runs", `GET /v1/prompts/${PROMPT}`, "POST /v1/runs"]);
  });

  test("a failed run prints its error and exits 1", async () => {
    const { run } = await setup({ "POST /v1/runs": { data: failed } });
    expect(await run("run", VERSION)).toEqual({ code: 1, stdout: "Error: The model did not answer.\n", stderr: "" });
  });

  test("--no-wait asks not to wait and prints the runId", async () => {
    const queued = { ...done, outputs: [], runStatus: "queued", tokens: 0 };
    const { run, seen } = await setup({ "POST /v1/runs": { status: 202, data: queued } });
    expect((await run("run", VERSION, "--no-wait")).stdout).toBe(`${RUN} is queued.\n`);
    expect(seen[0]?.headers["prefer"]).toBe("respond-async");
  });

  test("stays with a run that outlives the first wait, and names it", async () => {
    const timeout = { status: 504, error: { code: "GATEWAY_TIMEOUT_ERROR", message: "m", data: { runId: RUN } } };
    const { run, seen } = await setup({ "POST /v1/runs": timeout, [`GET /v1/runs/${RUN}`]: { data: done } });
    expect(await run("run", VERSION)).toMatchObject({ code: 0, stderr: `Still in progress: ${RUN}\n` });
    expect(seen).toHaveLength(2);
  });

  test("stopping while it waits says how to find the run again", async () => {
    const timeout = { status: 504, error: { code: "GATEWAY_TIMEOUT_ERROR", message: "m", data: { runId: RUN } } };
    const routes: Routes = { "POST /v1/runs": timeout };
    const { run, stop } = await setup(routes);
    routes[`GET /v1/runs/${RUN}`] = () => {
      stop.abort(new Error("Ctrl-C"));
      return { data: { ...done, outputs: [], runStatus: "running" } };
    };
    const { code, stderr } = await run("run", VERSION);
    expect(code).toBe(1);
    expect(stderr).toContain(`Stopped waiting for the run.\nIt goes on: promptd runs get ${RUN}\n`);
  });

  test("--out saves images and videos without sending the key to their address", async () => {
    const png = Buffer.from("89504e47", "hex");
    const routes: Routes = {
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

  test("a folder that cannot be made is named, and how to save the files of the run elsewhere", async () => {
    const { run, home } = await setup({ "POST /v1/runs": { data: done } });
    await writeFile(join(home, "taken"), "");
    expect(await run("run", VERSION, "--out", "taken")).toEqual({
      code: 1,
      stdout: "",
      stderr: `${join(home, "taken")} cannot be written: a part of its path is a file, not a folder. Choose another path.
The run is safe. Save its files elsewhere with: promptd runs get ${RUN} --out DIR
`,
    });
  });

  test("a file that has expired is named, and no file is left", async () => {
    const routes: Routes = { "GET /files/a.png": { status: 410, error: { code: "GONE_ERROR", message: "expired" } } };
    const { run, home, baseUrl } = await setup(routes);
    routes["POST /v1/runs"] = { data: { ...done, outputs: [{ type: "image", data: `${baseUrl}/files/a.png` }] } };
    const { code, stderr } = await run("run", VERSION, "--out", "out");
    expect(code).toBe(1);
    expect(stderr).toContain("answered HTTP 410.\nGenerated files are available for 24 hours.");
    expect(await readdir(join(home, "out"))).toEqual([]);
  });

  test.each([
    [["--input", "topic"], '--input must have the form KEY=VALUE, got "topic".'],
    [["--input", "=x"], '--input must have the form KEY=VALUE, got "=x".'],
    [["--option", "a=1", "--option", "a=2"], '--option names "a" twice. Give it once.'],
    [["--image", "missing.png"], "There is no file missing.png. Check the name.\n"],
    [["--image", "."], ". is a directory; name an image in it.\n"],
    [["--no-wait", "--out", "x"], "--no-wait and --out do not go together"],
  ])("%j is refused before anything is sent", async (argv, sentence) => {
    const { run, seen } = await setup();
    const { code, stderr } = await run("run", VERSION, ...argv);
    expect(code).toBe(1);
    expect(stderr).toContain(sentence);
    expect(seen).toEqual([]);
  });

  test("all faults the server found are shown", async () => {
    const message = 'Text input "a" is required. Text input "b" is required.';
    const { run } = await setup({ "POST /v1/runs": { status: 422, error: { code: "VALIDATION_ERROR", message } } });
    expect((await run("run", VERSION)).stderr).toBe(`${message}\n`);
  });
});

describe("runs", () => {
  const row = {
    runId: RUN,
    promptVersionId: VERSION,
    outputs: [],
    runStatus: "succeeded",
    credits: 12,
    runName: "Cat\u0007 portrait",
    createdAt: "2026-11-20T10:15:30.123Z",
  };

  test("list passes its filters on and shows how to go on", async () => {
    const { run, seen } = await setup({
      "GET /v1/runs": { data: { rows: [row, { ...row, credits: null }], hasMore: true } },
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
      `GET /v1/runs?limit=2&status=succeeded&since=${Date.UTC(2026, 10, 20)}&until=1795169730&startingAfter=${RUN}`,
    );
    expect(stdout).toBe(`RUN                                   STATUS     CREDITS  CREATED              NAME
${RUN}  succeeded  12       2026-11-20 10:15:30  Cat\\u0007 portrait
${RUN}  succeeded  free     2026-11-20 10:15:30  Cat\\u0007 portrait

More: promptd runs list --after ${RUN}
`);
  });

  test("list --all reads every page", async () => {
    const { runJson, seen } = await setup({
      "GET /v1/runs?limit=50": { data: { rows: [row], hasMore: true } },
      [`GET /v1/runs?limit=50&startingAfter=${RUN}`]: { data: { rows: [{ ...row, runId: "last" }], hasMore: false } },
    });
    expect(await runJson("runs", "list", "--all")).toEqual({ rows: [row, { ...row, runId: "last" }], hasMore: false });
    expect(seen).toHaveLength(2);
  });

  test.each([
    [["--status", "done"], '--status must be one of queued, running, succeeded, failed, got "done".'],
    [["--limit", "ten"], '--limit must be a whole number, got "ten".'],
    [["--since", "yesterday"], "--since must be a time such as"],
    [["--all", "--before", RUN], "--all and --before do not go together."],
  ])("list %j is refused before anything is sent", async (argv, sentence) => {
    const { run, seen } = await setup();
    const { code, stderr } = await run("runs", "list", ...argv);
    expect({ code, seen }).toEqual({ code: 1, seen: [] });
    expect(stderr).toContain(sentence);
  });

  test("get waits when asked, and exits 1 for a failed run", async () => {
    const { run, seen } = await setup({ [`GET /v1/runs/${RUN}`]: { data: failed } });
    expect((await run("runs", "get", RUN, "--wait", "60")).code).toBe(1);
    expect(seen[0]?.headers["prefer"]).toBe("wait=60");
  });

  test("cancel shows the run as it is now", async () => {
    const canceled = { ...failed, outputs: [{ type: "error", data: "Canceled by user." }] };
    const { run } = await setup({ [`POST /v1/runs/${RUN}/cancel`]: { data: canceled } });
    expect(await run("runs", "cancel", RUN)).toEqual({ code: 0, stdout: "Error: Canceled by user.\n", stderr: "" });
  });
});
