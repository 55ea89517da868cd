/** What an operator looks up at the terminal, and the audit log entry of every action there. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { hashApiKey, mintToken } from "../../server/src/accounts/index.ts";
import { openConnection } from "../../server/src/platform/database/database.ts";
import { OPERATOR_COMMANDS } from "../src/operator-commands.ts";
import { createInstallation, readDocument, runHere, type OwnDatabase } from "./operator-process.ts";

let installation: OwnDatabase;
beforeAll(async () => {
  installation = await createInstallation();
  await admin("user", "create", "--email", "ada@example.org");
});
afterAll(() => installation.remove());

const admin = <Document>(...words: string[]) =>
  readDocument<Document>(["admin", ...words], installation.environment, runHere);

async function query(sql: string): Promise<unknown[]> {
  const connection = openConnection(installation.url, "asking-test");
  await connection.connect();
  const { rows } = await connection.query(sql);
  await connection.end();
  return rows;
}

async function audited() {
  const rows = await query("select actor, action, subject, outcome from audit_entries order by id");
  return rows as { actor: string; action: string; subject: string | null; outcome: string }[];
}

test("accounts are found by part of their address, and a misspelled address gets a suggestion", async () => {
  const { rows } = await admin<{ rows: { email: string }[] }>("account", "list", "ADA@");
  expect(rows.map(({ email }) => email)).toEqual(["ada@example.org"]);
  const { code, stderr } = await runHere(["admin", "account", "show", "ada@exmaple.org"], installation.environment);
  expect([code === 0, stderr]).toEqual([false, expect.stringContaining("Did you mean ada@example.org?")]);
  const far = await runHere(["admin", "account", "show", "grace@example.org"], installation.environment);
  expect(far.stderr).not.toContain("Did you mean");
});

test("the account list shows which accounts are frozen", async () => {
  await admin("user", "create", "--email", "frozen@example.org");
  await admin("account", "freeze", "frozen@example.org", "--reason", "Under review");
  const { rows } = await admin<{ rows: { email: string; isFrozen: boolean }[] }>("account", "list");
  expect(rows.filter(({ isFrozen }) => isFrozen).map(({ email }) => email)).toEqual(["frozen@example.org"]);
  const { stdout } = await runHere(["admin", "account", "list"], installation.environment);
  expect(stdout).toMatch(/ {2}frozen@example\.org, frozen\n.* {2}ada@example\.org\n$/);
});

test("the user list has people who sign in, and no account without a person", async () => {
  const people = () => admin<{ rows: { email: string }[] }>("user", "list");
  expect(await people()).toEqual({ rows: [], hasMore: false });
  await query(
    "insert into auth_users (id, name, email) values (promptd_new_id(), 'Grace Hopper', 'grace.hopper@example.org')",
  );
  expect(await people()).toMatchObject({ rows: [{ email: "grace.hopper@example.org", isFrozen: false }] });
  expect(await admin("user", "list", "HOPP")).toMatchObject({ rows: [{ name: "Grace Hopper" }] });
  await query("delete from auth_users");
});

test("an account's runs are listed, and an unknown run is reported as missing", async () => {
  expect(await admin("run", "list", "--user", "ada@example.org")).toEqual({ rows: [], hasMore: false });
  expect(await admin("run", "list", "--status", "failed")).toEqual({ rows: [], hasMore: false });
  const id = "019a2b10-7a44-7e90-8b1d-5c2f9e7d3b18";
  const { code, stderr } = await runHere(["admin", "run", "show", id], installation.environment);
  expect([code === 0, stderr]).toEqual([false, expect.stringContaining(`No run has the id ${id}.`)]);
});

test("prompts are listed and shown by slug, and a misspelled slug gets a suggestion", async () => {
  const folder = await mkdtemp(join(tmpdir(), "promptd-lookup-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "haiku.prompt.md");
  await writeFile(file, "---\npromptd: 1\ntitle: Haiku writer\nmodel: sandbox/text\n---\nWrite one.\n");
  await admin("prompt", "publish", file, "--author", "ada@example.org");
  const { rows } = await admin<{ rows: { slug: string }[] }>("prompt", "list", "haiku");
  expect(rows.map(({ slug }) => slug)).toEqual(["haiku-writer"]);
  expect(await admin("prompt", "show", "haiku-writer")).toMatchObject({ accountEmail: "ada@example.org", uses: 0 });
  const slip = await runHere(["admin", "prompt", "show", "haiku-wirter"], installation.environment);
  expect([slip.code === 0, slip.stderr]).toEqual([false, expect.stringContaining("Did you mean haiku-writer?")]);
});

test("a failed run is shown with its cause and the provider's response", async () => {
  const runId = "019a2b10-7a44-7e90-8b1d-5c2f9e7d3b19";
  const outputs = [{ type: "error", data: "The model could not answer." }];
  await query(`insert into runs (account_id, id, prompt_version_id, run_name, model, status, attempt, created_at,
      deadline_at, started_at, finished_at, prices, inputs, outputs, fail_reason, fail_detail)
    select p.author_id, '${runId}', p.latest_version_id, 'Haiku writer', 'sandbox/text', 'failed', 1, promptd_now(),
      promptd_now(), promptd_now(), promptd_now(), '{}', '{}', '${JSON.stringify(outputs)}', 'quota', 'Until its deadline.'
    from prompts p where p.slug = 'haiku-writer'`);
  await query(`insert into provider_calls (run_id, step, item, call_number, account_id, attempt, model, provider,
      provider_model, ended_at, outcome, http_status, provider_code, request_id)
    select '${runId}', 0, 0, 1, account_id, 1, model, 'sandbox', 'text', promptd_now(), 'quota', 429,
      'insufficient_quota', 'req_1' from runs where id = '${runId}'`);
  const { stdout } = await runHere(["admin", "run", "show", runId], installation.environment);
  expect(stdout).toContain("error: The model could not answer.\ncause: quota: Until its deadline.\n");
  expect(stdout).toMatch(
    / {2}call {2}attempt 1 {2}quota {2}sandbox\/text {2}HTTP 429 {2}code insufficient_quota {2}request req_1\n/,
  );
  expect(await admin("run", "show", runId)).toMatchObject({ cause: "quota", outputs, inputs: { images: 0 } });
});

test("a person, an account's usage, and a model are shown", async () => {
  expect(await admin("user", "show", "ada@example.org")).toMatchObject({
    person: null,
    account: { email: "ada@example.org" },
  });
  expect(await admin("usage", "show", "--user", "ada@example.org")).toMatchObject({ rows: [] });
  expect(await admin("usage", "list", "--days", "7")).toEqual({ rows: [] });
  expect(await admin("models", "show", "sandbox/text")).toMatchObject({ model: "sandbox/text", enabled: true });
  const slip = await runHere(["admin", "models", "show", "sandbox/txet"], installation.environment);
  expect(slip.stderr).toContain("Did you mean sandbox/text?");
});

test("provider costs are shown in credits, as are callers' payments", async () => {
  await admin("user", "create", "--email", "paying@example.org");
  await query(`insert into usage_days (day, account_id, model, runs, failed, credits, input_tokens, output_tokens, cost_micro, earned_hundredths)
    select (promptd_now() at time zone 'UTC')::date, id, 'gpt-5-mini', 12, 1, 96, 900, 300, 42500000, 0 from accounts where email = 'paying@example.org'`);
  const { stdout } = await runHere(["admin", "usage", "list", "--days", "2"], installation.environment);
  expect(stdout).toBe("      96 credits  12 runs, 1 failed  providers 42.50 credits  paying@example.org\n");
});

test("a key is shown by its id, its display form, or itself, with its owner", async () => {
  await admin("user", "create", "--email", "keys@example.org");
  const { apiKey, keyId } = await admin<{ apiKey: string; keyId: string }>(
    "key",
    "create",
    "--user",
    "keys@example.org",
  );
  for (const name of [keyId, `${apiKey.slice(0, 8)}...${apiKey.slice(-4)}`, apiKey]) {
    const shown = await admin("key", "show", name);
    expect(shown).toMatchObject({ keyId, email: "keys@example.org", state: "valid" });
    expect(JSON.stringify(shown)).not.toContain(apiKey);
  }
  const none = await runHere(["admin", "key", "show", "pd_no-such-key"], installation.environment);
  expect([none.code === 0, none.stderr]).toEqual([false, expect.stringContaining("No API key")]);
});

test("a key name cannot be invisible or longer than the console allows", async () => {
  const create = (name: string) =>
    runHere(["admin", "key", "create", "--user", "ada@example.org", "--name", name], installation.environment);
  expect((await create("\u200b\u2060")).stderr).toContain("--name must contain a visible character.");
  expect((await create("x".repeat(101))).stderr).toContain("--name must have 1 to 100 characters, got 101.");
  expect((await create("é".repeat(100))).code).toBe(0);
});

test("an account is exported to one file, and deleted when its address is confirmed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "promptd-leaving-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await admin("user", "create", "--email", "gone@example.org");
  const file = join(folder, "gone.tar.gz");
  const { bytes } = await admin<{ bytes: number }>("account", "export", "gone@example.org", "--out", file);
  expect((await readFile(file)).length).toBe(bytes);
  const again = await runHere(
    ["admin", "account", "export", "gone@example.org", "--out", file],
    installation.environment,
  );
  expect(again.stderr).toContain("already exists");
  const nowhere = join(folder, "none", "gone.tar.gz");
  const lost = await runHere(
    ["admin", "account", "export", "gone@example.org", "--out", nowhere],
    installation.environment,
  );
  expect(lost.stderr).toBe(
    `${nowhere} cannot be written: its folder does not exist. Create the folder, or choose another path.\n`,
  );
  const remove = (confirm: string) =>
    runHere(
      ["admin", "account", "delete", "gone@example.org", "--confirm", confirm, "--prompts", "keep"],
      installation.environment,
    );
  expect((await remove("ada@example.org")).stderr).toContain("Nothing was deleted.");
  expect((await remove("gone@example.org")).code).toBe(0);
  expect((await remove("gone@example.org")).stderr).toContain("No account has the email address");
});

test("a leaked management token is revoked by its value, which the audit log does not show", async () => {
  const token = mintToken();
  await query(
    `with person as (
       insert into auth_users (id, name, email) values (promptd_new_id(), 'Lea', 'lea@example.org') returning id)
     insert into management_tokens (id, person_id, account_id, token_hash, name, display, scopes, expires_at)
     select promptd_new_id(), person.id, a.id, '\\x${hashApiKey(token).toString("hex")}', 'deploy', 'pdm_…', '{runs:read}', promptd_now() + interval '1 day'
     from person, accounts a where a.email = 'ada@example.org'`,
  );
  const revoked = await admin<{ revokedAt: string }>("token", "revoke", token);
  expect(revoked).toMatchObject({ name: "deploy", person: "lea@example.org", scopes: ["runs:read"] });
  expect(await admin("token", "revoke", token)).toEqual(revoked);
  expect(await query("select 1 from management_tokens where revoked_at is null")).toEqual([]);
  const row = (await audited()).at(-1);
  expect(row).toMatchObject({ action: "admin token revoke", outcome: "SUCCESS" });
  expect(JSON.stringify(row)).not.toContain(token);
  await query("delete from auth_users");
});

describe("the audit log has", () => {
  test("each command that writes, whether it succeeded or not, and no key in plain text", async () => {
    const { apiKey } = await admin<{ apiKey: string }>("key", "create", "--user", "ada@example.org");
    await admin("key", "revoke", apiKey);
    await runHere(["admin", "plan", "set", "--user", "nobody@example.org", "--plan", "pro"], installation.environment);
    const rows = await audited();
    expect(rows).toEqual(
      expect.arrayContaining([
        { actor: "terminal", action: "admin user create", subject: "ada@example.org", outcome: "SUCCESS" },
        { actor: "terminal", action: "admin key create", subject: "ada@example.org", outcome: "SUCCESS" },
        expect.objectContaining({ action: "admin key revoke", outcome: "SUCCESS" }),
        expect.objectContaining({ action: "admin plan set", outcome: "NOT_FOUND_ERROR" }),
      ]),
    );
    expect(JSON.stringify(rows)).not.toContain(apiKey);
  });

  test("each command that reads one account, key, prompt, or run, but none that reads lists or the catalogue", async () => {
    const nobody = "01a206a8-a793-77b3-8286-96323e8a6ed0";
    const lookups = Object.entries(OPERATOR_COMMANDS).filter(([name]) => /\b(list|show)$/.test(name));
    const before = (await audited()).length;
    for (const [name, load] of lookups) {
      const { options, usage } = await load();
      const about = Object.hasOwn(options, "user") && !name.endsWith("list") ? ["--user", nobody] : [nobody];
      const words = /^(<|$)/.test(usage) && !name.endsWith("list") ? about : [];
      await runHere([...name.split(" "), ...words], installation.environment);
    }
    const left = (await audited()).slice(before).map(({ action, subject }) => `${action}: ${subject}`);
    const expected = lookups
      .map(([name]) => name)
      .filter((name) => name.endsWith("show") && name !== "admin models show");
    expect(expected.length).toBeGreaterThanOrEqual(6);
    expect(left).toEqual(expected.map((name) => `${name}: ${nobody}`));
  });

  test("the creation of a sign-in link, but not the link itself", async () => {
    const { link } = await admin<{ link: string }>("sign-in-link", "--user", "ada@example.org");
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/welcome#[\w-]{22}$/);
    const rows = await audited();
    expect(rows.at(-1)).toMatchObject({ action: "admin sign-in-link", subject: "ada@example.org", outcome: "SUCCESS" });
    expect(JSON.stringify(rows)).not.toContain(link.split("#")[1]);
  });
});
