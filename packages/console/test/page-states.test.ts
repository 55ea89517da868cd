/** What every page that reads data shows while loading, after a failure, and after recovery. */
import { describe, expect, test } from "vitest";
import { createTestPerson, type TestPerson } from "../../server/test/people/people-fixture.ts";
import type { TestServer } from "../../server/test/support/test-server.ts";
import { findBrowser, signInAs, travel, type Page, type Route, type TestBrowser } from "./support/browser.ts";
import { faultsOfPage } from "./support/pages.ts";
import { useConsole } from "./support/use-console.ts";

const SOURCE = `---
promptd: 1
title: Tea poem
model: sandbox/text
inputs:
  topic: { label: Topic }
---
Write about {{ topic }}.
`;
const MESSAGE = "Something went wrong on the server. It was logged.";
const REQUEST_ID = "019a2b10-7a44-7e90-8b1d-5c2f9e7d3b18";
/** The requests that a page reads from. The person is already known. */
const READS = /\/manage\/v1\/(?!session|features)/;

let server: TestServer;
let browser: TestBrowser;
let operator: TestPerson;
let promptId = "";
let runId = "";
let webhookId = "";
useConsole({ PROMPTD_SIGN_UP_PLAN: "pro" }, async (opened) => {
  ({ server, browser } = opened);
  operator = await createTestPerson(server, { isOperator: true });
  const { client, accountId } = operator;
  await server.grant(accountId, { amount: 100 });
  const { published } = await client.send("publishPromptFile", { body: { source: SOURCE } });
  promptId = published[0]?.promptId ?? "";
  const promptVersionId = published[0]?.promptVersionId ?? "";
  ({ runId } = await client.send("createRun", {
    body: { promptVersionId, inputs: { textInputs: { topic: "oolong" } } },
  }));
  const body = { url: "https://receiver.example.org/", events: ["run.finished"] as const };
  ({ webhookId } = await client.send("createWebhook", { body }));
});

const refuse = (route: Route) =>
  route.fulfill({
    status: 500,
    headers: { "x-request-id": REQUEST_ID },
    json: { status: "SERVER_ERROR", message: MESSAGE, data: null },
  });

/** Holds all requests back, then refuses them. @returns a function that starts refusing. */
async function holdReads(page: Page): Promise<() => void> {
  const held = Promise.withResolvers<void>();
  await page.route(READS, async (route) => {
    await held.promise;
    await refuse(route).catch(() => {}); // the page may have aborted the request
  });
  return held.resolve;
}

const PAGES: readonly (readonly [string, () => string])[] = [
  ["the marketplace", () => "/"],
  ["a prompt", () => "/p/tea-poem"],
  ["the runs", () => "/runs"],
  ["a run", () => `/runs/${runId}`],
  ["the keys", () => "/keys"],
  ["the credits", () => "/credits"],
  ["the prompts of an author", () => "/author"],
  ["the editor", () => `/author/${promptId}`],
  ["the tokens", () => "/settings/tokens"],
  ["the webhooks", () => "/settings/webhooks"],
  ["a webhook", () => `/settings/webhooks/${webhookId}`],
  ["the members", () => "/settings/members"],
  ["the overview of an operator", () => "/operator"],
  ["the runs of an operator", () => "/operator/runs"],
  ["a run of an operator", () => `/operator/runs/${runId}`],
  ["the models", () => "/operator/models"],
  ["the people", () => "/operator/people"],
  ["the accounts", () => "/operator/accounts"],
  ["an account", () => `/operator/accounts/${operator.accountId}`],
  ["the published prompts", () => "/operator/prompts"],
  ["the audit log", () => "/operator/audit"],
];

describe.skipIf(findBrowser() === null)(
  "a page shows placeholders while loading, then why it failed, then recovers",
  () => {
    test.each(PAGES)("%s", async (name, pathOf) => {
      await travel(browser, `states of ${name}`, async ({ page }) => {
        await signInAs(page, server.url, operator);
        const answer = await holdReads(page);
        await page.goto(server.url + pathOf());
        await page.locator("[role=status][aria-label^='Loading']").first().waitFor({ state: "attached" });
        await page.locator(".animate-breathe").first().waitFor();
        answer();
        const failure = page.getByRole("alert").filter({ hasText: MESSAGE });
        await failure.first().waitFor();
        expect(await failure.first().innerText()).toContain(`Request ${REQUEST_ID}`);
        // A failure looks the same everywhere. The credits page has three, of three widths.
        const faults = name === "the credits" ? await faultsOfPage(page, `failed ${name}`) : [];
        expect(faults).toEqual([]);
        await page.unroute(READS);
        const again = failure.getByRole("button", { name: "Try again" });
        const tryAgain = async () => {
          // A refetch, automatic or just requested, can remove the button while it is being clicked.
          await again
            .first()
            .click({ timeout: 1_000 })
            .catch(() => {});
          return failure.count();
        };
        await expect.poll(tryAgain).toBe(0);
        expect(await page.locator("main").innerText()).not.toContain(MESSAGE);
      });
    });
  },
);
