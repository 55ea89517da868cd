/** What operators see and decide in the console. */
import { describe, expect, test } from "vitest";
import { createTestPerson, PASSWORD, type TestPerson } from "../../server/test/people/people-fixture.ts";
import type { TestServer } from "../../server/test/support/test-server.ts";
import { findBrowser, signInAs, travel, type Route, type TestBrowser } from "./support/browser.ts";
import { useConsole } from "./support/use-console.ts";

const FAILING = `---
promptd: 1
title: Fails at once
model: sandbox/text
---
sandbox: error=400
`;
const DEAR = `---
promptd: 1
title: A dear word
model: sandbox/text
inputs: { word: { label: Word } }
---
Say {{ word }}.
`;

let server: TestServer;
let browser: TestBrowser;
let operator: TestPerson;
useConsole({ PROMPTD_SIGN_UP_PLAN: "pro", PROMPTD_SIGN_UP_CREDITS: "0" }, async (opened) => {
  ({ server, browser } = opened);
  operator = await createTestPerson(server, { isOperator: true });
});

describe.skipIf(findBrowser() === null)("an operator", () => {
  test("sees when the server does not respond, and no longer that everything works", async () => {
    await travel(browser, "no-answer", async ({ page }) => {
      await signInAs(page, server.url, operator);
      await page.clock.install();
      await page.goto(`${server.url}/operator`);
      await page.getByRole("heading", { name: "Failed runs by cause" }).waitFor();
      await page.route("**/readyz", (route) => route.abort());
      await page.clock.fastForward("00:11");
      await page.getByText("The state of the installation could not be loaded.").waitFor();
      expect(await page.getByText("Everything works").count()).toBe(0);
    });
  });

  test("who signed in only with a link is warned, and sets a password where the warning leads", async () => {
    const email = "by-link@example.org";
    const first = await createTestPerson(server, { isOperator: true, email });
    await server.app.db.query("delete from auth_logins where user_id = $1", [first.personId]);
    await travel(browser, "by-link", async ({ page, complaints }) => {
      await signInAs(page, server.url, first);
      await page.goto(`${server.url}/operator`);
      await page.getByText("You cannot sign in again yet").waitFor();
      await page.getByRole("link", { name: "Open Security" }).click();
      const password = page.getByLabel("New password");
      await password.fill("short");
      await page.getByRole("button", { name: "Set password" }).click();
      await page.getByText("Use at least 12 characters. You entered 5.").waitFor();
      await page.getByRole("button", { name: "Show what you typed" }).click();
      expect(await password.getAttribute("type")).toBe("text");
      await password.fill(PASSWORD);
      await page.getByRole("button", { name: "Set password" }).click();
      await page.getByText("Password set. You are signed out everywhere else", { exact: true }).waitFor();
      await page.getByLabel("Current password").waitFor();
      await page.getByRole("link", { name: "Operator" }).click();
      await page.getByRole("heading", { name: "Everything works" }).waitFor();
      await page.getByText("You cannot sign in again yet").waitFor({ state: "detached" });
      expect(complaints).toEqual([]);
      await page.context().clearCookies();
      await page.goto(`${server.url}/sign-in`);
      await page.getByLabel("Email").fill(email);
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await page.getByLabel("Search prompts").waitFor();
    });
  });

  test("sees who forgot their password on a server without mail, and creates a link for them", async () => {
    const email = "forgetful@example.org";
    await createTestPerson(server, { email });
    await travel(browser, "asking", async ({ page, complaints }) => {
      await page.goto(`${server.url}/forgot-password`);
      await page.getByLabel("Email").fill(email);
      await page.getByRole("button", { name: "Request a link" }).click();
      await page.getByRole("heading", { name: "Request sent to the operators" }).waitFor();
      await signInAs(page, server.url, operator);
      await page.goto(`${server.url}/operator`);
      await page.getByText(`${email} requested a sign-in link`).waitFor();
      await page.getByRole("link", { name: "Open People" }).click();
      await page.getByText("requested a link", { exact: true }).waitFor();
      await page.getByRole("button", { name: /^Actions for/ }).click();
      await page.getByRole("menuitem", { name: "Create sign-in link" }).click();
      await page.locator("code", { hasText: "/welcome#" }).waitFor();
      await page.getByText("requested a link", { exact: true }).waitFor({ state: "detached" });
      await page.getByRole("link", { name: "Overview" }).click();
      await page.getByRole("heading", { name: "Everything works" }).waitFor();
      await page.getByText("requested a sign-in link").waitFor({ state: "detached" });
      expect(complaints).toEqual([]);
    });
  });

  test("sees pending invitations, replaces a link, and revokes it", async () => {
    await travel(browser, "inviting", async ({ page, complaints }) => {
      await signInAs(page, server.url, operator);
      await page.goto(`${server.url}/operator/people`);
      await page.getByRole("button", { name: "Invite" }).click();
      await page.getByRole("dialog").getByText("Leave empty for the default of 0 credits.").waitFor();
      await page.getByRole("dialog").getByLabel("Email").fill("late@example.org");
      const plan = page.getByRole("dialog").getByLabel("Plan");
      expect(await plan.locator("option").allTextContents()).toEqual(["pro (default)", "none"]);
      const refused = page.getByRole("dialog").getByText("Without a plan, the account can’t run prompts.");
      await plan.selectOption("none");
      expect(await refused.count()).toBe(0);
      await page.getByRole("dialog").getByLabel("Credits").fill("500");
      await refused.waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Invite" }).click();
      const link = page.locator("code", { hasText: "/invitation#" });
      const first = await link.textContent();
      await page.getByRole("button", { name: "I’ve copied it" }).click();
      const open = page.getByRole("table", { name: "Invitations" });
      await page.getByRole("button", { name: "New link for late@example.org" }).click();
      await link.waitFor();
      expect(await link.textContent()).not.toBe(first);
      await open.getByText("plan none, 500 credits").waitFor();
      await open.getByText(/^open until/).waitFor();
      await page.getByRole("button", { name: "Revoke invitation for late@example.org" }).click();
      await open.waitFor({ state: "detached" });
      expect(complaints).toEqual([]);
    });
  });

  test("sees that the person they invite already has an account", async () => {
    await createTestPerson(server, { email: "known@example.org" });
    await travel(browser, "inviting-known", async ({ page, complaints }) => {
      await signInAs(page, server.url, operator);
      await page.goto(`${server.url}/operator/people?q=known`);
      await page.getByRole("button", { name: "Invite" }).click();
      await page.getByRole("dialog").getByLabel("Email").fill("known@example.org");
      await page.getByRole("dialog").getByLabel("Credits").fill("500");
      await page.getByRole("dialog").getByRole("button", { name: "Invite" }).click();
      await page.getByText("Invitation link for known@example.org, who already has an account").waitFor();
      await page.getByText(/Its plan and credits go to the account they already have\.$/).waitFor();
      await page.getByRole("table", { name: "Invitations" }).getByText("has an account", { exact: true }).waitFor();
      expect(complaints).toEqual([]);
    });
  });

  test("creates a sign-in link and removes a person's access", async () => {
    const ada = await createTestPerson(server, { email: "locked@example.org" });
    await ada.client.send("createKey", { body: { name: "till of the shop" } });
    await travel(browser, "locking", async ({ page }) => {
      await signInAs(page, server.url, operator);
      await page.goto(`${server.url}/operator/people?q=locked`);
      await page.getByRole("button", { name: /^Actions for/ }).click();
      await page.getByRole("menuitem", { name: "Create sign-in link" }).click();
      await page.locator("code", { hasText: "/welcome#" }).waitFor();
      await page.getByRole("button", { name: /^Actions for/ }).click();
      await page.getByRole("menuitem", { name: "Sign out everywhere" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Sign out everywhere" }).click();
      await page.getByText(/is signed out everywhere$/).waitFor();
      await page.getByRole("button", { name: /^Actions for/ }).click();
      await page.getByRole("menuitem", { name: "Remove access" }).click();
      const dialog = page.getByRole("dialog", { name: "Remove access for" });
      await dialog.getByRole("button", { name: "Remove access" }).click();
      await page.getByText("no access", { exact: true }).waitFor();
      await page.goto(`${server.url}/operator/audit?q=locked`);
      const row = page.getByRole("row").filter({ hasText: "Sign out person" });
      await row.getByRole("link", { name: "locked@example.org" }).click();
      await page.waitForURL(/\/operator\/people\?q=locked/);
      await page.getByText("no access", { exact: true }).waitFor();
      await page.goto(`${server.url}/operator/audit?q=till+of+the+shop`);
      await page.getByRole("link", { name: "till of the shop" }).click();
      await page.waitForURL(`${server.url}/operator/accounts/${ada.accountId}`);
      await page.getByRole("heading", { name: "Members" }).waitFor();
    });
    const answer = await ada.client.request({ method: "GET", path: "/manage/v1/session" });
    expect(answer.httpStatus).toBe(401);
  });

  test("blocks a prompt, which leaves the marketplace and shows the reason", async () => {
    const { slug, promptId } = await server.publish(FAILING.replace("Fails at once", "To be blocked"));
    await travel(browser, "blocking", async ({ page }) => {
      await signInAs(page, server.url, operator);
      await page.goto(`${server.url}/operator/prompts?q=blocked`);
      await page.getByRole("button", { name: "Actions for To be blocked" }).click();
      await page.getByRole("menuitem", { name: "Block" }).click();
      await page.getByRole("dialog").getByLabel("Reason").fill("it only fails");
      await page.getByRole("dialog").getByRole("button", { name: "Block prompt" }).click();
      await page.getByText("it only fails").waitFor();
      await page.goto(`${server.url}/p/${slug}`);
      await page.getByText("Prompt not found").waitFor();
    });
    const { rows } = await operator.client.send("listModeratedPrompts", { query: { state: "blocked" } });
    expect(rows.map((row) => row.promptId)).toEqual([promptId]);
  });

  test("tests a model, switches one off and on again, and reads in the overview that it is off", async () => {
    await travel(browser, "switching", async ({ page, complaints }) => {
      await signInAs(page, server.url, operator);
      await page.goto(`${server.url}/operator/models`);
      const open = page.getByRole("button", { name: "Test sandbox/text", exact: true });
      const call = page.getByRole("button", { name: "Make call" });
      const late = Promise.withResolvers<void>();
      const answerLate = (route: Route) => late.promise.then(() => route.continue());
      await page.route("**/system/models/test", answerLate, { times: 1 });
      await open.click();
      await call.click();
      await page.getByRole("button", { name: "Calling" }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await open.click();
      const answered = page.waitForResponse("**/system/models/test");
      late.resolve();
      await answered;
      await call.click(); // the response for the closed dialog is not shown
      await page.getByText("The model responded").waitFor();
      await page.getByRole("button", { name: "Close" }).click();
      await page.getByRole("button", { name: "Switch off sandbox/video" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Switch off" }).click();
      await page.getByText("Switched off", { exact: true }).waitFor();
      await page.getByRole("link", { name: "Overview" }).click();
      await page.getByText("sandbox/video is switched off").waitFor();
      await page.getByRole("button", { name: "Switch on sandbox/video" }).click();
      await page.getByText("sandbox/video is switched off").waitFor({ state: "detached" });
      await page.goBack();
      await page.getByRole("button", { name: "Switch off sandbox/video" }).waitFor();
      expect(complaints).toEqual([]);
    });
  });

  test("sees a page that does not exist for others", async () => {
    const ada = await createTestPerson(server);
    await travel(browser, "not-operator", async ({ page }) => {
      await signInAs(page, server.url, ada);
      await page.goto(`${server.url}/operator/people`);
      await page.getByText("Page not found").waitFor();
      expect(await page.getByRole("link", { name: "Operator" }).count()).toBe(0);
    });
  });
});

describe.skipIf(findBrowser() === null)("while the caller's page is open, an operator", () => {
  test("grants credits to a caller who has none left, and removes the plan of an account", async () => {
    const ada = await createTestPerson(server, { email: "broke@example.org" });
    await server.publish(DEAR);
    await travel(browser, "broke", async ({ page: hers }) => {
      await signInAs(hers, server.url, ada);
      await hers.goto(`${server.url}/p/a-dear-word`);
      await hers.getByLabel("Word").fill("gold");
      const run = hers.getByRole("button", { name: /^Run/ });
      await hers.getByText(/^0 credits left\. .* Ask an operator of this server for credits\.$/).waitFor();
      expect(await run.isDisabled()).toBe(true);
      await travel(browser, "granting", async ({ page }) => {
        await signInAs(page, server.url, operator);
        await page.goto(`${server.url}/operator/accounts?q=broke@example.org`);
        await page.getByRole("table", { name: "Accounts" }).getByRole("cell", { name: "0", exact: true }).waitFor();
        await page.getByRole("table", { name: "Accounts" }).getByRole("link").first().click();
        await page.getByRole("button", { name: "Grant credits" }).click();
        await page.getByRole("dialog").getByLabel("Credits").fill("100");
        await page.getByRole("dialog").getByRole("button", { name: "Grant credits" }).click();
        await page.getByText("100 credits", { exact: true }).waitFor();
        await run.click(); // once her page knows about them
        await hers.getByText("Succeeded", { exact: true }).waitFor();
        await page.getByRole("button", { name: "Change plan" }).click();
        await page.getByRole("dialog").getByLabel("Plan").selectOption("none");
        await page.getByRole("dialog").getByRole("button", { name: "Change plan" }).click();
        await page.getByText(/^ended/).waitFor();
        await run.click();
        await hers.getByText(/^This account has no plan yet/).waitFor();
        expect(await run.isDisabled()).toBe(true);
        await page.getByRole("button", { name: "Change plan" }).click();
        await page.getByRole("dialog").getByRole("button", { name: "Change plan" }).click();
        await hers.getByText(/A failed run costs nothing\.$/).waitFor();
        expect(await run.isDisabled()).toBe(false);
        await page.getByRole("button", { name: "Change plan" }).click();
        await page.getByRole("dialog").getByLabel("Plan").selectOption("none");
        await page.getByRole("dialog").getByRole("button", { name: "Change plan" }).click();
        await page.getByText(/^ended/).waitFor();
      });
      await hers.getByRole("link", { name: "Runs", exact: true }).click();
      await hers.getByLabel("Model").selectOption("sandbox/text");
      await hers.getByRole("link", { name: "A dear word" }).waitFor();
      expect(new URL(hers.url()).searchParams.get("model")).toBe("sandbox/text");
      await hers.goto(`${server.url}/runs?model=sandbox%2Fvideo`); // as a colleague would open it
      await hers.getByText("No runs match these filters").waitFor();
    });
    const { plan } = await operator.client.send("getAccount", { params: { accountId: ada.accountId } });
    expect(plan).toBe("none");
  });
});
