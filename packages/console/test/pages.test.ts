/**
 * Every console page, filled with what an attacker would write. None of it runs. No page is inaccessible in either theme
 * or wider than the screen, and none logs an error or a content security policy violation. The keyboard alone reaches
 * everything in order, with a visible focus and no traps, in dialogs and menus too.
 */
import { describe, expect, test } from "vitest";
import { pollUntil } from "../../server/src/platform/resilience/deadline.ts";
import { createTestPerson, type TestPerson } from "../../server/test/people/people-fixture.ts";
import type { TestServer } from "../../server/test/support/test-server.ts";
import { ATTACK, FIND_ATTACK, WATCH_ATTACK, WIDE, WIDE_ATTACK, WORD_ATTACK } from "./support/attack.ts";
import { findBrowser, signInAs, travel, type Page, type TestBrowser } from "./support/browser.ts";
import { faultsOfTabbing, leavesByTab } from "./support/keyboard.ts";
import { faultsOfPage, openPath, settle } from "./support/pages.ts";
import { useConsole } from "./support/use-console.ts";

const quoted = (text: string) => JSON.stringify(text);
const SOURCE = `---
promptd: 1
title: Words by key
description: ${quoted(ATTACK + WIDE)}
model: sandbox/text
tags: [${quoted(ATTACK.slice(0, 64))}, wide]
options: { reasoningEffort: low }
inputs:
  topic: { label: ${quoted(ATTACK)}, description: ${quoted(WIDE_ATTACK)} }
  tone: { label: Tone, options: [calm, loud], default: calm }
images:
  - { label: ${quoted(ATTACK)} }
samples:
  - inputs: { topic: ${quoted(ATTACK + WIDE)} }
    outputs: [${quoted(ATTACK + WIDE)}]
---
Write about {{ topic }}, {{ tone }}.
${ATTACK}
`;
const TO_RUN = SOURCE.replace(/^images:\n.*\n/m, "").replace("Words by key", "Words to run");
const FAILING = `---
promptd: 1
title: ${quoted(WIDE)}
model: sandbox/text
---
sandbox: ${WORD_ATTACK}
`;

/** The program's redirect address, which nobody opens. */
const PROGRAM = "http://127.0.0.1/callback";

let server: TestServer;
let browser: TestBrowser;
let operator: TestPerson;
/** The address of each console route, with data to show. */
let addresses: Readonly<Record<string, string>>;
/** Other addresses that look different. */
let variants: readonly string[];
useConsole({ PROMPTD_SIGN_UP_PLAN: "pro", PROMPTD_SIGN_UP: "open" }, async (opened) => {
  ({ server, browser } = opened);
  operator = await createTestPerson(server, { isOperator: true, email: "keys@example.org" });
  await fill();
});

async function fill(): Promise<void> {
  const { client, accountId } = operator;
  await server.grant(accountId, { amount: 1_000 });
  await joinAttacker();
  const { promptId } = await client.send("createDraft", { body: { source: SOURCE } });
  const params = { promptId };
  const note = ATTACK + WIDE;
  await client.send("publishDraft", { params, body: { revision: 1, baseVersionId: null, note } });
  const attacking = SOURCE.replace("Words by key", quoted(WIDE_ATTACK));
  const wide = await publishOwn(attacking);
  const broken = await client.send("createDraft", { body: { source: SOURCE.replace("{{ topic }}", "{{ nothing }}") } });
  const { promptVersionId = "" } = await publishOwn(TO_RUN);
  const inputs = { textInputs: { topic: `${ATTACK}\n\n${ATTACK + WIDE}` } };
  const { runId } = await client.send("createRun", { body: { promptVersionId, inputs } });
  const failing = await server.publish(FAILING);
  const failed = await client.send("createRun", { body: { promptVersionId: failing.promptVersionId, inputs: {} } });
  await untilItSays(WORD_ATTACK, failed.runId);
  await client.send("createKey", { body: { name: "laptop" } });
  await client.send("createKey", { body: { name: "older" } });
  const token = { name: "older", scopes: ["prompts:read" as const], expiresInDays: 30 };
  await client.send("createToken", { body: token });
  // Such names are now rejected, but older rows may have them.
  for (const table of ["api_keys", "management_tokens"])
    await server.app.db.query(`update ${table} set name = $1 where name = 'older'`, [WIDE_ATTACK.slice(0, 100)]);
  const webhookId = await addWebhook();
  addresses = {
    "/": "/",
    "/p/$slug": "/p/words-by-key",
    "/runs": "/runs",
    "/runs/$runId": `/runs/${runId}`,
    "/keys": "/keys",
    "/authorize": await askForAccess(),
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
    "/$": "/no-such-page",
  };
  variants = [
    "/?tag=wide",
    `/p/${wide.slug}`,
    `/runs/${failed.runId}`,
    `/operator/runs/${failed.runId}`,
    "/credits?days=7",
    `/author/${promptId}?tab=test`,
    `/author/${promptId}?tab=rendered`,
    `/author/${broken.promptId}`,
    "/docs/api",
    "/docs/limits",
  ];
}

/** A failed run's error quotes the faulty input. */
async function untilItSays(words: string, runId: string): Promise<void> {
  const read = async () => (await operator.client.send("getRun", { params: { runId } })).error;
  const error = await pollUntil(read, { everyMs: 20, timeoutMs: 90_000 });
  if (error?.includes(words) !== true) throw new Error(`The error of the run is ${error}`);
}

async function publishOwn(source: string): Promise<{ readonly slug?: string; readonly promptVersionId?: string }> {
  const { published } = await operator.client.send("publishPromptFile", { body: { source } });
  return published[0] ?? {};
}

/** A member of the operator's account whose names are attacks, and another invitation for them. */
async function joinAttacker(): Promise<void> {
  const email = "attacker@example.org";
  const attacker = await createTestPerson(server, { email });
  const { link } = await operator.client.send("createInvitation", { body: { email, role: "member" } });
  await attacker.client.send("joinAccount", { body: { code: link?.split("#")[1] ?? "" } });
  await operator.client.send("createInvitation", {
    body: { email: `${WIDE.slice(0, 60)}@example.org`, role: "owner" },
  });
  const { db } = server.app;
  const rename = "update auth_users set name = $2 where id = $1";
  await db.query(rename, [attacker.personId, WIDE_ATTACK.slice(0, 100)]);
  await db.query(rename, [operator.personId, `Person ${WIDE}`.slice(0, 100)]); // in the bar of every page
  await db.query("update accounts set display_name = $2 where id = $1", [
    attacker.accountId,
    WIDE_ATTACK.slice(0, 100),
  ]);
}

/** @returns the id of a webhook with deliveries. */
async function addWebhook(): Promise<string> {
  const url = `https://receiver.example.org/${encodeURIComponent(ATTACK)}/${WIDE}`;
  const body = { url, events: ["run.finished", "credits.low"] as const };
  const { webhookId } = await operator.client.send("createWebhook", { body });
  const insert = `insert into webhook_deliveries (id, account_id, webhook_id, event, state, attempts, status_code, fault, duration_ms)
    values (promptd_new_id(), $1, $2, 'run.finished', 'delivered', 1, 204, null, 93),
      (promptd_new_id(), $1, $2, 'credits.low', 'failed', 10, 503, 'The receiver responded with status 503.', 210)`;
  await server.app.db.query(insert, [operator.accountId, webhookId]);
  return webhookId;
}

/** @returns the address where a program sends people to authorize it. */
async function askForAccess(): Promise<string> {
  const params = new URLSearchParams({
    response_type: "code",
    code_challenge_method: "S256",
    client_id: await registerProgram(),
    redirect_uri: PROGRAM,
    code_challenge: "A".repeat(43),
    scope: "prompts:read",
  });
  return `/authorize#${params.toString()}`;
}

/** @returns the id of a program that requests access. */
async function registerProgram(): Promise<string> {
  const body = JSON.stringify({ client_name: ATTACK, redirect_uris: [PROGRAM] });
  const registered = await fetch(`${server.url}/oauth/register`, { method: "POST", body });
  const { client_id: clientId } = (await registered.json()) as { client_id: string };
  return clientId;
}

const FOR_STRANGERS = [
  "/sign-in",
  "/sign-up",
  "/forgot-password",
  "/reset-password",
  "/welcome#used",
  "/invitation#used",
  "/new-address#used",
  "/confirm-address#used",
];

const routesOf = (page: Page) => page.evaluate<string[]>("Object.keys(__TSR_ROUTER__.routesByPath)");
const withoutSlash = (path: string) => (path === "/" ? path : path.replace(/\/$/, ""));

/** @param isWalked whether to check that Tab reaches everything. */
async function faultsOfPaths(page: Page, paths: readonly string[], isWalked = true): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    await openPath(page, path);
    const isEditor = path.startsWith("/author/0");
    // A draft's form, price, and actions appear once its file is checked.
    if (isEditor)
      await page
        .getByText(/^No errors|^\d+ errors?/)
        .first()
        .waitFor();
    if (path.startsWith("/authorize")) await page.getByRole("button", { name: "Authorize" }).waitFor();
    const faults = await faultsOfPage(page, path);
    faults.push(...(await page.evaluate<string[]>(FIND_ATTACK)));
    // In the editor Tab indents; Escape, then Tab leaves it.
    if (isWalked) faults.push(...(await faultsOfTabbing(page, isEditor ? ["Escape", "Tab"] : ["Tab"])));
    found.push(...faults.map((one) => `${path} ${one}`));
  }
  return found;
}

/** Opens the console with the function that an attack would call. */
async function openConsole(page: Page): Promise<void> {
  await page.addInitScript(WATCH_ATTACK);
  await page.goto(server.url);
  await settle(page);
}

/** A dialog opened by a button, or by an item of its menu. */
interface Opening {
  readonly at: string;
  readonly button: string | RegExp;
  readonly item?: string;
}

const OPENINGS: readonly Opening[] = [
  { at: "/keys", button: "Create key" },
  { at: "/keys", button: "Actions for laptop", item: "Roll" },
  { at: "/keys", button: "Actions for laptop", item: "Revoke" },
  { at: "/settings/tokens", button: "Create token" },
  { at: "/settings/members", button: "Invite" },
  { at: "/author/$promptId", button: "Actions for version 1", item: "Set label" },
  { at: "/operator/people", button: /^Actions for Person/, item: "Change email" },
  { at: "/operator/models", button: "Switch off sandbox/text" },
  { at: "/operator/models", button: "Test sandbox/text" },
  { at: "/operator/accounts/$accountId", button: "Grant credits" },
];

/** Details that have the title of their section. */
const OF_SECTIONS = new Set([
  "/settings/webhooks/$webhookId",
  "/operator/runs/$runId",
  "/operator/accounts/$accountId",
]);

/** Pages of each part of the console, by route prefix. */
const PARTS = [
  ["of the marketplace", /^\/($|p\/)/],
  ["of runs and keys", /^\/(runs|keys)/],
  ["of access, credits and parts, and of no address", /^\/(authorize|credits|parts|\$)/],
  ["for authors", /^\/author($|\/)/],
  ["of the settings of a person", /^\/settings($|\/(security|appearance|tokens))/],
  ["of the settings of an account", /^\/settings\/(webhooks|members|account)/],
  ["for operators, of runs and models", /^\/operator($|\/(runs|models|audit))/],
  ["for operators, of people and prompts", /^\/operator\/(people|accounts|prompts)/],
  ["of the docs", /^\/docs/],
] as const;

describe.skipIf(findBrowser() === null)("every page", () => {
  test.each(PARTS)(
    "%s scripts nothing that people wrote, is accessible in both themes and three widths, and follows Tab order",
    async (part, beginning) => {
      await travel(browser, `pages ${part}`, async ({ page, complaints }) => {
        await signInAs(page, server.url, operator);
        await openConsole(page);
        const routes = Object.keys(addresses).filter((route) => beginning.test(route));
        const paths = routes.map((route) => addresses[route] ?? "");
        expect(await faultsOfPaths(page, paths)).toEqual([]);
        expect(complaints).toEqual([]);
      });
    },
  );

  test("names itself in the title of its tab, unlike any other page", async () => {
    await travel(browser, "page-titles", async ({ page }) => {
      await signInAs(page, server.url, operator);
      await openConsole(page);
      const byTitle = new Map<string, string>();
      for (const [route, path] of Object.entries(addresses)) {
        if (OF_SECTIONS.has(route)) continue;
        await openPath(page, path);
        const title = await page.title();
        expect([route, byTitle.get(title)]).toEqual([route, undefined]);
        byTitle.set(title, route);
      }
      expect([...byTitle.keys()]).toEqual(
        expect.arrayContaining(["Runs · promptd", "Runs · Operator · promptd", "States of a run · Docs · promptd"]),
      );
    });
  });

  test("also with faults, failures, and other tabs", async () => {
    await travel(browser, "page-variants", async ({ page, complaints }) => {
      await signInAs(page, server.url, operator);
      await openConsole(page);
      expect(await faultsOfPaths(page, variants, false)).toEqual([]);
      expect(complaints).toEqual([]);
    });
  });

  test("also for signed-out people, and no page is left out", async () => {
    await travel(browser, "page-strangers", async ({ page, complaints }) => {
      await openConsole(page);
      expect(await faultsOfPaths(page, FOR_STRANGERS)).toEqual([]);
      // A used link is refused, which the browser logs itself.
      expect(complaints.filter((one) => !/server responded with a status of 4\d\d/.test(one))).toEqual([]);
      const seen = Object.keys(addresses).filter((route) => PARTS.some(([, beginning]) => beginning.test(route)));
      const known = new Set([...seen, ...FOR_STRANGERS.map((path) => path.replace("#used", ""))]);
      expect((await routesOf(page)).map(withoutSlash).filter((path) => !known.has(path))).toEqual([]);
    });
  });
});

describe.skipIf(findBrowser() === null)("the page of components", () => {
  test.each(["light", "dark"] as const)(
    "shows both themes side by side when the system theme is %s",
    async (colorScheme) => {
      await travel(browser, `components-${colorScheme}`, async ({ page }) => {
        await page.emulateMedia({ colorScheme });
        await page.goto(`${server.url}/parts`);
        await settle(page);
        // The lightness of each background, in whatever unit the browser reports. The light theme comes first.
        const [light = 0, dark = 0] = await page.evaluate<number[]>(
          "[...document.querySelectorAll('main [data-theme]')].map((one) => Number(/[0-9.]+/.exec(getComputedStyle(one).backgroundColor)[0]))",
        );
        expect(light).toBeGreaterThan(2 * dark);
      });
    },
  );
});

describe.skipIf(findBrowser() === null)("by keys alone", () => {
  test("a dialog traps the focus, Escape closes it, and the focus returns", async () => {
    await travel(browser, "keyboard-dialogs", async ({ page, complaints }) => {
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
      await page.getByLabel("Search prompts, run IDs, pages, and actions").waitFor();
      expect(await leavesByTab(page, "[role=dialog]")).toEqual([]);
      await page.keyboard.press("Escape");
      await expect.poll(() => link.evaluate((element) => element.matches(":focus"))).toBe(true);
      expect(complaints).toEqual([]);
    });
  });

  test("a menu opens, arrow keys move in it, and Escape closes it", async () => {
    await travel(browser, "keyboard-menus", async ({ page }) => {
      await signInAs(page, server.url, operator);
      await page.goto(`${server.url}/operator/people`);
      for (const name of [/^Account/, /^Actions for Person/]) {
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
