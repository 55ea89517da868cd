/** Finding prompts among many, what they cost, what was used, and the docs, in the console. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestPerson, type TestPerson } from "../../server/test/people/people-fixture.ts";
import { startTestServer, type TestServer } from "../../server/test/support/test-server.ts";
import { WIDE } from "./support/attack.ts";
import { findBrowser, openBrowser, signInAs, travel, type TestBrowser } from "./support/browser.ts";
import { DIST } from "./support/build.ts";

const PROMPTS = 60;

const prompt = (title: string, tag: string) => `---
promptd: 1
title: ${title}
model: sandbox/text
tags: [${tag}]
inputs: { word: { label: Word, maxLength: 9000 } }
---
Say {{ word }}.
`;

/** In the page: types and clicks in one moment, then waits past the search's timer: the shorter one is due first. */
const TYPE_AND_FOLLOW = `
  const field = document.querySelector("[aria-label='Search prompts']");
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, "number");
  field.dispatchEvent(new Event("input", { bubbles: true }));
  document.querySelector("a[href='/p/a-drawn-word']").click();
  new Promise((due) => setTimeout(due, 400));
`;

let server: TestServer;
let browser: TestBrowser;
let ada: TestPerson;
beforeAll(async () => {
  if (findBrowser() === null) return;
  const environment = { PROMPTD_SIGN_UP_PLAN: "pro", PROMPTD_SIGN_UP_CREDITS: "1000" };
  [server, browser] = await Promise.all([startTestServer({ consoleDirectory: DIST, environment }), openBrowser()]);
  const authorId = (await server.createCaller()).accountId;
  for (let i = 0; i < PROMPTS; i += 1) await server.publish(prompt(`Prompt number ${i}`, "many"), { authorId });
  await server.publish(prompt(WIDE, "wide"), { authorId });
  await server.publish(prompt("A drawn word", "drawn").replace("sandbox/text", "sandbox/image"), { authorId });
  ada = await createTestPerson(server);
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

describe.skipIf(findBrowser() === null)("in the console", () => {
  test("every prompt is reached by scrolling, and a tag leaves those that have it", async () => {
    await travel(browser, "scrolling", async ({ page, complaints }) => {
      await signInAs(page, server.url, ada);
      await page.goto(server.url);
      const cards = page.getByRole("list", { name: "Prompts" }).getByRole("listitem");
      await cards.first().waitFor();
      await page.getByRole("status").filter({ hasText: "24+ prompts" }).waitFor();
      let asked = 0;
      await page.route(/startingAfter=/, (route) => {
        asked += 1;
        return route.fulfill({ status: 404, json: {} });
      });
      await page.getByRole("button", { name: "Show more" }).scrollIntoViewIfNeeded();
      const again = page.getByRole("button", { name: "Could not be loaded. Try again" });
      await again.waitFor();
      await again.scrollIntoViewIfNeeded();
      await page.mouse.wheel(0, -200);
      await page.mouse.wheel(0, 200);
      expect(asked).toBe(1);
      await page.unroute(/startingAfter=/);
      complaints.splice(0); // of the page that failed
      await again.click();
      const reached = async () => {
        await cards.last().scrollIntoViewIfNeeded();
        return cards.count();
      };
      await expect.poll(reached, { timeout: 20_000 }).toBe(PROMPTS + 2);
      await page
        .getByRole("status")
        .filter({ hasText: `${PROMPTS + 2} prompts` })
        .waitFor();
      await page.getByRole("button", { name: "wide" }).click();
      await page.waitForURL(/tag=wide/);
      await page.getByRole("status").filter({ hasText: "1 prompt" }).waitFor();
      expect(complaints).toEqual([]);
    });
  });

  test("a card that is followed while a search is typed leads to its prompt", async () => {
    await travel(browser, "followed", async ({ page, complaints }) => {
      await signInAs(page, server.url, ada);
      await page.goto(server.url);
      await page.getByRole("link", { name: /A drawn word/ }).waitFor();
      // The page of the prompt is on its way until the search has been due.
      const due = Promise.withResolvers<void>();
      await page.route(/\/assets\/prompt-[^/]*\.js$/, async (route) => {
        await due.promise;
        await route.continue();
      });
      await page.evaluate(TYPE_AND_FOLLOW);
      due.resolve();
      await page.getByRole("heading", { name: "A drawn word", level: 1 }).waitFor();
      expect(page.url()).toBe(`${server.url}/p/a-drawn-word`);
      expect(complaints).toEqual([]);
    });
  });

  test("the price follows the options, and the chart shows what it cost", async () => {
    await travel(browser, "price", async ({ page, complaints }) => {
      await signInAs(page, server.url, ada);
      await page.goto(`${server.url}/p/a-drawn-word`);
      await page.getByRole("button", { name: /^Run for 4 credits/ }).waitFor();
      await page.getByLabel("Word").fill("gold");
      await page.getByText("high", { exact: true }).click();
      const button = page.getByRole("button", { name: /^Run for 8 credits/ });
      await button.waitFor();
      await page.getByRole("table", { name: "Versions" }).getByText("latest").waitFor();
      await button.click();
      await page.getByText("Succeeded", { exact: true }).waitFor();
      await page.getByRole("link", { name: "Credits" }).click();
      await page.getByRole("img", { name: /credits in 30 days/ }).waitFor();
      await page.getByText("Model", { exact: true }).click();
      await page.waitForURL(/by=model/);
      await page.getByText("sandbox/image").first().waitFor();
      const saved = page.waitForEvent("download");
      await page.getByRole("button", { name: "CSV" }).click();
      expect((await saved).suggestedFilename()).toBe("usage-by-model.csv");
      expect(complaints).toEqual([]);
    });
  });

  test("a vote is counted once, and taken back", async () => {
    await travel(browser, "vote", async ({ page, complaints }) => {
      await signInAs(page, server.url, ada);
      await page.goto(`${server.url}/p/prompt-number-7`);
      await page.getByRole("button", { name: "Vote 0" }).click();
      const voted = page.getByRole("button", { name: "Voted 1", pressed: true });
      await voted.waitFor();
      await page.reload();
      await voted.click();
      await page.getByRole("button", { name: "Vote 0", pressed: false }).waitFor();
      expect(complaints).toEqual([]);
    });
  });

  test("the docs are searched, read and linked by everybody, and every endpoint has its reference", async () => {
    await travel(browser, "docs", async ({ page, complaints }) => {
      await page.goto(`${server.url}/sign-in`);
      await page.getByRole("link", { name: "the docs" }).click();
      await page.getByRole("banner").getByRole("link", { name: "Sign in" }).waitFor();
      const search = page.getByLabel("Search the docs");
      await search.pressSequentially("key");
      await search.press("Home");
      await search.pressSequentially("idempotency ");
      await page.waitForURL(/q=idempotency(\+|%20)key/);
      expect(await search.inputValue()).toBe("idempotency key");
      await page.getByRole("region", { name: "Found" }).getByRole("link").first().click();
      await page.locator("article h2").first().waitFor();
      expect(new URL(page.url()).pathname).toMatch(/^\/docs\/[a-z-]+$/);
      await page.goto(`${server.url}/docs/reference/v1`);
      await page.getByText("/v1/runs", { exact: true }).first().click();
      await page.getByRole("heading", { name: "Answer" }).first().waitFor();
      expect(complaints).toEqual([]);
    });
    const list = await (await fetch(`${server.url}/llms.txt`)).text();
    const [, path = ""] = /\((\/docs\/api\.md)\)/.exec(list) ?? [];
    const guide = await fetch(server.url + path);
    expect([guide.status, guide.headers.get("content-type")]).toEqual([200, "text/markdown; charset=utf-8"]);
  });
});
