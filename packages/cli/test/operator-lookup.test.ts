/** What an operator looks up at the terminal, and the trace that every act there leaves. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openConnection } from "../../server/src/platform/database/database.ts";
import { createInstallation, readDocument, runHere, type OwnDatabase } from "./operator-process.ts";

let installation: OwnDatabase;
beforeAll(async () => {
  installation = await createInstallation();
  await admin("user", "create", "--email", "ada@example.org");
});
afterAll(() => installation.remove());

const admin = <Document>(...words: string[]) =>
  readDocument<Document>(["admin", ...words], installation.environment, runHere);

async function audited() {
  const connection = openConnection(installation.url, "asking-test");
  await connection.connect();
  const { rows } = await connection.query("select actor, action, subject, outcome from audit_entries order by id");
  await connection.end();
  return rows as { actor: string; action: string; subject: string | null; outcome: string }[];
}

test("accounts are found by part of their address, and a slip in one is named", async () => {
  const { rows } = await admin<{ rows: { email: string }[] }>("user", "list", "ADA@");
  expect(rows.map(({ email }) => email)).toEqual(["ada@example.org"]);
  const { code, stderr } = await runHere(["admin", "account", "show", "ada@exmaple.org"], installation.environment);
  expect([code === 0, stderr]).toEqual([false, expect.stringContaining("Did you mean ada@example.org?")]);
  const far = await runHere(["admin", "account", "show", "grace@example.org"], installation.environment);
  expect(far.stderr).not.toContain("Did you mean");
});

test("runs of an account are listed, and one that does not exist is said not to", async () => {
  expect(await admin("run", "list", "--user", "ada@example.org")).toEqual({ rows: [], hasMore: false });
  const id = "019a2b10-7a44-7e90-8b1d-5c2f9e7d3b18";
  const { code, stderr } = await runHere(["admin", "run", "show", id], installation.environment);
  expect([code === 0, stderr]).toEqual([false, expect.stringContaining(`No run has the id ${id}.`)]);
});

describe("the audit log has", () => {
  test("each command that writes, whether it worked or not, and no key in the clear", async () => {
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
    expect(rows.filter(({ action }) => /list|show/.test(action))).toEqual([]);
  });

  test("the link that a sign-in was made with, but not the link itself", async () => {
    const { link } = await admin<{ link: string }>("sign-in-link", "--user", "ada@example.org");
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/welcome#[\w-]{22}$/);
    const rows = await audited();
    expect(rows.at(-1)).toMatchObject({ action: "admin sign-in-link", subject: "ada@example.org", outcome: "SUCCESS" });
    expect(JSON.stringify(rows)).not.toContain(link.split("#")[1]);
  });
});
