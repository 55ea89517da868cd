import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { END_USER_COMMANDS } from "../src/end-user-commands.ts";
import { OPERATOR_COMMANDS } from "../src/operator-commands.ts";
import { setup, type Reply, type Routes } from "./fake-service.ts";
import { PROMPT, RUN } from "./sample-prompt.ts";

const me: Routes = { "GET /v1/me": { data: { username: "ada", displayName: null, userFlags: 1 } } };
const session = {
  credential: "token",
  person: { personId: RUN, name: "Ada", email: "ada@example.org", isOperator: false },
  accountId: RUN,
  accounts: [],
  scopes: ["keys:write", "credits:read"],
  features: {},
};
const key = {
  keyId: RUN,
  name: "laptop",
  display: "pd_01234…6789",
  state: "valid",
  createdAt: "2026-11-20T10:15:30.123Z",
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: "2026-11-21T10:15:30.123Z",
  lastUsedFrom: "203.0.113.24",
  monthlyCap: null,
  usedThisMonth: 0,
  promptIds: null,
  last30Days: { runs: 12, succeeded: 11, failed: 1, credits: 96 },
};
const KEYS = "/manage/v1/keys";

/** The same setup for a person who has signed in with only a management token. */
async function setupToken(routes: Routes) {
  const started = await setup(routes);
  started.env["PROMPTD_TOKEN"] = "pdm_test";
  delete started.env["PROMPTD_API_KEY"];
  return started;
}

describe("login", () => {
  test("checks a typed API key, opens the page that creates keys, and stores the key with the address", async () => {
    const person = { terminal: { isOut: true, isError: true }, secret: "pd_typed" };
    const { run, env, home, baseUrl, seen, opened } = await setup(me, undefined, person);
    delete env["PROMPTD_URL"];
    delete env["PROMPTD_API_KEY"];
    const { code, stdout, stderr } = await run("login", `${baseUrl}/`);
    expect([code, stdout]).toEqual([0, `Signed in to ${baseUrl} as ada, with an API key.\n`]);
    expect(stderr).toBe(`Opened ${baseUrl}/keys\n`);
    expect(opened).toEqual([`${baseUrl}/keys`]);
    expect(seen.at(-1)?.headers.authorization).toBe("Bearer pd_typed");
    const stored: unknown = JSON.parse(await readFile(join(home, ".config/promptd/config.json"), "utf8"));
    expect(stored).toEqual({ url: baseUrl, apiKey: "pd_typed" });
  });

  test("with a management token, creates an API key for this machine, once", async () => {
    const created: Reply = { data: { ...key, apiKey: "pd_made" } };
    const routes = { "GET /manage/v1/session": { data: session }, [`POST ${KEYS}`]: created };
    const { run, env, home, baseUrl, seen } = await setup(routes, undefined, { stdin: "pdm_given\n" });
    delete env["PROMPTD_API_KEY"];
    const { stdout, stderr } = await run("login", "--token", "-");
    expect(stdout).toBe(`Signed in to ${baseUrl} as ada@example.org, with an API key and a management token.\n`);
    expect(stderr).toBe("Created the API key pd_01234…6789 for this machine.\n");
    const stored: unknown = JSON.parse(await readFile(join(home, ".config/promptd/config.json"), "utf8"));
    expect(stored).toEqual({ url: baseUrl, apiKey: "pd_made", token: "pdm_given" });
    await run("login", "--token", "-");
    expect(seen.filter(({ route }) => route === `POST ${KEYS}`)).toHaveLength(1);
  });

  test("removes what was stored for another server, whose secrets this server must not get", async () => {
    const { run, env, home, baseUrl } = await setup(me, undefined, { stdin: "pd_new" });
    delete env["PROMPTD_URL"];
    delete env["PROMPTD_API_KEY"];
    const path = join(home, ".config/promptd/config.json");
    await mkdir(dirname(path), { recursive: true });
    const stored = async (): Promise<unknown> => JSON.parse(await readFile(path, "utf8"));
    await writeFile(path, JSON.stringify({ url: `${baseUrl}/`, apiKey: "pd_old", token: "pdm_same" }));
    await run("login", baseUrl, "--token", "-");
    expect(await stored()).toEqual({ url: baseUrl, apiKey: "pd_new", token: "pdm_same" });
    await writeFile(path, JSON.stringify({ url: "https://other.example", apiKey: "pd_old", token: "pdm_old" }));
    await run("login", baseUrl, "--token", "-");
    expect(await stored()).toEqual({ url: baseUrl, apiKey: "pd_new" });
  });

  test("with the token of a member who may not create keys, stores only the token", async () => {
    const error = { code: "UNAUTHORIZED_ERROR", message: "Only an owner may do that." };
    const routes = { "GET /manage/v1/session": { data: session }, [`POST ${KEYS}`]: { status: 401, error } };
    const { run, env, baseUrl } = await setup(routes, undefined, { stdin: "pdm_given" });
    delete env["PROMPTD_API_KEY"];
    expect(await run("login", "--token", "-")).toEqual({
      code: 0,
      stdout: `Signed in to ${baseUrl} as ada@example.org, with a management token.\n`,
      stderr: "No API key was created: Only an owner may do that.\n",
    });
  });

  test.each([
    [["localhost:1"], "The address must begin with http:// or https://"],
    [["--token", ""], "No API key (pd_…) or management token (pdm_…) was given."],
    [["--token", "sk-123"], "That is neither an API key (pd_…) nor a management token (pdm_…)."],
    [["--no-browser"], "This terminal cannot prompt for input.\nPass it on standard input: promptd login --token -"],
  ])("%j is refused, and nothing is stored", async (argv, sentence) => {
    const { run, home, seen } = await setup(me);
    const { code, stderr } = await run("login", ...argv);
    expect([code, seen]).toEqual([1, []]);
    expect(stderr).toContain(sentence);
    await expect(readFile(join(home, ".config/promptd/config.json"))).rejects.toThrow("ENOENT");
  });

  test("a key that the server rejects is not stored", async () => {
    const error = { code: "UNAUTHORIZED_ERROR", message: "No such key." };
    const { run, home } = await setup({ "GET /v1/me": { status: 401, error } });
    expect((await run("login", "--token", "pd_old")).code).toBe(1);
    await expect(readFile(join(home, ".config/promptd/config.json"))).rejects.toThrow("ENOENT");
  });

  test("logout and config unset remove what was stored", async () => {
    const { run, env, home, baseUrl } = await setup(me);
    await run("login", "--token", "pd_one");
    const path = join(home, ".config/promptd/config.json");
    expect((await run("config", "unset", "api-key")).stdout).toBe(`Removed api-key from ${path}.\n`);
    expect((await run("config", "unset", "api-key")).stdout).toBe(`api-key was not set in ${path}.\n`);
    await run("login", "--token", "pd_two");
    expect((await run("logout")).stdout).toBe(`Removed the API key from ${path}.\n`);
    expect((await run("logout")).stdout).toBe(`No key or token was stored in ${path}.\n`);
    expect(JSON.parse(await readFile(path, "utf8"))).toEqual({ url: baseUrl });
    delete env["PROMPTD_API_KEY"];
    expect((await run("whoami")).stderr).toBe(`You are not signed in to ${baseUrl}.\nSign in with "promptd login".\n`);
  });
});

test("whoami names the server, the account, and what the token may do", async () => {
  const routes = {
    ...me,
    "GET /v1/me/credits": { data: { credits: 480 } },
    "GET /manage/v1/session": { data: session },
  };
  const { run, env, baseUrl } = await setup(routes);
  env["PROMPTD_TOKEN"] = "pdm_test";
  expect((await run("whoami")).stdout).toBe(
    `server   ${baseUrl}\nAPI key  of ada, 480 credits\ntoken    of ada@example.org; keys:write, credits:read\n`,
  );
});

describe("keys", () => {
  test("list shows valid keys with their usage, and all keys on request", async () => {
    const rows = [key, { ...key, name: "old\u0007", state: "revoked", lastUsedAt: null, lastUsedFrom: null }];
    const { run, runJson } = await setupToken({ [`GET ${KEYS}`]: { data: { rows, hasMore: false } } });
    expect((await run("keys", "list")).stdout)
      .toBe(`KEY                                   DISPLAY        NAME    STATE  LAST USED   FROM          30 DAYS
${RUN}  pd_01234…6789  laptop  valid  2026-11-21  203.0.113.24  12 runs, 96 credits
`);
    expect(await runJson("keys", "list", "--all")).toEqual({ rows });
  });

  test("create and roll send the terms, and print only the key on stdout", async () => {
    const routes = {
      [`POST ${KEYS}`]: { data: { ...key, apiKey: "pd_new" } },
      "GET /manage/v1/marketplace/tea-poem": { data: { promptId: PROMPT } },
      [`POST ${KEYS}/${RUN}/roll`]: {
        data: { ...key, apiKey: "pd_rolled", oldKeyExpiresAt: "2026-11-23T10:15:00.000Z" },
      },
    };
    const { run, seen } = await setupToken(routes);
    const terms = ["--cap", "500", "--expires", "2027-01-01", "--prompt", RUN, "--prompt", "tea-poem"];
    expect(await run("keys", "create", "laptop", ...terms)).toEqual({
      code: 0,
      stdout: "pd_new\n",
      stderr: "The key is shown only once.\n",
    });
    expect(seen[1]?.body).toEqual({
      name: "laptop",
      expiresAt: "2027-01-01T00:00:00.000Z",
      monthlyCap: 500,
      promptIds: [RUN, PROMPT],
    });
    expect(seen[1]?.headers.authorization).toBe("Bearer pdm_test");
    expect((await run("keys", "roll", RUN, "--overlap", "1")).stderr).toContain(
      "valid until 2026-11-23T10:15:00.000Z.",
    );
    expect(seen[2]?.body).toEqual({ overlapHours: 1 });
  });

  test.each([RUN, "laptop", "pd_01234…6789", "pd_01234...6789"])("revoke takes the key %s", async (name) => {
    const expired = { ...key, keyId: PROMPT, state: "expired" };
    const { run } = await setupToken({
      [`GET ${KEYS}`]: { data: { rows: [expired, key], hasMore: false } },
      [`GET ${KEYS}/${RUN}`]: { data: key },
      [`DELETE ${KEYS}/${RUN}`]: { data: key },
    });
    expect((await run("keys", "revoke", name)).stdout).toBe("Revoked laptop (pd_01234…6789).\n");
  });

  test("a name that no key or several keys have ends none of them", async () => {
    const twin = { ...key, keyId: PROMPT, display: "pd_98765…4321", lastUsedAt: null };
    const { run, seen } = await setupToken({ [`GET ${KEYS}`]: { data: { rows: [twin, key], hasMore: false } } });
    expect((await run("keys", "revoke", "laptop")).stderr)
      .toBe(`2 valid API keys have the name "laptop". Give the id of one of them:
${PROMPT}  pd_98765…4321  last used never
${RUN}  pd_01234…6789  last used 2026-11-21
`);
    expect((await run("keys", "roll", "desktop")).stderr).toBe(
      'No valid API key has the name or the display form "desktop".\nTo see your keys: promptd keys list\n',
    );
    expect(new Set(seen.map(({ route }) => route.slice(0, 4)))).toEqual(new Set(["GET "]));
  });

  test("need a management token, and say which scope a token lacks", async () => {
    const { run } = await setup();
    expect((await run("keys", "list")).stderr).toContain("No management token is set; an API key is only for runs.");
    const data = { reason: "SCOPE_REQUIRED", scope: "keys:write" };
    const error = { code: "UNAUTHORIZED_ERROR", message: "The token lacks a scope.", data };
    const lacking = await setupToken({ [`GET ${KEYS}`]: { status: 401, error } });
    expect((await lacking.run("keys", "list")).stderr).toContain("with the scope keys:write");
  });
});

describe("webhooks", () => {
  const WEBHOOKS = "/manage/v1/webhooks";
  const webhook = {
    webhookId: RUN,
    url: "https://example.org/events",
    events: ["run.finished"],
    createdAt: "2026-11-20T10:15:30.123Z",
    disabledAt: null,
    disabledReason: null,
    failingSince: null,
    previousSecretUntil: null,
  };
  const delivery = {
    deliveryId: RUN,
    event: "run.finished",
    runId: RUN,
    state: "delivered",
    createdAt: "2026-11-22T10:04:11.000Z",
    attempts: 1,
    nextAttemptAt: null,
    lastAttemptAt: "2026-11-22T10:04:11.480Z",
    statusCode: 204,
    fault: null,
    durationMs: 93,
  };

  test("list shows their state and events", async () => {
    const rows = [webhook, { ...webhook, failingSince: "2026-11-20T10:15:30.123Z", url: "https://example.org/\u0007" }];
    const { run } = await setupToken({ [`GET ${WEBHOOKS}`]: { data: { rows, hasMore: false } } });
    expect((await run("webhooks", "list")).stdout)
      .toBe(`WEBHOOK                               STATE    EVENTS        URL
${RUN}  enabled  run.finished  https://example.org/events
${RUN}  failing  run.finished  https://example.org/\\u0007
`);
  });

  test("add prints only the secret on stdout, and subscribes to all events when none is named", async () => {
    const { run, seen } = await setupToken({ [`POST ${WEBHOOKS}`]: { data: { ...webhook, secret: "whsec_new" } } });
    expect(await run("webhooks", "add", webhook.url, "--event", "run.finished")).toEqual({
      code: 0,
      stdout: "whsec_new\n",
      stderr: `Created ${RUN}. The secret is shown only once.\n`,
    });
    await run("webhooks", "add", webhook.url);
    const all = ["run.finished", "credits.low", "prompt.model_retiring"];
    expect(seen.map(({ body }) => body)).toEqual([
      { url: webhook.url, events: ["run.finished"] },
      { url: webhook.url, events: all },
    ]);
    expect((await run("webhooks", "add", webhook.url, "--event", "run.started")).stderr).toContain(
      '--event must be one of: run.finished, credits.low, prompt.model_retiring. Got "run.started".',
    );
  });

  test("deliveries show the response and the time of the next attempt", async () => {
    const failed = {
      ...delivery,
      state: "pending",
      statusCode: 503,
      fault: "The receiver responded with status 503.",
      nextAttemptAt: "2026-11-22T10:04:41.000Z",
    };
    const data = { rows: [failed, delivery], hasMore: false };
    const { run } = await setupToken({ [`GET ${WEBHOOKS}/${RUN}/deliveries`]: { data } });
    const { stdout } = await run("webhooks", "deliveries", RUN, "--limit", "2");
    expect(stdout).toContain("pending    1         The receiver responded with status 503. Next attempt at 10:04:41.");
    expect(stdout).toContain("delivered  1         204 in 93 ms");
  });

  test("are tested, repeated, and removed by id", async () => {
    const routes = {
      [`POST ${WEBHOOKS}/${RUN}/test`]: { data: { ...delivery, event: "webhook.test" } },
      [`POST ${WEBHOOKS}/${RUN}/deliveries/${RUN}/repeat`]: { data: delivery },
      [`DELETE ${WEBHOOKS}/${RUN}`]: { data: webhook },
    };
    const { run } = await setupToken(routes);
    const see = `To see the response: promptd webhooks deliveries ${RUN}\n`;
    expect((await run("webhooks", "test", RUN)).stdout).toBe(`webhook.test will be sent. ${see}`);
    expect((await run("webhooks", "repeat", RUN, RUN)).stdout).toBe(`run.finished will be sent again. ${see}`);
    expect((await run("webhooks", "remove", RUN)).stdout).toBe("Deleted the webhook for https://example.org/events.\n");
  });
});

describe("credits and usage", () => {
  test("credits shows what can be spent with an API key, and also what is held with a token", async () => {
    const { run } = await setup({ "GET /v1/me/credits": { data: { credits: 480 } } });
    expect((await run("credits")).stdout).toBe("available  480\n");
    const data = { available: 480, held: 12, posted: 492, frozen: { since: "2026-11-20", reason: null } };
    const managed = await setupToken({ "GET /manage/v1/credits": { data } });
    expect((await managed.run("credits")).stdout).toBe(
      "available  480\nheld       12\nfrozen     since 2026-11-20: no reason\n",
    );
  });

  test("credits of the key's account are shown when runs are paid from a different account than the token's", async () => {
    const data = { available: 480, held: 12, posted: 492, frozen: null };
    const credits = async (ofKey: Reply) => {
      const { run, env } = await setup({ "GET /manage/v1/credits": { data }, "GET /v1/me/credits": ofKey });
      env["PROMPTD_TOKEN"] = "pdm_test";
      return (await run("credits")).stdout;
    };
    const ofToken = "available  480\nheld       12\n";
    expect(await credits({ data: { credits: 480 } })).toBe(ofToken);
    expect(await credits({ data: { credits: 7 } })).toBe(
      `${ofToken}API key    7 available; its account pays for runs\n`,
    );
    const error = { code: "UNAUTHORIZED_ERROR", message: "No such key." };
    expect(await credits({ status: 401, error })).toBe(ofToken);
  });

  test("the journal is a table of entries", async () => {
    const row = {
      entryId: RUN,
      at: key.createdAt,
      kind: "grant",
      amount: 5,
      creditsAfter: 9,
      runId: null,
      reason: "Hi",
    };
    const { run, seen } = await setupToken({
      "GET /manage/v1/credits/journal": { data: { rows: [row], hasMore: false } },
    });
    expect((await run("credits", "--journal", "-n", "1")).stdout).toContain(
      "2026-11-20 10:15:30  grant  5        9      Hi",
    );
    expect(seen[0]?.route).toBe("GET /manage/v1/credits/journal?limit=1");
  });

  test.each([
    ["credits", "--journal"],
    ["webhooks", "deliveries", RUN],
  ])("%s %s refuses a --limit that is no number before anything is sent", async (...argv) => {
    const { run, seen } = await setupToken({});
    const { code, stderr } = await run(...argv, "--limit", "ten");
    expect({ code, seen, stderr }).toEqual({
      code: 1,
      seen: [],
      stderr: '--limit must be a whole number, got "ten".\n',
    });
  });

  test("usage is a table by the requested names, or the server's CSV", async () => {
    const row = {
      day: "2026-11-20",
      promptSlug: "cat",
      runs: 3,
      failed: 1,
      credits: 9,
      inputTokens: 10,
      outputTokens: 20,
    };
    const report = { from: "2026-11-01", to: "2026-11-23", rows: [row], isCut: false };
    const routes: Routes = {
      "GET /manage/v1/usage?by=day%2Cprompt": { data: report },
      "GET /manage/v1/usage?by=day&format=csv": { bytes: Buffer.from("day,runs\r\n2026-11-20,3\r\n") },
    };
    const { run } = await setupToken(routes);
    expect((await run("usage", "--by", "day,prompt")).stdout)
      .toBe(`DAY         PROMPT  RUNS  FAILED  CREDITS  INPUT TOKENS  OUTPUT TOKENS
2026-11-20  cat     3     1       9        10            20
`);
    expect((await run("usage", "--csv")).stdout).toBe("day,runs\r\n2026-11-20,3\n");
    expect(await run("usage", "--csv", "--by", "key")).toMatchObject({ code: 1, stdout: "" });
  });
});

describe("open", () => {
  test.each([
    [[], "/"],
    [["credits"], "/credits"],
    [["operator"], "/operator"],
    [["cat-poem"], "/p/cat-poem"],
    [[RUN], `/runs/${RUN}`],
  ])("%j leads to %s", async (argv, path) => {
    const { run, opened, baseUrl } = await setup({}, undefined, { terminal: { isOut: true } });
    expect((await run("open", ...argv)).stdout).toBe(`${baseUrl}${path}\n`);
    expect(opened).toEqual([`${baseUrl}${path}`]);
  });

  test("opens nothing when there is no terminal", async () => {
    const { run, opened } = await setup();
    await run("open");
    expect(opened).toEqual([]);
    expect((await run("open", "../x")).stderr).toContain('"../x" is not a page, a slug, or a run id.');
  });
});

describe("completion", () => {
  const all = { ...OPERATOR_COMMANDS, ...END_USER_COMMANDS };
  test.each([
    ["", "ru", ["run", "runs"]],
    ["runs", "", ["list", "get", "watch", "cancel"]],
    ["run some-slug", "--no", ["--no-wait"]],
    ["admin key", "cr", ["create"]],
  ])("of bash proposes after 'promptd %s %s'", async (before, current, expected) => {
    const { run } = await setup({}, all);
    const { stdout: script } = await run("completion", "bash");
    const words = ["promptd", ...before.split(" ").filter((word) => word !== ""), current];
    const line = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _promptd; echo "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync("bash", ["-c", `${script}\n${line}`], { encoding: "utf8" });
    expect([stdout.trim().split(" "), stderr]).toEqual([expected, ""]);
  });

  test("exists for zsh and fish, and for no other shell", async () => {
    const { run } = await setup();
    expect((await run("completion", "zsh")).stdout).toContain("bashcompinit");
    expect((await run("completion", "fish")).stdout).toContain(
      "complete -c promptd -f -n '__fish_seen_subcommand_from runs' -a watch",
    );
    expect((await run("completion", "tcsh")).stderr).toContain("Shells: bash, zsh, fish");
  });
});
