import { describe, expect, test } from "vitest";
import { CommandFailure, type Command, type CommandTable } from "../src/command.ts";
import { END_USER_COMMANDS } from "../src/end-user-commands.ts";
import { setup } from "./fake-service.ts";

const echo: Command = {
  summary: "Repeat what was given",
  usage: "<word> [word]",
  details: "For tests.",
  session: "",
  options: {
    count: { type: "string", short: "c", value: "N", summary: "how often" },
    tag: { type: "string", multiple: true, summary: "a label" },
    loud: { type: "boolean", summary: "in capitals" },
  },
  async run(args, io) {
    const document = {
      words: args.positionals,
      count: args.text("count") ?? null,
      tags: args.list("tag"),
      loud: args.flag("loud"),
    };
    io.note("on the way");
    io.result(document, args.positionals.join(" "));
  },
};
const failing = (error: Error): Command => ({
  summary: "Fail",
  usage: "",
  session: "",
  options: {},
  async run() {
    throw error;
  },
});
const table: CommandTable = {
  echo: async () => echo,
  run: async () => echo,
  "runs list": async () => echo,
  "admin key create": async () => failing(new CommandFailure("No such user.", { hint: "Create one." })),
  "admin key revoke": async () => failing(new Error("boom")),
  "admin user create": async () => ({ ...echo, usage: "", run: async () => 1 }),
};

describe("on a terminal", () => {
  const terminal = { isOut: true, isError: true };
  const text = "Ada\u001b[2J\tline 1\nline 2\u009b1m";
  const shown = "Ada\\u001b[2J\tline 1\nline 2\\u009b1m\n";

  test("untrusted text cannot move the cursor or change the terminal", async () => {
    const { run } = await setup({}, table, { terminal });
    expect((await run("echo", text)).stdout).toBe(shown);
    const refused = await setup({}, { fail: async () => failing(new CommandFailure(text)) }, { terminal });
    expect((await refused.run("fail")).stderr).toContain(shown);
  });

  test("JSON, and output that does not go to a terminal, keeps its text", async () => {
    const { runJson } = await setup({}, table, { terminal });
    expect(await runJson("echo", text)).toMatchObject({ words: [text] });
    const { run } = await setup({}, table);
    expect((await run("echo", text)).stdout).toBe(`${text}\n`);
  });
});

describe("arguments", () => {
  test("flags and positionals may be mixed; values keep their text", async () => {
    const { runJson } = await setup({}, table);
    expect(await runJson("echo", "--loud", "a", "-c", "2", "--tag", "x=1", "b", "--tag=--y")).toEqual({
      words: ["a", "b"],
      count: "2",
      tags: ["x=1", "--y"],
      loud: true,
    });
  });

  test("--json before the command means the same", async () => {
    const { run } = await setup({}, table);
    const { stdout } = await run("--json", "echo", "a");
    expect(JSON.parse(stdout)).toMatchObject({ words: ["a"] });
  });

  test("a word after -- is never a flag", async () => {
    const { run } = await setup({}, table);
    expect((await run("echo", "--", "--loud", "--json")).stdout).toBe("--loud --json\n");
  });

  test.each([
    [["echo", "a", "--lod"], '"promptd echo" has no flag --lod. Did you mean --loud?'],
    [["echo", "a", "-x"], '"promptd echo" has no flag -x.'],
    [["echo", "a", "--count"], "The flag --count needs a value."],
    [["echo", "a", "--count", "--loud"], "The flag --count needs a value."],
    [["echo", "a", "--loud=yes"], "The flag --loud does not take a value."],
    [["echo", "a", "-c", "1", "--count", "2"], "The flag --count was given twice."],
    [["echo"], '"promptd echo" needs <word> [word].'],
    [["echo", "a", "b", "c", "d"], '"promptd echo" does not accept "c d".'],
    [["ehco", "a"], 'promptd has no command "ehco a". Did you mean "promptd echo"?'],
    [["admin", "kye", "create"], 'promptd has no command "admin kye create". Did you mean "promptd admin key create"?'],
    [
      ["admin", "usr", "create", "ada@example.org"],
      'promptd has no command "admin usr create ada@example.org". Did you mean "promptd admin user create"?',
    ],
    [["runs", "lst"], 'promptd has no command "runs lst". Did you mean "promptd runs list"?'],
    [["publish"], 'promptd has no command "publish".'],
    [["--strange"], "promptd has no flag --strange."],
    [["constructor"], 'promptd has no command "constructor".'],
  ])("%j is refused in a sentence on stderr, exit code 1", async (argv, sentence) => {
    const { run } = await setup({}, table);
    const { code, stdout, stderr } = await run(...argv);
    expect(stderr.split("\n")[0]).toBe(sentence);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  });
});

test("an unknown command of a group leads to the group's help", async () => {
  const { run } = await setup({}, table);
  expect((await run("admin", "prices")).stderr).toContain('See "promptd admin --help".');
  expect((await run("prices")).stderr).toContain('See "promptd --help".');
});

describe("output", () => {
  test("text goes to stdout and notes to stderr", async () => {
    const { run } = await setup({}, table);
    expect(await run("echo", "a", "b")).toEqual({ code: 0, stdout: "a b\n", stderr: "on the way\n" });
  });

  test("with --json, stdout contains one document and nothing else", async () => {
    const { run } = await setup({}, table);
    const { stdout } = await run("echo", "a", "--json");
    expect(JSON.parse(stdout)).toEqual({ words: ["a"], count: null, tags: [], loud: false });
  });

  test("a failure prints its message and hint on stderr, with exit code 1", async () => {
    const { run } = await setup({}, table);
    expect(await run("admin", "key", "create", "--json")).toEqual({
      code: 1,
      stdout: "",
      stderr: "No such user.\nCreate one.\n",
    });
  });

  test("an unexpected error shows its stack, so that it can be reported", async () => {
    const { run } = await setup({}, table);
    const { code, stderr } = await run("admin", "key", "revoke");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^promptd failed unexpectedly: Error: boom\n\s+at /);
  });

  test("the exit code of the command is passed on", async () => {
    const { run } = await setup({}, table);
    expect((await run("admin", "user", "create")).code).toBe(1);
  });
});

describe("help", () => {
  test.each([[], ["--help"], ["-h"], ["help"]])(
    "%j lists commands with their summaries, and a group in one line",
    async (...argv) => {
      const { run } = await setup({}, table);
      const { code, stdout, stderr } = await run(...argv);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toContain("\nOperate a server:\n  admin …  key, user\n");
      expect(stdout).toContain("\nOther:\n  echo     Repeat what was given\n");
    },
  );

  test("a group lists its own commands; without --help, that is an error", async () => {
    const { run } = await setup({}, table);
    const asked = await run("admin", "key", "--help");
    expect(asked.code).toBe(0);
    expect(asked.stdout).toContain("admin key revoke");
    expect(asked.stdout).not.toContain("admin user create");
    expect(await run("admin", "key")).toEqual({ code: 1, stdout: "", stderr: asked.stdout });
  });

  test.each([
    ["echo", "--help"],
    ["echo", "-h"],
    ["help", "echo"],
  ])("%s %s shows usage, text and flags", async (...argv) => {
    const { run } = await setup({}, table);
    const { code, stdout } = await run(...argv);
    expect(code).toBe(0);
    expect(stdout).toBe(`Repeat what was given

Usage: promptd echo <word> [word] [flags]

For tests.

Flags:
  -c, --count N  how often
  --tag VALUE    a label (can be repeated)
  --loud         in capitals
  --json         print one JSON document on stdout and nothing else
  -h, --help     print this help
`);
  });

  test.each(Object.keys(END_USER_COMMANDS))("promptd %s --help needs neither key nor server", async (path) => {
    const { run, env, seen } = await setup();
    delete env["PROMPTD_API_KEY"];
    const { code, stdout } = await run(...path.split(" "), "--help");
    expect(code).toBe(0);
    expect(stdout).toContain(`Usage: promptd ${path}`);
    expect(seen).toEqual([]);
  });
});

test("--version prints the version of the package", async () => {
  const { run } = await setup();
  expect((await run("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});
