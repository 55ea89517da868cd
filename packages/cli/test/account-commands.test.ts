import { chmod, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AUTHOR_COMMANDS } from "../src/commands/author-commands.ts";
import { END_USER_COMMANDS } from "../src/end-user-commands.ts";
import { setup, type Reply, type Routes } from "./fake-service.ts";

test("me shows the profile, credits, and the meaning of the flags", async () => {
  const routes = {
    "GET /v1/me": { data: { username: "ada", displayName: null, userFlags: 3 } },
    "GET /v1/me/credits": { data: { credits: 480 } },
  };
  const { run, runJson } = await setup(routes);
  expect((await run("me")).stdout).toBe("username  ada\nname      -\ncredits   480\nflags     active plan, author\n");
  expect(await runJson("me")).toEqual({ username: "ada", displayName: null, userFlags: 3, credits: 480 });
});

describe("config", () => {
  test("stores address and key where only the owner can read them, and commands use them", async () => {
    const { run, env, home, baseUrl, seen } = await setup({ "GET /v1/prompts/publish": { data: { rows: [] } } });
    delete env["PROMPTD_URL"];
    delete env["PROMPTD_API_KEY"];
    await run("config", "set", "url", baseUrl);
    await run("config", "set", "api-key", "-");
    const path = join(home, ".config/promptd/config.json");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(path, "utf8"))).toEqual({ url: baseUrl, apiKey: "pd_from_stdin" });
    expect((await run("search", "x")).code).toBe(0);
    expect(seen[0]?.headers.authorization).toBe("Bearer pd_from_stdin");
  });

  test("the environment overrides the file, and the file overrides the default", async () => {
    const { run, runJson, env, home } = await setup();
    env["PROMPTD_URL"] = "http://from-env";
    await run("config", "set", "url", "http://from-file");
    expect((await run("config", "get", "url")).stdout).toBe("http://from-env\n");
    delete env["PROMPTD_URL"];
    expect((await run("config", "get", "url")).stdout).toBe("http://from-file\n");
    env["XDG_CONFIG_HOME"] = join(home, "elsewhere");
    expect(await runJson("config", "get", "url")).toEqual({ name: "url", value: "http://127.0.0.1:8787" });
  });

  test("set says when the environment overrides what it stores", async () => {
    const { run, env } = await setup();
    env["PROMPTD_TOKEN"] = "pdm_x";
    expect((await run("config", "set", "token", "pdm_y")).stderr).toBe(
      "The environment variable PROMPTD_TOKEN is set and overrides it.\n",
    );
    delete env["PROMPTD_TOKEN"];
    expect((await run("config", "set", "token", "pdm_y")).stderr).toBe("");
  });

  test("set asks on a terminal for a secret that is not an argument, and does not show it", async () => {
    const { run, env } = await setup({}, END_USER_COMMANDS, { secret: "pd_typed" });
    delete env["PROMPTD_API_KEY"];
    await run("config", "set", "api-key", "-");
    expect((await run("config", "get", "api-key")).stdout).toBe("pd_typed\n");
  });

  test("a stored key and token are never sent to another address, and the refusal says where they belong", async () => {
    const commands = { ...END_USER_COMMANDS, ...AUTHOR_COMMANDS };
    const { run, runJson, env, baseUrl, seen } = await setup({}, commands);
    delete env["PROMPTD_URL"];
    delete env["PROMPTD_API_KEY"];
    await run("config", "set", "url", "https://promptd.example.org/");
    await run("config", "set", "api-key", "pd_x");
    await run("config", "set", "token", "pdm_x");
    env["PROMPTD_URL"] = baseUrl;
    const why = `is set for ${baseUrl}. The stored one is for https://promptd.example.org/ and is sent only there.`;
    const next = `Sign in with "promptd login ${baseUrl}", or set the environment variable`;
    expect((await run("me")).stderr).toBe(`No API key ${why}\n${next} PROMPTD_API_KEY.\n`);
    expect((await run("keys", "list")).stderr).toBe(`No management token ${why}\n${next} PROMPTD_TOKEN.\n`);
    expect((await run("prompt", "list")).stderr).toBe(`No management token ${why}\n${next} PROMPTD_TOKEN.\n`);
    expect(await runJson("config", "get")).toMatchObject({ url: baseUrl, apiKey: null, token: null });
    expect(seen).toEqual([]);
  });

  test("a stored key is sent to the same address in another spelling, and a key of the environment to any", async () => {
    const { run, env, baseUrl, seen } = await setup();
    await run("config", "set", "api-key", "pd_stored");
    delete env["PROMPTD_API_KEY"];
    env["PROMPTD_URL"] = `${baseUrl.replace("http:", "HTTP:")}/`;
    await run("me");
    expect(seen[0]?.headers.authorization).toBe("Bearer pd_stored");
    await run("config", "set", "url", "https://promptd.example.org");
    env["PROMPTD_API_KEY"] = "pd_given";
    await run("me");
    expect(seen.at(-1)?.headers.authorization).toBe("Bearer pd_given");
  });

  test("the first key or token is stored with the address in use; a later one says if it is for another", async () => {
    const { run, env, home, baseUrl } = await setup();
    delete env["PROMPTD_API_KEY"];
    expect((await run("config", "set", "api-key", "pd_x")).stderr).toBe("");
    const stored: unknown = JSON.parse(await readFile(join(home, ".config/promptd/config.json"), "utf8"));
    expect(stored).toEqual({ url: baseUrl, apiKey: "pd_x" });
    env["PROMPTD_URL"] = "https://promptd.example.org";
    expect((await run("config", "set", "token", "pdm_x")).stderr).toBe(
      `It is for ${baseUrl}, not for the address in PROMPTD_URL.\n`,
    );
  });

  test("a relative XDG_CONFIG_HOME is ignored, because it would name another folder in each directory", async () => {
    const { runJson, env, home } = await setup();
    env["XDG_CONFIG_HOME"] = "elsewhere";
    expect(await runJson("config", "get")).toMatchObject({ path: join(home, ".config/promptd/config.json") });
  });

  test("the overview shows only the ends of the key; get by name prints all of it", async () => {
    const { run, runJson, env } = await setup();
    env["PROMPTD_API_KEY"] = "pd_0123456789abcdef";
    expect((await run("config", "get")).stdout).toContain("api-key  pd_01…ef");
    expect(await runJson("config", "get")).toMatchObject({ apiKey: "pd_01…ef" });
    expect((await run("config", "get", "api-key")).stdout).toBe("pd_0123456789abcdef\n");
  });

  test.each([
    [["set", "uri", "http://x"], 'There is no setting "uri". Did you mean url?'],
    [["set", "url", "localhost:8787"], "url must begin with http:// or https://"],
    [["set", "api-key", "two words"], "api-key must be 1 to 256 characters without spaces."],
    [["set", "api-key", "pdm_x"], "That is a management token.\nStore it with: promptd config set token -"],
    [["set", "token", "pd_x"], "That is an API key.\nStore it with: promptd config set api-key -"],
  ])("%j is refused", async (argv, sentence) => {
    const { run } = await setup();
    const { code, stderr } = await run("config", ...argv);
    expect(code).toBe(1);
    expect(stderr).toContain(sentence);
  });

  test("a malformed key is rejected before anything is sent, and is not shown", async () => {
    const { run, env, seen } = await setup();
    env["PROMPTD_API_KEY"] = "pd_copied…";
    expect(await run("me")).toEqual({
      code: 1,
      stdout: "",
      stderr: `The API key in PROMPTD_API_KEY contains a space, a line break, or another character that is not allowed.
Copy all of it, without "…", or sign in with "promptd login".
`,
    });
    expect(seen).toEqual([]);
  });

  test("a file that is a symbolic link stays a link, and may begin with a byte order mark", async () => {
    const { run, home } = await setup();
    const [folder, elsewhere] = [join(home, ".config/promptd"), join(home, "dotfiles.json")];
    await mkdir(folder, { recursive: true });
    await writeFile(elsewhere, '\ufeff{"token":"pdm_x"}');
    await symlink(elsewhere, join(folder, "config.json"));
    expect((await run("config", "set", "api-key", "pd_y")).code).toBe(0);
    expect(JSON.parse(await readFile(elsewhere, "utf8"))).toEqual({ token: "pdm_x", apiKey: "pd_y" });
  });

  test("a file that cannot be read or written is named in plain words", async () => {
    const { run, env, home } = await setup();
    delete env["PROMPTD_URL"];
    const path = join(home, ".config/promptd/config.json");
    await mkdir(path, { recursive: true });
    const isDirectory = `${path} is a directory; remove it, since a file belongs there.\n`;
    expect((await run("config", "set", "url", "http://y")).stderr).toBe(isDirectory);
    env["XDG_CONFIG_HOME"] = join(home, "a-file");
    await writeFile(join(home, "a-file"), "");
    const { code, stderr } = await run("config", "set", "url", "http://y");
    expect(code).toBe(1);
    const place = join(home, "a-file/promptd/config.json");
    expect(stderr).toBe(`${place} cannot be written: part of its path is a file, not a folder. Choose another path.\n`);
  });

  test("files that cannot be read do not matter to a caller who sets everything in the environment", async () => {
    const { run, env, home } = await setup({
      "GET /v1/resources": { data: { hash: "h", resources: { models: [] } } },
      "GET /manage/v1/keys": { data: { rows: [], hasMore: false } },
    });
    for (const name of ["config.json", "models.json"]) {
      await mkdir(join(home, ".config/promptd", name), { recursive: true });
    }
    expect(await run("models")).toMatchObject({ code: 0, stderr: "" });
    delete env["PROMPTD_API_KEY"];
    env["PROMPTD_TOKEN"] = "pdm_x";
    expect(await run("keys", "list")).toMatchObject({ code: 0, stderr: "" });
  });

  test("a file that is not JSON is named instead of overwritten", async () => {
    const { run, env, home } = await setup();
    await run("config", "set", "url", "http://x");
    const path = join(home, ".config/promptd/config.json");
    await writeFile(path, "{");
    delete env["PROMPTD_URL"];
    expect((await run("config", "set", "url", "http://y")).stderr).toContain(`${path} is not a JSON object.`);
    expect(await readFile(path, "utf8")).toBe("{");
  });
});

describe("doctor", () => {
  const healthy: Routes = {
    "GET /healthz": { data: {} },
    "GET /readyz": { data: {} },
    "GET /v1/me": { data: { username: "ada", displayName: null, userFlags: 1 } },
    "GET /v1/me/credits": { data: { credits: 5 } },
    "GET /v1/resources": { data: { hash: "h", resources: { models: [{}, {}] } } },
  };

  test("lists what it checked when everything is fine", async () => {
    const { run, runJson } = await setup(healthy);
    const { code, stdout } = await run("doctor");
    expect(code).toBe(0);
    expect(stdout).toContain("OK  API key           key of ada (environment), plan active, 5 credits");
    expect(await runJson("doctor")).toMatchObject({ healthy: true });
  });

  test("stops at the first failure, with exit code 1 and what to do next", async () => {
    const denied: Reply = { status: 401, error: { code: "UNAUTHORIZED_ERROR", message: "The API key is not valid." } };
    const { run, runJson } = await setup({ ...healthy, "GET /v1/me": denied });
    const { code, stdout } = await run("doctor");
    expect(code).toBe(1);
    expect(stdout).toMatch(/FAILED\s+API key\s+The API key is not valid. Sign in with "promptd login"/);
    expect(stdout).toMatch(/SKIPPED\s+models/);
    expect(await runJson("doctor")).toMatchObject({ healthy: false });
  });

  test("accepts a token without an API key, as authors have", async () => {
    const session = { person: { email: "ada@example.org" }, scopes: ["prompts:read"] };
    const { run, env } = await setup({ ...healthy, "GET /manage/v1/session": { data: session } });
    delete env["PROMPTD_API_KEY"];
    env["PROMPTD_TOKEN"] = "pdm_x";
    const { code, stdout } = await run("doctor");
    expect(code, stdout).toBe(0);
    expect(stdout).toContain("not set; needed for runs and search, but not for your own prompts");
    expect(stdout).toContain("token of ada@example.org (environment), prompts:read");
  });

  test("says in sentences why there is no connection and what to do next", async () => {
    const { run, env } = await setup(healthy);
    env["PROMPTD_URL"] = "http://127.0.0.1:1";
    const next = 'Start a server with "promptd serve", or set its address';
    expect((await run("doctor")).stdout).toContain(`No connection to http://127.0.0.1:1: bad port. ${next}`);
  });

  test("a config file that cannot be parsed is named, with what to do next", async () => {
    const { run, home } = await setup(healthy);
    const path = join(home, ".config/promptd/config.json");
    await mkdir(join(home, ".config/promptd"), { recursive: true });
    await writeFile(path, "{");
    expect((await run("doctor")).stdout).toContain(`${path} is not a JSON object. Fix or delete the file.`);
  });

  test("finds a missing key and a file that others can read", async () => {
    const { run, env, home, baseUrl } = await setup(healthy);
    delete env["PROMPTD_API_KEY"];
    expect((await run("doctor")).stdout).toMatch(
      /FAILED\s+API key\s+No API key is set\. Sign in with "promptd login", or set the environment variable PROMPTD_API_KEY\./,
    );
    await run("config", "set", "url", baseUrl);
    const path = join(home, ".config/promptd/config.json");
    await writeFile(path, "{}", { mode: 0o600 });
    await chmod(path, 0o644);
    expect((await run("doctor")).stdout).toContain(`${path} can be read by others (mode 644). Run: chmod 600 ${path}`);
  });
});

describe("without a server or a key", () => {
  test("a command says how to set a key and sends nothing", async () => {
    const { run, env, seen } = await setup();
    delete env["PROMPTD_API_KEY"];
    const { code, stderr } = await run("me");
    expect({ code, seen }).toEqual({ code: 1, seen: [] });
    expect(stderr).toContain('No API key is set.\nSign in with "promptd login"');
  });

  test("an invalid address is rejected in one sentence", async () => {
    const { run, env } = await setup();
    env["PROMPTD_URL"] = "localhost:8787";
    expect((await run("me")).stderr).toContain(
      'The base URL must be an http:// or https:// URL, got "localhost:8787".',
    );
  });

  test("a response from another program shows where it came from", async () => {
    const page: Reply = { bytes: Buffer.from("<html>nginx</html>"), headers: { "content-type": "text/html" } };
    const { run } = await setup({ "GET /v1/me": page });
    const { code, stderr } = await run("me");
    expect(code).toBe(1);
    expect(stderr).toContain("HTTP 200, text/html");
    expect(stderr).toContain("The response began: <html>nginx</html>");
  });
});
