/** Dialogs and menus by keys alone. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestPerson, type TestPerson } from "../../server/test/people/people-fixture.ts";
import { startTestServer, type TestServer } from "../../server/test/support/test-server.ts";
import { findBrowser, openBrowser, signInAs, travel, type TestBrowser } from "./support/browser.ts";
import { DIST } from "./support/build.ts";
import { leavesByTab } from "./support/keyboard.ts";
import { openPath, settle } from "./support/pages.ts";

const SOURCE = `---
promptd: 1
title: Words by key
description: For hands on the keyboard.
model: sandbox/text
options: { reasoningEffort: low }
inputs:
  topic: { label: Topic }
  tone: { label: Tone, options: [calm, loud], default: calm }
images:
  - { label: Photo }
---
Write about {{ topic }}, {{ tone }}.
`;

let server: TestServer;
let browser: TestBrowser;
let operator: TestPerson;
/** Of the pages whose dialogs are opened. */
let addresses: Readonly<Record<string, string>>;
beforeAll(async () => {
  if (findBrowser() === null) return;
  const environment = { PROMPTD_SIGN_UP_PLAN: "pro", PROMPTD_SIGN_UP: "open" };
  [server, browser] = await Promise.all([startTestServer({ consoleDirectory: DIST, environment }), openBrowser()]);
  operator = await createTestPerson(server, { isOperator: true, email: "keys@example.org" });
  const { client, accountId } = operator;
  const { promptId } = await client.send("createDraft", { body: { source: SOURCE } });
  const body = { revision: 1, baseVersionId: null, note: "First." };
  await client.send("publishDraft", { params: { promptId }, body });
  await client.send("createKey", { body: { name: "laptop" } });
  await client.send("createToken", { body: { name: "CI", scopes: ["prompts:read"], expiresInDays: 30 } });
  addresses = {
    "/keys": "/keys",
    "/author/$promptId": `/author/${promptId}?tab=history`,
    "/settings/tokens": "/settings/tokens",
    "/settings/members": "/settings/members",
    "/operator/models": "/operator/models",
    "/operator/people": "/operator/people",
    "/operator/accounts/$accountId": `/operator/accounts/${accountId}`,
  };
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

/** Opened by its button, or by an item of its menu. */
interface Opening {
  readonly at: string;
  readonly button: string | RegExp;
  readonly item?: string;
}

const OPENINGS: readonly Opening[] = [
  { at: "/keys", button: "Create key" },
  { at: "/keys", button: "Acts on laptop", item: "Revoke" },
  { at: "/settings/tokens", button: "Create token" },
  { at: "/settings/members", button: "Invite" },
  { at: "/author/$promptId", button: "Acts on version 1", item: "Set a label" },
  { at: "/operator/people", button: /^Acts on Person/, item: "Change the address" },
  { at: "/operator/models", button: "Switch off sandbox/text" },
  { at: "/operator/accounts/$accountId", button: "Grant credits" },
];

describe.skipIf(findBrowser() === null)("by keys alone", () => {
  test("a dialog holds the focus, Escape closes it, and the focus is back where it was", async () => {
    await travel(browser, "keyboard-dialogs", async ({ page }) => {
      await signInAs(page, server.url, operator);
      await page.goto(server.url);
      await settle(page);
      for (const { at, button: name, item } of OPENINGS) {
        await openPath(page, addresses[at] ?? at);
        const button = page.getByRole("button", { name, exact: true });
        await button.focus();
        await page.keyboard.press("Enter");
        if (item !== undefined) {
          await page.getByRole("menuitem", { name: item }).focus();
          await page.keyboard.press("Enter");
        }
        await page.getByRole("dialog").waitFor();
        await page.locator("[role=dialog]:focus-within").waitFor();
        expect([at, ...(await leavesByTab(page, "[role=dialog]"))]).toEqual([at]);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
        await expect.poll(() => button.evaluate((element) => element.matches(":focus")), { message: at }).toBe(true);
      }
      const link = page.getByRole("link", { name: "Runs" }).first();
      await link.focus();
      await page.keyboard.press("Control+k");
      await page.getByLabel("Search prompts, runs, pages and acts").waitFor();
      expect(await leavesByTab(page, "[role=dialog]")).toEqual([]);
      await page.keyboard.press("Escape");
      await expect.poll(() => link.evaluate((element) => element.matches(":focus"))).toBe(true);
    });
  });

  test("a menu opens, is walked by arrows and closed by Escape", async () => {
    await travel(browser, "keyboard-menus", async ({ page }) => {
      await signInAs(page, server.url, operator);
      await page.goto(`${server.url}/operator/people`);
      for (const name of [/^Account/, /^Acts on Person/]) {
        const button = page.getByRole("button", { name });
        await button.focus();
        await page.keyboard.press("Enter");
        const items = page.getByRole("menuitem");
        await items.first().waitFor();
        await page.keyboard.press("ArrowDown");
        await page.locator("[role=menuitem]:focus").waitFor();
        await page.keyboard.press("Escape");
        await page.getByRole("menu").waitFor({ state: "detached" });
        await expect.poll(() => button.evaluate((element) => element.matches(":focus"))).toBe(true);
      }
    });
  });
});
