/** promptd admin models list and check: what a person reads. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openConnection } from "../../server/src/platform/database/database.ts";
import { readDocument, run, runHere } from "./operator-process.ts";
import { useOperator } from "./use-operator.ts";

const rig = useOperator();

test("admin models list prints each model with its price, the range over its options, and the price's origin", async () => {
  const { code, stdout } = await runHere(["admin", "models", "list"], rig.installation.environment);
  expect(code).toBe(0);
  const lines = stdout.split("\n");
  const at = lines.findIndex((line) => line.includes(" fal/luma-ray-2 "));
  expect(lines[at]).toMatch(/needs FAL_API_KEY +perImage 50-100, 8 at once$/);
  expect(lines[at + 1]).toMatch(/^ {9}\S.* 20\d\d-\d\d-\d\d/);
  expect(stdout).not.toMatch(/(20\d\d-\d\d-\d\d), \1/);
  expect(stdout).toMatch(/ sandbox\/text-free +text +enabled +free, 1000 at once$/m);
});

test("admin models list and show say that an operator has switched a model off, not what would enable it", async () => {
  const { environment, url } = rig.installation;
  const connection = openConnection(url, "switching-test");
  await connection.connect();
  await connection.query("insert into switched_off_models (model) values ('sandbox/text'), ('openai/gpt-5.2')");
  await connection.end();
  const { stdout } = await runHere(["admin", "models", "list"], environment);
  expect(stdout).toMatch(/ sandbox\/text +text +switched off /);
  expect(stdout).toMatch(/ openai\/gpt-5\.2 +text +switched off /);
  const shown = await runHere(["admin", "models", "show", "sandbox/text"], environment);
  expect(shown.stdout).toContain("State: switched off\n");
});

test("admin models list keeps its columns aligned, and says below a model that it has ended or will end", async () => {
  const file = join(rig.directory, "ended.json");
  const models = [
    { model: "sandbox/text", status: "retired", retiredAt: "2026-11-01", successor: "sandbox/text-free" },
    { model: "sandbox/image", retiresAt: "2999-01-31" },
  ];
  await writeFile(file, JSON.stringify({ formatVersion: 1, models }));
  const environment = { ...rig.installation.environment, PROMPTD_MODELS_FILE: file };
  const { stdout } = await runHere(["admin", "models", "list"], environment);
  const lines = stdout.trimEnd().split("\n");
  const rows = lines.filter((line) => !line.startsWith(" ".repeat(9)));
  const columns = rows.map((row) => [...row.matchAll(/(?<=  )\S/g)].map(({ index }) => index).slice(-4));
  expect(new Set(columns.map((starts) => starts.join()))).toHaveLength(1);
  const below = (model: string) => lines[lines.findIndex((line) => line.includes(` ${model} `)) + 1];
  expect(below("sandbox/text")).toBe(`${" ".repeat(9)}since 2026-11-01, use sandbox/text-free`);
  expect(below("sandbox/image")).toBe(`${" ".repeat(9)}deprecated, ends 2999-01-31`);
});

test("admin models check counts one fault as one, and mentions a factor once", async () => {
  const file = join(rig.directory, "models.json");
  const check = async (overlay: object) => {
    await writeFile(file, JSON.stringify({ formatVersion: 1, ...overlay }));
    return runHere(["admin", "models", "check", file], rig.installation.environment);
  };
  const faulty = await check({ models: [{ model: "openai/gpt-9" }] });
  expect(faulty.code).toBe(1);
  expect(faulty.stdout).toMatch(
    /^1 error:\n {2}\S+ openai\/gpt-9: this model is not in the shipped catalogue; to add your own, set/,
  );
  const dearer = await check({ priceFactor: "1.2" });
  expect(dearer.code).toBe(0);
  expect(dearer.stdout).toContain("every price is multiplied by 1.2");
  expect(dearer.stdout).not.toContain("changed:");
});

test("admin models check names prompts that a retirement stops, including those where only an older version uses the model", async () => {
  const admin = <Document>(...words: string[]) =>
    readDocument<Document>(["admin", ...words], rig.installation.environment, runHere);
  await admin("user", "create", "--email", "ada@example.org");
  const publish = async (title: string, model: string) => {
    const path = join(rig.directory, `${title}.prompt.md`);
    await writeFile(
      path,
      `---\npromptd: 1\ntitle: ${title}\ndescription: Says a word.\nmodel: ${model}\n---\nSay a word.\n`,
    );
    type Published = { promptId: string; promptVersionId: string }[];
    const published = await admin<Published>("prompt", "publish", path, "--author", "ada@example.org");
    return { promptId: published[0]?.promptId, promptVersionId: published[0]?.promptVersionId };
  };
  const present = await publish("Present", "sandbox/text");
  const pinned = await publish("Pinned", "sandbox/text");
  await publish("Pinned", "sandbox/text-free");
  const file = join(rig.directory, "retired.json");
  const models = [{ model: "sandbox/text", status: "retired", retiredAt: "2026-11-01" }];
  await writeFile(file, JSON.stringify({ formatVersion: 1, models }));
  const { stoppedPrompts } = await admin<{ stoppedPrompts: object[] }>("models", "check", file);
  const common = { version: 1, models: ["sandbox/text"] };
  expect(stoppedPrompts).toEqual([
    { ...common, ...pinned, slug: "pinned", title: "Pinned", isLatest: false },
    { ...common, ...present, slug: "present", title: "Present", isLatest: true },
  ]);
  const { stdout } = await runHere(["admin", "models", "check", file], rig.installation.environment);
  expect(stdout).toContain(
    `1 published prompt could no longer be run:\n  present (${present.promptId}) uses sandbox/text\n` +
      "1 older version could no longer be run by callers that request it:\n" +
      `  pinned, version 1 (${pinned.promptVersionId}) uses sandbox/text\n`,
  );
});

test("a key named by an overlay must be valid in a header, for a check and at startup, and is never printed", async () => {
  const file = join(rig.directory, "home.json");
  const providers = Object.fromEntries(
    ["home", "away", "free"].map((name) => [
      name,
      {
        baseURL: `https://${name}.example/v1`,
        ...(name === "free" ? {} : { apiKeyEnv: `${name.toUpperCase()}_KEY` }),
      },
    ]),
  );
  await writeFile(file, JSON.stringify({ formatVersion: 1, providers }));
  const fault = `${file}: providers.home.apiKeyEnv: HOME_KEY contains a character that is not allowed in an HTTP header. Copy the key again.`;
  const environment = { ...rig.installation.environment, HOME_KEY: "sk-\u2026", AWAY_KEY: "sk-good" };
  const check = await runHere(["admin", "models", "check", file, "--json"], environment);
  expect([check.code, check.stderr]).toEqual([1, ""]);
  expect((JSON.parse(check.stdout) as { faults: string[] }).faults).toEqual([fault]);
  const start = await run(["serve"], { ...environment, PROMPTD_MODELS_FILE: file });
  expect([start.code, start.stdout]).toEqual([1, ""]);
  expect(start.stderr).toContain(fault);
  expect(start.stderr).not.toContain("sk-");
});
