/** The main journeys: an author's from first line to rollback, an operator's to a cause of failure, and signing out. */
import { describe, expect, test } from "vitest";
import { mintCode } from "../../server/src/people/index.ts";
import { createTestPerson, type TestPerson } from "../../server/test/people/people-fixture.ts";
import type { TestServer } from "../../server/test/support/test-server.ts";
import { findBrowser, signInAs, travel, type TestBrowser } from "./support/browser.ts";
import { editor, newAuthor, publish, saved, SOURCE, write } from "./support/editor.ts";
import { faultsOfPage } from "./support/pages.ts";
import { useConsole } from "./support/use-console.ts";

const FAILING = `---
promptd: 1
title: Fails at once
model: sandbox/text
---
sandbox: error=400
`;

let server: TestServer;
let browser: TestBrowser;
let operator: TestPerson;
useConsole(
  { PROMPTD_SIGN_UP_PLAN: "pro", PROMPTD_SIGN_UP_CREDITS: "0", PROMPTD_AUTHOR_SHARE: "30" },
  async (opened) => {
    ({ server, browser } = opened);
    operator = await createTestPerson(server, { isOperator: true });
  },
);

/** In the page: whether the publish button is fully visible and not covered. */
const PUBLISH_IS_IN_VIEW = `(() => {
  const button = [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "Publish");
  const { top, bottom, left, width } = button.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight && document.elementFromPoint(left + width / 2, (top + bottom) / 2) === button;
})()`;

describe.skipIf(findBrowser() === null)("an author", () => {
  test("writes, fixes, tries, and publishes a prompt, sees another account run it, then changes, compares, and rolls it back", async () => {
    const author = await newAuthor(server);
    await travel(browser, "author", async ({ page, complaints }) => {
      await signInAs(page, server.url, author);
      await page.goto(`${server.url}/author`);
      await page.getByText("No prompts yet").waitFor();
      expect(await page.getByRole("radiogroup", { name: "State" }).count()).toBe(0);
      await page.getByText("You earn 30% of what others pay for runs of your prompts.").waitFor();
      await page.getByRole("link", { name: "New prompt" }).first().click();
      await page.getByRole("button", { name: "Use this template: Image from text" }).waitFor();
      await page.getByRole("button", { name: "Use this template: Text" }).click();
      await page.waitForURL(/\/author\/[0-9a-f-]{36}/);
      await page.getByRole("button", { name: "Publish" }).click();
      await page.getByRole("dialog").getByText('The title is still "Untitled text prompt".').waitFor();
      await page.getByText("Optional. One line that callers see with version 1").waitFor();
      await page.getByText("You earn 30% of what others pay for its runs.").waitFor();
      await page.getByRole("button", { name: "Cancel" }).click();
      expect(await editor(page).innerText()).toContain("tags: [");
      await page.getByText("Test runs are free for you.").waitFor();
      const note = page.getByText(/^text-default currently uses sandbox\/text: /);
      expect(await note.getByRole("link", { name: "Roles" }).getAttribute("href")).toBe("/docs/prompt-files#roles");

      await write(page, SOURCE.replace("{{ topic }}", "{{ topik }}\u200b"));
      await page.locator(".cm-specialChar").waitFor();
      await page.getByRole("button", { name: "line 16" }).waitFor();
      await page.locator(".cm-lintRange-error").first().waitFor();
      expect(await page.getByRole("button", { name: "Publish" }).isDisabled()).toBe(true);
      await write(page, SOURCE);
      await page.getByText("No errors").waitFor();
      await saved(page);

      await page.getByLabel("Topic").fill("a cold harbor");
      await page.getByRole("button", { name: "Run draft" }).click();
      await page.getByText(/Write about a cold harbor/).waitFor();
      await page.getByRole("button", { name: "Use as sample" }).click();
      await page
        .getByRole("dialog")
        .getByText("The text was made by the built-in sandbox, not by an AI model.")
        .waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Use as sample" }).click();
      await page.getByRole("button", { name: "Remove as sample" }).waitFor();
      await page.getByRole("button", { name: "Run all" }).click();
      await page.getByText("names the leaf: passed").waitFor();
      await page.getByText("is very short: failed").waitFor();
      for (const end of ["0", "document.body.scrollHeight"]) {
        await page.evaluate(`scrollTo(0, ${end})`);
        expect(await page.evaluate(PUBLISH_IS_IN_VIEW)).toBe(true);
      }
      await page.getByRole("tab", { name: "Rendered text" }).click();
      await page.getByLabel("Topic").fill("fog");
      await page.getByText("Write about fog.").waitFor();

      await publish(page, "The first one.");
      await page.getByText("version 1", { exact: true }).waitFor();

      await page.getByRole("tab", { name: "Test run" }).click();
      await page.getByText("names the leaf: passed").waitFor();
      await page.getByLabel("Compare with").selectOption({ label: "Version 1 (latest)" });
      const before = (await author.client.send("listRuns")).rows.length;
      await page.route("**/manage/v1/runs", (route) => route.abort());
      await page.getByRole("button", { name: "Run draft" }).click();
      await page.getByText("The server could not be reached.").waitFor();
      await page.getByText(/Write about fog/).waitFor();
      await page.unroute("**/manage/v1/runs");
      await page.getByRole("button", { name: "Run draft" }).click();
      await page.getByRole("heading", { name: "Version 1", exact: true }).waitFor();
      expect((await author.client.send("listRuns")).rows).toHaveLength(before + 2);
      await page.getByLabel("Compare with").selectOption("sandbox/text-free");
      await page.getByRole("button", { name: "Run draft" }).click();
      const comparison = page.getByRole("group", { name: "Comparison of two runs" });
      await comparison.getByRole("heading", { name: "sandbox/text-free", exact: true }).waitFor();
      await comparison.getByText(/ · callers pay about \d+ credits?$/).waitFor();
      await comparison.getByText(/ · free$/).waitFor();
      await page.reload(); // the address has both runs
      await comparison.getByText(/ · free$/).waitFor();
      complaints.splice(0); // from responses that were cut off
      const reader = await newAuthor(server);
      await travel(browser, "reader", async ({ page: other }) => {
        await signInAs(other, server.url, reader);
        await other.goto(`${server.url}/p/tea-poem`);
        const sample = other.locator("section", { hasText: "The author’s sample" });
        await sample.getByText(/Write about a cold harbor/).waitFor();
        await sample.getByText("Nothing has run yet. Your result appears here.").waitFor();
        await other.setViewportSize({ width: 360, height: 740 });
        const copy = await other.getByRole("button", { name: "Copy ID of version 1" }).boundingBox();
        expect((copy?.x ?? 360) + (copy?.width ?? 0)).toBeLessThan(360);
        await other.setViewportSize({ width: 1_440, height: 900 });
        await other.getByRole("link", { name: "Create key" }).click();
        await other.getByRole("dialog", { name: "Create key" }).waitFor();
        await other.goBack();
        await other.getByLabel("Topic").fill("salt");
        await other.keyboard.press("Control+Enter");
        await other.getByText(/Write about salt/).waitFor();
        expect(await other.getByRole("link", { name: "Edit prompt" }).count()).toBe(0);
      });
      await page.getByRole("link", { name: "Open in marketplace" }).click();
      await page.getByRole("link", { name: "Edit prompt" }).click();
      await editor(page).waitFor();

      const second = SOURCE.replace("topic: { label: Topic, maxLength: 200 }", "$&\n  mood: { label: Mood }");
      await write(page, second.replace("about {{ topic }}", "about {{ topic }}, {{ mood }}"));
      await page.getByText("No errors").waitFor();
      await page.getByRole("button", { name: "Publish version 2" }).click();
      await page.getByText("Breaking changes for existing calls:").waitFor();
      expect(await faultsOfPage(page)).toEqual([]);
      await page.getByRole("dialog").getByRole("button", { name: "Publish" }).click();
      await page.getByText("version 2", { exact: true }).waitFor();

      await page.getByRole("tab", { name: "History" }).click();
      await page.getByRole("button", { name: "Actions for version 2" }).click();
      await page.getByRole("menuitem", { name: "Compare with version 1" }).click();
      await page.getByText("From version 1 to version 2").waitFor();
      await page.getByText("Breaking changes for existing calls:").waitFor();
      await page.getByRole("button", { name: "Close" }).click();
      await page.getByRole("button", { name: "Actions for version 1" }).click();
      await page.getByRole("menuitem", { name: "Roll back to this version" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
      await page.getByText("version 3", { exact: true }).waitFor();
      await page.getByText("Roll back to version 1.").waitFor();
      expect(await editor(page).innerText()).not.toContain("Mood");
      expect(complaints).toEqual([]);
    });
    const [row] = (await author.client.send("listPrompts")).rows;
    expect(row).toMatchObject({ state: "published", versions: 3, draft: null });
  });
});

describe.skipIf(findBrowser() === null)("an operator", () => {
  test("finds a failed run by request id and by cause, and grants its caller credits", async () => {
    const caller = await server.createCaller();
    const { promptVersionId } = await server.publish(FAILING);
    const { runId } = await caller.client.runs.createAndWait({ promptVersionId, inputs: {} });
    const { rows } = await operator.client.send("listInstallationRuns", { query: { id: runId } });
    const requestId = rows[0]?.requestId ?? "";
    await travel(browser, "operator", async ({ page, complaints }) => {
      await signInAs(page, server.url, operator);
      await page.goto(`${server.url}/operator`);
      await page.getByRole("heading", { name: "Failed runs by cause" }).waitFor();
      await page.getByRole("link", { name: /The provider rejected the request.*sandbox\/text/ }).click();
      await page.getByRole("link", { name: "Fails at once" }).waitFor();
      await page.getByRole("link", { name: "Runs" }).last().click();
      const search = page.getByLabel("Run ID or request ID");
      await search.fill(requestId);
      await search.press("Enter");
      await page.waitForURL(new RegExp(`id=${requestId}`));
      await page.goto(`${server.url}/docs`); // from anywhere
      await page.getByRole("heading", { name: "Docs", level: 1 }).waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: /Search/ }).fill(requestId);
      await page.getByRole("option", { name: /in all accounts/ }).click();
      await page.waitForURL(new RegExp(`id=${requestId}`));
      await page.getByRole("link", { name: "Fails at once" }).click();
      await page.getByRole("table", { name: "Provider calls" }).waitFor();
      await page.getByText("Test the model. If the test succeeds, the prompt’s").waitFor();
      await page.getByText("The caller saw:").waitFor();
      await page.getByRole("link", { name: /caller-\d+@example\.org/ }).click();
      await page.getByRole("button", { name: "Grant credits" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Credits").fill("250");
      await dialog.getByLabel("Reason").fill("for the failed run");
      await dialog.getByRole("button", { name: "Grant credits" }).click();
      await page.getByText("1,250 credits").waitFor();
      expect(complaints).toEqual([]);
    });
    const { credits } = await caller.client.me.credits();
    expect(credits).toBe(1_250);
  });
});

describe.skipIf(findBrowser() === null)("in the settings", () => {
  test("signing out everywhere else leaves only this session signed in", async () => {
    const ada = await createTestPerson(server);
    const { personId } = ada;
    const code = await mintCode(server.app.db, { personId, accountId: null, makesOperator: false, signsIn: true });
    await travel(browser, "elsewhere", async ({ page: elsewhere }) => {
      await elsewhere.goto(`${server.url}/welcome#${code}`);
      await elsewhere.getByLabel("Search prompts").waitFor();
      await travel(browser, "everywhere", async ({ page, complaints }) => {
        await signInAs(page, server.url, ada);
        await page.goto(`${server.url}/settings/security`);
        const sessions = page.getByRole("table", { name: "Sessions" });
        await sessions.getByText("127.0.0.1").nth(1).waitFor(); // also for a session that began with a link
        await page.getByRole("button", { name: "Sign out everywhere else" }).click();
        await page.getByText("Signed out everywhere else", { exact: true }).waitFor();
        await elsewhere.goto(`${server.url}/runs`);
        await elsewhere.waitForURL(/\/sign-in/);
        await page.reload();
        await sessions.getByText("this browser").waitFor();
        expect(await page.getByRole("button", { name: "Sign out everywhere else" }).count()).toBe(0);
        expect(complaints).toEqual([]);
      });
    });
  });
});
