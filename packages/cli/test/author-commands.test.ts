/** promptd prompt check, preview, diff, publish, list, and pull: an author's loop. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { openConnection } from "../../server/src/platform/database/database.ts";
import { createDirectory, readDocument, run, runHere } from "./operator-process.ts";
import { useOperator } from "./use-operator.ts";

const rig = useOperator();
beforeEach(async () => {
  await runHere(["admin", "user", "create", "--email", "ada@example.org"], rig.installation.environment);
});

const TEA = `---
promptd: 1
title: Tea poem
model: sandbox/text-free
inputs:
  topic: {}
  tone: { options: [calm, bright], default: calm }
---
Write about {{ topic }}, {{ tone }}.
`;

async function file(name: string, text: string): Promise<string> {
  const path = join(rig.directory, name);
  await writeFile(path, text);
  return path;
}

const here = (...argv: string[]) => runHere(["prompt", ...argv], rig.installation.environment);
const document = <Document>(...argv: string[]) =>
  readDocument<Document>(["prompt", ...argv], rig.installation.environment, runHere);

async function inDatabase(statement: string): Promise<void> {
  const connection = openConnection(rig.installation.url, "author-test");
  await connection.connect();
  await connection.query(statement);
  await connection.end();
}

/** Settings without a database, and a directory that contains none. */
async function withoutDatabase() {
  return { PROMPTD_DATA_DIR: join(await createDirectory(), "data") };
}

describe("promptd prompt check", () => {
  test("needs no database, and says what is fine, in its own process", async () => {
    const path = await file("fine.prompt.md", TEA);
    const { code, stdout } = await run(["prompt", "check", path], await withoutDatabase());
    expect([code, stdout]).toEqual([0, `${path} is fine: Tea poem (sandbox/text-free; free)\n`]);
  });

  test("shows every fault with line, column, and text, and exits with 1", async () => {
    const good = await file("good.prompt.md", TEA);
    const bad = await file("bad.prompt.md", TEA.replace("Write about", "{{#if topic}}Write"));
    const { code, stdout } = await runHere(["prompt", "check", bad, good], await withoutDatabase());
    expect(code).toBe(1);
    expect(stdout).toContain(`${bad} has errors:\n  line 9, column 1, template: `);
    expect(stdout).toContain("Here: {{#if topic}} [TEMPLATE_SYNTAX]");
    expect(stdout).toContain(`${good} is fine`);
  });

  test("prints documents with faults, warnings, price, and what callers will see", async () => {
    const path = await file("warned.prompt.md", TEA.replace("about", "about ${x}, sandbox/text,"));
    const [checked] = await document<{ file: string; faults: unknown[]; prompts: { warnings: string[] }[] }[]>(
      "check",
      path,
    );
    expect(checked).toMatchObject({ file: path, faults: [], prompts: [{ slug: "tea-poem", price: { most: 0 } }] });
    expect(checked?.prompts[0]?.warnings).toContainEqual(expect.stringContaining("${x}"));
  });

  test("names a file that cannot be read", async () => {
    const { code, stderr } = await here("check", join(rig.directory, "none.prompt.md"));
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^There is no file .*none\.prompt\.md/)]);
  });
});

describe("promptd prompt preview", () => {
  test("shows the exact messages without a database", async () => {
    const path = await file("tea.prompt.md", TEA.replace("inputs:", "instructions: Be kind.\ninputs:"));
    const argv = ["prompt", "preview", path, "-i", "topic=rain & fog", "-i", "tone=bright"];
    const { code, stdout } = await runHere(argv, await withoutDatabase());
    expect(code).toBe(0);
    expect(stdout).toContain("--- system ---\nBe kind.\n--- user ---\nWrite about rain & fog, bright.\n");
  });

  test("says which input is missing or not valid", async () => {
    const path = await file("tea.prompt.md", TEA);
    const { code, stderr } = await here("preview", path, "-i", "tone=loud");
    expect(code).toBe(1);
    expect(stderr).toContain('Text input "topic" is required.');
    expect(stderr).toContain('Text input "tone" must be one of: calm, bright.');
  });

  test("asks which prompt is meant when a file contains several", async () => {
    const prompts = ["One", "Two"].map((title) => ({ title, model: "sandbox/text-free", template: `I am ${title}.` }));
    const path = await file("two.json", JSON.stringify({ promptd: 1, prompts }));
    expect((await here("preview", path)).stderr).toContain('contains 2 prompts ("One", "Two"). Name one with --prompt');
    expect((await here("preview", path, "--prompt", "Two")).stdout).toContain("I am Two.");
  });
});

describe("promptd prompt test", () => {
  const withTests = (expected: string) =>
    TEA.replace("---\nWrite", `tests:\n  - inputs: { topic: rain }\n    expect: { contains: ${expected} }\n---\nWrite`);

  test("runs samples and tests against the models without a database, and shows a table", async () => {
    const path = await file("tested.prompt.md", withTests("about rain"));
    const { code, stdout } = await runHere(["prompt", "test", path], await withoutDatabase());
    expect(stdout).toMatch(/^RESULT +PROMPT +TEST +MODEL +OUTPUT\nok +Tea poem +test 1 +sandbox\/text-free +\S/);
    expect(stdout).toContain("1 passed, 0 failed.");
    expect(code).toBe(0);
  });

  test("exits with 1 when an expectation does not hold, and says which", async () => {
    const path = await file("tested.prompt.md", withTests("snow"));
    const { code, stdout } = await runHere(["prompt", "test", path], await withoutDatabase());
    expect([code, stdout]).toEqual([1, expect.stringContaining('contains: "snow" is missing.')]);
  });

  test("says that a model without its key cannot be called", async () => {
    const path = await file("tested.prompt.md", withTests("x").replace("sandbox/text-free", "openai/gpt-4.1"));
    const { code, stdout } = await runHere(["prompt", "test", path], await withoutDatabase());
    expect([code, stdout]).toEqual([1, expect.stringContaining("is not available with these settings")]);
  });
});

describe("promptd prompt import", () => {
  test("creates files that can be published, and never overwrites one", async () => {
    const request = {
      model: "gpt-4.1",
      instructions: "Be kind.",
      input: "Write about {{topic}}.",
      tools: [{ type: "x" }],
    };
    const path = await file("stored.json", JSON.stringify(request));
    const out = join(rig.directory, "imported");
    const again = async () =>
      runHere(["prompt", "import", "--from", "openai", path, "--out", out], await withoutDatabase());
    const first = await again();
    expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining("Created 1.") });
    const made = join(out, "stored.prompt.md");
    expect(await readFile(made, "utf8")).toContain("# - tools:");
    expect((await runHere(["prompt", "check", made], await withoutDatabase())).code).toBe(0);
    expect(await again()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("already exists and was not overwritten"),
    });
    const wrong = await runHere(["prompt", "import", "--from", "word", path, "--out", out], await withoutDatabase());
    expect(wrong.stderr).toContain("--from must be one of: openai, langfuse");
    const onto = await runHere(["prompt", "import", "--from", "openai", path, "--out", path], await withoutDatabase());
    expect(onto).toMatchObject({ code: 1, stdout: "" });
    expect(onto.stderr).toContain("part of its path is a file, not a folder. Choose another path.");
    expect((await here("check", path)).stdout).toContain("promptd prompt import --from openai");
  });
});

describe("promptd prompt publish, diff, list and pull", () => {
  const publish = (...argv: string[]) => here("publish", ...argv, "--author", "ada@example.org");

  test("lead from a file to a changed version; an unchanged file creates none", async () => {
    const path = await file("loop.prompt.md", TEA);
    expect((await here("diff", path)).stdout).toContain("it would be a new prompt");
    expect((await publish(path)).stdout).toContain("Published 1.\n");
    expect((await here("diff", path)).stdout).toBe("No differences.\n");
    expect((await publish(path)).stdout).toBe("Published 0. Unchanged: 1.\n");
    await file("loop.prompt.md", TEA.replace("Write about", "Sing of").replace("default: calm", "default: bright"));
    const { stdout } = await here("diff", path);
    expect(stdout).toContain('inputs.tone.default: "calm" -> "bright"');
    expect(stdout).toContain("  - Write about {{ topic }}, {{ tone }}.\n  + Sing of {{ topic }}, {{ tone }}.");
    expect((await publish(path)).stdout).toContain("Published 1.\n");
    const listed = await document<{ slug: string; versions: number; isPublished: boolean }[]>("list");
    expect(listed).toMatchObject([{ slug: "tea-poem", versions: 2, isPublished: true }]);
  });

  test("the id is written back on request, once, below the format; then the title can change", async () => {
    const path = await file("id.prompt.md", TEA);
    await publish(path, "--write-id");
    const [listed] = await document<{ promptId: string }[]>("list");
    const promptId = listed?.promptId ?? "";
    const written = await readFile(path, "utf8");
    expect(written).toBe(TEA.replace("promptd: 1\n", `promptd: 1\nid: ${promptId}\n`));
    expect((await publish(path, "--write-id")).stdout).toBe("Published 0. Unchanged: 1.\n");
    expect(await readFile(path, "utf8")).toBe(written);
    await writeFile(path, written.replace("title: Tea poem", "title: Another title"));
    expect((await publish(path)).stdout).toContain("Published 1.");
    expect(await document("list")).toMatchObject([{ promptId, title: "Another title", versions: 2 }]);
  });

  test("a pulled file is the author's own with its id: comments and tests stay, and publishing it changes nothing", async () => {
    const tests = "# Mine.\ntests:\n  - { inputs: { topic: rain }, expect: { contains: rain } }\n";
    const path = await file("pulled.prompt.md", TEA.replace("inputs:", `${tests}inputs:`));
    await publish(path);
    const [listed] = await document<{ promptId: string }[]>("list");
    const folder = join(rig.directory, "pulled");
    const { file: pulled } = await document<{ file: string }>("pull", "tea-poem", "--out", folder);
    expect(pulled).toBe(join(folder, "tea-poem.prompt.md"));
    const written = (await readFile(path, "utf8")).replace("promptd: 1\n", `promptd: 1\nid: ${listed?.promptId}\n`);
    expect(await readFile(pulled, "utf8")).toBe(written);
    expect((await publish(pulled)).stdout).toBe("Published 0. Unchanged: 1.\n");
    expect((await here("pull", "no-such-prompt")).stderr).toContain("no-such-prompt");
  });

  test("two files are compared without a database", async () => {
    const [one, two] = [await file("a.prompt.md", TEA), await file("b.prompt.md", TEA.replace("calm }", "bright }"))];
    const { code, stdout } = await runHere(["prompt", "diff", one, two], await withoutDatabase());
    expect([code, stdout]).toEqual([0, 'inputs.tone.default: "calm" -> "bright"\nprice: free\n']);
  });

  test("many files are published together, and a rejected file does not stop the others", async () => {
    const other = await file("blocked.prompt.md", TEA);
    await publish(other);
    await inDatabase(
      "update prompts set blocked_at = promptd_now(), unpublished_at = promptd_now(), block_reason = 'Spam'",
    );
    const names = Array.from({ length: 12 }, (_, at) => `many-${at}.prompt.md`);
    const files = await Promise.all(names.map((name, at) => file(name, TEA.replace("Tea poem", `Poem ${at}`))));
    const { code, stdout, stderr } = await publish(...files.slice(0, 6), other, ...files.slice(6));
    expect(code).toBe(1);
    expect(stdout).toContain("Published 12.");
    expect(stderr.match(/was not published/g)).toHaveLength(1);
    expect(stderr).toContain("Spam");
  });
});
