/** Every page by keys alone: what can be done there is reached in order, seen and left; dialogs and menus too. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestPerson, type TestPerson } from "../../server/test/people/people-fixture.ts";
import { startTestServer, type TestServer } from "../../server/test/support/test-server.ts";
import { findBrowser, openBrowser, signInAs, travel, type Page, type TestBrowser } from "./support/browser.ts";
import { DIST } from "./support/build.ts";
import { faultsOfTabbing, leavesByTab } from "./support/keyboard.ts";
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

/** Where a program is led back to: nobody goes there. */
const PROGRAM = "http://127.0.0.1/callback";

let server: TestServer;
let browser: TestBrowser;
let operator: TestPerson;
/** The address of each route of the console, with something on it. */
let addresses: Readonly<Record<string, string>>;
beforeAll(async () => {
  if (findBrowser() === null) return;
  const environment = { PROMPTD_SIGN_UP_PLAN: "pro", PROMPTD_SIGN_UP: "open" };
  [server, browser] = await Promise.all([startTestServer({ consoleDirectory: DIST, environment }), openBrowser()]);
  operator = await createTestPerson(server, { isOperator: true, email: "keys@example.org" });
  const { client, accountId } = operator;
  await server.grant(accountId, { amount: 1_000 });
  const { promptId } = await client.send("createDraft", { body: { source: SOURCE } });
  const body = { revision: 1, baseVersionId: null, note: "First." };
  await client.send("publishDraft", { params: { promptId }, body });
  await client.send("createKey", { body: { name: "laptop" } });
  await client.send("createToken", { body: { name: "CI", scopes: ["prompts:read"], expiresInDays: 30 } });
  const url = "https://example.org/hook";
  const { webhookId } = await client.send("createWebhook", { body: { url, events: ["run.finished"] } });
  const { promptVersionId } = await server.publish(SOURCE.replace(/^images:\n.*\n/m, "").replace("by key", "to run"));
  const inputs = { textInputs: { topic: "keys" } };
  const { runId } = await client.send("createRun", { body: { promptVersionId, inputs } });
  const asked = new URLSearchParams({
    response_type: "code",
    code_challenge_method: "S256",
    client_id: await registerProgram(),
    redirect_uri: PROGRAM,
    code_challenge: "A".repeat(43),
    scope: "prompts:read",
  });
  addresses = {
    "/": "/",
    "/p/$slug": "/p/words-by-key",
    "/runs": "/runs",
    "/runs/$runId": `/runs/${runId}`,
    "/keys": "/keys",
    "/authorize": `/authorize#${asked.toString()}`,
    "/credits": "/credits",
    "/author": "/author",
    "/author/new": "/author/new",
    "/author/$promptId": `/author/${promptId}?tab=history`,
    "/settings": "/settings",
    "/settings/security": "/settings/security",
    "/settings/tokens": "/settings/tokens",
    "/settings/webhooks": "/settings/webhooks",
    "/settings/webhooks/$webhookId": `/settings/webhooks/${webhookId}`,
    "/settings/members": "/settings/members",
    "/settings/account": "/settings/account",
    "/settings/appearance": "/settings/appearance",
    "/operator": "/operator",
    "/operator/runs": "/operator/runs",
    "/operator/runs/$runId": `/operator/runs/${runId}`,
    "/operator/models": "/operator/models",
    "/operator/people": "/operator/people",
    "/operator/accounts": "/operator/accounts",
    "/operator/accounts/$accountId": `/operator/accounts/${accountId}`,
    "/operator/prompts": "/operator/prompts",
    "/operator/audit": "/operator/audit",
    "/docs": "/docs",
    "/docs/$guide": "/docs/states",
    "/docs/reference/$api": "/docs/reference/v1",
    "/parts": "/parts",
  };
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

/** @returns the id of a program that asks for access. */
async function registerProgram(): Promise<string> {
  const body = JSON.stringify({ client_name: "Agent Desk", redirect_uris: [PROGRAM] });
  const registered = await fetch(`${server.url}/oauth/register`, { method: "POST", body });
  const { client_id: clientId } = (await registered.json()) as { client_id: string };
  return clientId;
}

const FOR_STRANGERS = [
  "/sign-in",
  "/sign-up",
  "/forgot-password",
  "/reset-password",
  "/welcome",
  "/invitation",
  "/new-address",
];

const routesOf = (page: Page) => page.evaluate<string[]>("Object.keys(__TSR_ROUTER__.routesByPath)");
const withoutSlash = (path: string) => (path === "/" ? path : path.replace(/\/$/, ""));

async function faultsOfPaths(page: Page, paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  await page.goto(server.url);
  await settle(page);
  for (const path of paths) {
    await openPath(page, path);
    const isEditor = path.startsWith("/author/0");
    // The form, the price and the acts of a draft come with the check of its file.
    if (isEditor) await page.getByText("No faults").waitFor();
    if (path.startsWith("/authorize")) await page.getByRole("button", { name: "Give access" }).waitFor();
    // In the editor Tab indents; Escape, then Tab leaves it.
    found.push(...(await faultsOfTabbing(page, isEditor ? ["Escape", "Tab"] : ["Tab"])).map((one) => `${path} ${one}`));
  }
  return found;
}

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
  { at: "/operator/models", button: "Test sandbox/text" },
  { at: "/operator/accounts/$accountId", button: "Grant credits" },
];

describe.skipIf(findBrowser() === null)("by keys alone", () => {
  test("Tab leads through every control of every page in its order, with a focus that can be seen", async () => {
    await travel(browser, "keyboard", async ({ page }) => {
      await signInAs(page, server.url, operator);
      const paths = [...Object.values(addresses), addresses["/author/$promptId"]?.replace("history", "test") ?? ""];
      expect(await faultsOfPaths(page, paths)).toEqual([]);
      const known = new Set([...Object.keys(addresses), ...FOR_STRANGERS]);
      expect((await routesOf(page)).map(withoutSlash).filter((path) => !known.has(path))).toEqual([]);
    });
    await travel(browser, "keyboard-strangers", async ({ page }) => {
      expect(await faultsOfPaths(page, FOR_STRANGERS)).toEqual([]);
    });
  });

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
