/** promptd admin prompt publish, unpublish, and republish: documents, order, faults in single files, versions. */
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openConnection } from "../../server/src/platform/database/database.ts";
import { readDocument, run, runHere } from "./operator-process.ts";
import { useOperator } from "./use-operator.ts";

const NOBODY_ID = "00000000-0000-7000-8000-000000000000";

interface Published {
  promptId: string;
  promptVersionId: string;
  slug: string;
  title: string;
  outcome: string;
  file: string;
}

const ROW_KEYS = ["promptId", "promptVersionId", "slug", "title", "outcome", "file"];

const rig = useOperator();
beforeEach(async () => {
  await createAuthor("ada@example.org");
});

async function createAuthor(email: string): Promise<string> {
  const argv = ["admin", "user", "create", "--email", email];
  return (await readDocument<{ userId: string }>(argv, rig.installation.environment, runHere)).userId;
}

function publishHere(files: string[], author = "ada@example.org") {
  return runHere(["admin", "prompt", "publish", ...files, "--author", author, "--json"], rig.installation.environment);
}

async function publish(...files: string[]): Promise<Published[]> {
  const argv = ["admin", "prompt", "publish", ...files, "--author", "ada@example.org"];
  return readDocument<Published[]>(argv, rig.installation.environment, runHere);
}

async function ask<Row>(statement: string): Promise<Row[]> {
  const connection = openConnection(rig.installation.url, "asking-test");
  await connection.connect();
  const { rows } = await connection.query(statement);
  await connection.end();
  return rows as Row[];
}

const slugs = () =>
  ask<{ slug: string }>('select slug from prompts order by slug collate "C"').then((rows) =>
    rows.map(({ slug }) => slug),
  );

async function file(name: string, text: string): Promise<string> {
  const path = join(rig.directory, name);
  await writeFile(path, text);
  return path;
}

const promptText = (title: string, body = "About {{ topic }}.", model = "sandbox/text") =>
  `---\npromptd: 1\ntitle: ${title}\nmodel: ${model}\ninputs: { topic: {} }\n---\n${body}\n`;
const json = (...titles: string[]) =>
  JSON.stringify({
    promptd: 1,
    prompts: titles.map((title) => ({ title, model: "sandbox/text", template: `${title} {{ topic }}` })),
  });

describe("promptd admin prompt publish", () => {
  test("in its own process, prints one row per prompt, in the order of files and of prompts in a file", async () => {
    await file("one.prompt.md", promptText("Tea poem"));
    await file("two.json", json("Second", "Third"));
    const argv = ["admin", "prompt", "publish", "one.prompt.md", "two.json", "--author", "ada@example.org", "--json"];
    const { code, stdout, stderr } = await run(argv, rig.installation.environment, rig.directory);
    expect(code).toBe(0);
    // A warning appears on stderr once, however many prompts it is about.
    expect(stderr).toMatch(/^warning: one\.prompt\.md \(Tea poem\) and 2 more: sandbox\/text is a sandbox model.*\n$/);
    const rows = JSON.parse(stdout) as Published[];
    expect(rows.map(({ slug, title }) => [slug, title])).toEqual([
      ["tea-poem", "Tea poem"],
      ["second", "Second"],
      ["third", "Third"],
    ]);
    for (const row of rows) expect(Object.keys(row)).toEqual(ROW_KEYS);
    expect(new Set(rows.flatMap((row) => [row.promptId, row.promptVersionId])).size).toBe(6);
  });

  test("warns about what it published, and not again about an unchanged file", async () => {
    const path = await file("twice.prompt.md", promptText("Twice"));
    expect((await publishHere([path])).stderr).toMatch(/^warning: .*sandbox\/text is a sandbox model/);
    expect((await publishHere([path])).stderr).toBe("");
    await file("twice.prompt.md", promptText("Twice", "All about {{ topic }}."));
    expect((await publishHere([path])).stderr).toContain("sandbox/text is a sandbox model");
  });

  test("with a slug that the author has, creates a new version of the same prompt; another author gets a different slug", async () => {
    const path = await file("again.prompt.md", promptText("Again"));
    const [first] = await publish(path);
    await file("again.prompt.md", promptText("Again", "All about {{ topic }}."));
    const { stdout, stderr } = await publishHere([path]);
    expect(stderr).not.toContain("new version"); // with the same title, that needs no note
    const [second] = JSON.parse(stdout) as Published[];
    const promptVersionId: unknown = expect.not.stringMatching(first?.promptVersionId ?? "");
    expect(second).toEqual({ ...first, promptVersionId, outcome: "changed" });
    await createAuthor("ben@example.org");
    const [other] = JSON.parse((await publishHere([path], "ben@example.org")).stdout) as Published[];
    expect(other?.slug).toBe("again-2");
    expect(other?.promptId).not.toBe(first?.promptId);
  });

  test("says so when only the slug made from a title matched a prompt with another title, and how to distinguish the two", async () => {
    const [first] = await publish(await file("plus.prompt.md", promptText("Salt & pepper")));
    const { code, stdout, stderr } = await publishHere([
      await file("minus.prompt.md", promptText("Salt/Pepper")),
      await file("named.prompt.md", promptText("Salt, pepper\nslug: salt-pepper")),
    ]);
    expect(code).toBe(0);
    const notes = stderr.split("\n").filter((line) => line.includes("new version"));
    expect(notes).toEqual([
      `warning: ${join(rig.directory, "minus.prompt.md")} (Salt/Pepper): It became a new version of the prompt salt-pepper (${first?.promptId}), previously titled "Salt & pepper", because both titles produce the same slug. If they are two different prompts, add a "slug:" to this file and publish it again, then publish the older prompt's file again.`,
    ]);
    const rows = JSON.parse(stdout) as Published[];
    expect(rows.map(({ promptId }) => promptId)).toEqual([first?.promptId, first?.promptId]);
    for (const row of rows) expect(Object.keys(row)).toEqual(ROW_KEYS);
  });

  test("says so when two files have the same title, and names both", async () => {
    const [one, two] = [
      await file("one.prompt.md", promptText("Meeting")),
      await file("two.prompt.md", promptText("Meeting", "On {{ topic }}.")),
    ];
    const { code, stdout, stderr } = await publishHere([one, two]);
    const [first] = JSON.parse(stdout) as Published[];
    const notes = stderr.split("\n").filter((line) => line.includes("new version"));
    expect([code, notes]).toEqual([
      0,
      [
        `warning: ${two} (Meeting): It became a new version of the prompt meeting (${first?.promptId}), which ${one} has just published under the same title. If they are two different prompts, add a "slug:" to this file and publish both again.`,
      ],
    ]);
  });

  test("says so when a new version publishes an unpublished prompt again", async () => {
    const path = await file("again.prompt.md", promptText("Again"));
    const [first] = await publish(path);
    await runHere(["admin", "prompt", "unpublish", first?.promptId ?? ""], rig.installation.environment);
    const notes = async () => {
      const { code, stderr } = await publishHere([path]);
      expect(code).toBe(0);
      return stderr.split("\n").filter((line) => line.includes("unpublished"));
    };
    expect(await notes()).toEqual([
      `warning: ${path} (Again): The prompt again (${first?.promptId}) had been unpublished and is now published again with all its versions. To undo this, unpublish it.`,
    ]);
    expect(await notes()).toEqual([]);
  });

  test("skips a whole file with a fault, and publishes the files before and after it; exit code 1", async () => {
    const good = await file("good.prompt.md", promptText("Good"));
    const bad = await file(
      "bad.json",
      JSON.stringify({
        promptd: 1,
        prompts: [
          { title: "Fine", model: "sandbox/text", template: "x" },
          { title: "Wrong", model: "sandbox/text", template: "{{ x" },
        ],
      }),
    );
    const last = await file("last.prompt.md", promptText("Last"));
    const { code, stdout, stderr } = await publishHere([good, bad, last]);
    expect(code).toBe(1);
    expect((JSON.parse(stdout) as Published[]).map(({ slug }) => slug)).toEqual(["good", "last"]);
    expect(stderr).toMatch(/bad\.json was not published:\n {2}line 1, prompts\[2\]/);
    expect(stderr.match(/was not published/g)).toHaveLength(1);
    expect(await slugs()).toEqual(["good", "last"]);
  });

  test("publishes a file with an id that its author has no prompt for, without the id, and says so", async () => {
    const [own] = await publish(await file("own.prompt.md", promptText("Own")));
    await createAuthor("ben@example.org");
    const moved = json("Mine", "Yours").replace('"title":"Yours"', `"id":"${own?.promptId}","title":"Yours"`);
    const { code, stderr } = await publishHere([await file("moved.json", moved)], "ben@example.org");
    expect(code).toBe(0);
    expect(stderr).toContain(`This author has no prompt with the id ${own?.promptId}`);
    expect(await slugs()).toEqual(["mine", "own", "yours"]);
  });

  test("names every fault of every file when nothing can be published, with nothing on stdout", async () => {
    const bad = await file(
      "bad.prompt.md",
      promptText("Bad", "{{ nothing }} {% render 'x' %}").replace("promptd: 1", "promptd: 2"),
    );
    const worse = await file("worse.prompt.md", promptText("Worse", "x", "nobody/model"));
    const { code, stdout, stderr } = await publishHere([bad, worse]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(`${bad} was not published:`);
    expect(stderr).toContain(`${worse} was not published:`);
    expect(stderr).toContain('there is no model "nobody/model"');
    expect(stderr.split("\n").filter((line) => line.startsWith("  line ")).length).toBeGreaterThanOrEqual(3);
  });

  test("shows on stderr how a foreign placeholder was rewritten", async () => {
    const path = await file("foreign.json", json("Birthday").replace("{{ topic }}", "{{Child's Age}}"));
    const { code, stdout, stderr } = await publishHere([path]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toHaveLength(1);
    expect(stderr).toContain(`{{Child's Age}} was rewritten to {{ input["Child's Age"] }}`);
  });

  test("skips an unreadable file like one with a fault, says why, and publishes the others", async () => {
    const good = await file("readable.prompt.md", promptText("Readable"));
    const absent = join(rig.directory, "absent.prompt.md");
    const latin = join(rig.directory, "latin1.prompt.md");
    await writeFile(latin, Buffer.from(promptText("Café"), "latin1"));
    const { code, stdout, stderr } = await publishHere([absent, rig.directory, good, latin]);
    expect(code).toBe(1);
    expect((JSON.parse(stdout) as Published[]).map(({ slug }) => slug)).toEqual(["readable"]);
    for (const [name, why] of [
      [absent, `There is no file ${absent}. Check the name.`],
      [rig.directory, `${rig.directory} is a directory; name the *.prompt.md files in it.`],
      [latin, `${latin} is not UTF-8 text. Save it as UTF-8.`],
    ] as const) {
      expect(stderr).toContain(`${name} was not published:\n  ${why}\n`);
    }
    expect(stderr).not.toMatch(/ENOENT|EISDIR/);
    expect(await slugs()).toEqual(["readable"]);
    const nothing = await publishHere([absent]);
    expect(nothing).toMatchObject({ code: 1, stdout: "" });
    expect(nothing.stderr).toContain(`${absent} was not published:`);
  });

  test.each([
    [
      ["publish"],
      '"promptd admin prompt publish" needs FILE….\nUsage: promptd admin prompt publish FILE… --author EMAIL|USERID\n',
    ],
    [
      ["publish", "x.prompt.md"],
      '"promptd admin prompt publish" needs --author.\nUsage: promptd admin prompt publish FILE… --author EMAIL|USERID\n',
    ],
    [
      ["unpublish"],
      '"promptd admin prompt unpublish" needs <promptId>.\nUsage: promptd admin prompt unpublish <promptId>\n',
    ],
    [
      ["unpublish", "tea-poem"],
      'promptId must be a UUID, got "tea-poem". To find the id of a slug, use "promptd admin prompt show".\n',
    ],
    [["unpublish", NOBODY_ID], `No prompt has the id ${NOBODY_ID}.\n`],
    [["republish", NOBODY_ID], `No prompt has the id ${NOBODY_ID}.\n`],
  ])("promptd admin prompt %j is refused", async (words, sentence) => {
    const outcome = await runHere(["admin", "prompt", ...words, "--json"], rig.installation.environment);
    expect(outcome).toEqual({ code: 1, stdout: "", stderr: sentence });
  });

  test("for an unknown author, publishes nothing", async () => {
    const path = await file("lonely.prompt.md", promptText("Lonely"));
    const outcome = await publishHere([path], "ghost@example.org");
    expect(outcome).toEqual({
      code: 1,
      stdout: "",
      stderr:
        'No account has the email address or id "ghost@example.org". List all accounts with "promptd admin account list", or create one with "promptd admin user create --email <E>".\n',
    });
  });

  test("knows the models that a serving process discovered at run time", async () => {
    const server = createServer((_request, response) =>
      response.end(JSON.stringify({ object: "list", data: [{ id: "llama" }] })),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const path = await file("local.prompt.md", promptText("Local", "About {{ topic }}.", "compatible/llama"));
    expect((await publishHere([path])).stderr).toContain('there is no model "compatible/llama"');
    const { startApp } = await import("../../server/src/app.ts");
    const { readConfig } = await import("../../server/src/platform/config/config.ts");
    const { createLog } = await import("../../server/src/platform/log.ts");
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const config = readConfig({
      ...rig.installation.environment,
      PROMPTD_LOCAL_MODELS: "off",
      OPENAI_BASE_URL: baseUrl,
    });
    const app = await startApp({ config, role: "worker", log: createLog("error", "stderr") });
    await app.close();
    expect(await publish(path)).toMatchObject([{ slug: "local" }]);
  });
});

describe("promptd admin prompt unpublish and republish", () => {
  test("print promptId and published, and the same when repeated", async () => {
    const [prompt] = await publish(await file("there.prompt.md", promptText("There and back")));
    const promptId = prompt?.promptId ?? "";
    const act = (verb: string, id = promptId) =>
      readDocument(["admin", "prompt", verb, id], rig.installation.environment, runHere);
    const state = () => ask<{ out: boolean }>("select unpublished_at is not null as out from prompts");
    for (const turn of ["once", "again"]) expect(await act("unpublish"), turn).toEqual({ promptId, published: false });
    expect(await state()).toEqual([{ out: true }]);
    for (const turn of ["once", "again"])
      expect(await act("republish", promptId.toUpperCase()), turn).toEqual({ promptId, published: true });
    expect(await state()).toEqual([{ out: false }]);
  });
});
