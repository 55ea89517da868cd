/** The first minutes of a caller and an author, each from an empty folder, with the command line. */
import { ACCOUNT_HEADER } from "@promptd/contract/manage";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Serving } from "./check-server.ts";
import { check, environmentOf, findNode, install, run } from "./empty-folders.ts";

/** A caller with Node, a server's address, and a key: from an empty folder to a run. */
export async function checkCaller(tarballs: readonly string[], { url, apiKey }: Serving): Promise<void> {
  const node = findNode("24");
  await check("the first minutes of a caller", () => {
    const cwd = install("caller", tarballs, node);
    const own = { cwd, node, env: { XDG_CONFIG_HOME: join(cwd, "config") } };
    const promptd = (args: readonly string[], input?: string) =>
      run("promptd", args, input === undefined ? own : { ...own, input });
    promptd(["login", url, "--token", "-"], apiKey);
    const { rows } = JSON.parse(promptd(["search", "summary", "--json"])) as {
      rows: { slug: string; configs: { textInputs: Record<string, { required: boolean }>; imageCount: number } }[];
    };
    const [row] = rows.filter(({ configs }) => configs.imageCount === 0);
    if (row === undefined) throw new Error("Nothing was found.");
    const [first = "", ...rest] = Object.keys(row.configs.textInputs).filter(
      (key) => row.configs.textInputs[key]?.required === true,
    );
    promptd(["show", row.slug]);
    const text = promptd(
      ["run", row.slug, `${first}=-`, ...rest.map((key) => `${key}=tea`)],
      "A long letter about tea.",
    );
    if (text.trim() === "") throw new Error("The run returned no text.");
    const refused = spawnSync("promptd", ["run", row.slug, "nosuch=1"], {
      cwd,
      env: environmentOf(own),
      encoding: "utf8",
    });
    if (refused.status !== 1 || !refused.stderr.includes("nothing was charged")) throw new Error(refused.stderr);
    promptd(["runs", "list"]);
    return `ran ${row.slug}`;
  });
}

const PROMPT_FILE = `---
promptd: 1
title: Tea note
slug: tea-note
model: sandbox/text
inputs: { topic: {} }
tests:
  - inputs: { topic: rain }
    expect: { contains: rain }
---
Write a note about {{ topic }}.
`;

/** An author with a folder of prompts and a management token: from an empty folder to a version that callers run. */
export async function checkAuthor(tarballs: readonly string[], serving: Serving): Promise<void> {
  const node = findNode("24");
  const token = await createToken(serving);
  await check("the first minutes of an author", () => {
    const cwd = install("author", tarballs, node);
    writeFileSync(join(cwd, "tea.prompt.md"), PROMPT_FILE);
    const own = { cwd, node, env: { XDG_CONFIG_HOME: join(cwd, "config") } };
    const took: string[] = [];
    const promptd = (args: readonly string[], input?: string) => {
      const startedMs = performance.now();
      const output = run("promptd", args, input === undefined ? own : { ...own, input });
      const step = args[0] === "prompt" ? args[1] : args[0];
      took.push(`${step} ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
      return output;
    };
    promptd(["login", serving.url, "--token", "-"], token);
    promptd(["prompt", "check", "tea.prompt.md"]);
    const preview = promptd(["prompt", "preview", "tea.prompt.md", "-i", "topic=rain"]);
    if (!preview.includes("Write a note about rain.")) throw new Error(preview);
    promptd(["prompt", "test", "tea.prompt.md"]);
    promptd(["prompt", "push", "tea.prompt.md", "--write-id"]);
    promptd(["prompt", "publish", "tea.prompt.md", "--note", "First"]);
    if (!promptd(["run", "tea-note", "topic=rain"]).includes("a note about rain")) throw new Error("It did not run.");
    writeFileSync(
      join(cwd, "tea.prompt.md"),
      readFileSync(join(cwd, "tea.prompt.md"), "utf8").replace("a note", "a letter"),
    );
    if (!promptd(["prompt", "diff", "tea.prompt.md"]).includes("a letter")) throw new Error("The diff shows nothing.");
    promptd(["prompt", "publish", "tea.prompt.md"]);
    promptd(["prompt", "label", "tea-note", "production", "1"]);
    const answer = promptd(["run", "tea-note@production", "topic=rain"]);
    if (!answer.includes("a note about rain")) throw new Error(answer);
    const types = promptd(["types", "tea-note"]);
    if (!types.includes('"topic": string;')) throw new Error(types);
    promptd(["usage"]);
    promptd(["keys", "list"]);
    return took.join(", ");
  });
}

/** Does what the console does: signs in with the first start's link and creates a token. */
async function createToken({ url, welcome }: Serving): Promise<string> {
  const json = { "content-type": "application/json", origin: url };
  const code = new URL(welcome).hash.slice(1);
  const signedIn = await fetch(`${url}/manage/v1/welcome`, {
    method: "POST",
    headers: json,
    body: JSON.stringify({ code }),
  });
  const cookie = signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  const session = (await (await fetch(`${url}/manage/v1/session`, { headers: { cookie } })).json()) as {
    data: { accountId: string };
  };
  const scopes = ["prompts:read", "prompts:write", "keys:write", "credits:read"];
  const created = await fetch(`${url}/manage/v1/tokens`, {
    method: "POST",
    headers: { ...json, cookie, [ACCOUNT_HEADER]: session.data.accountId },
    body: JSON.stringify({ name: "laptop", scopes, expiresInDays: 1 }),
  });
  return ((await created.json()) as { data: { token: string } }).data.token;
}
