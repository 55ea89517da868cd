/** What authors meet in the console outside the main journey. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { ALLOWED_FILTERS } from "../../server/src/prompts/template/template-language.ts";
import { createTestPerson } from "../../server/test/people/people-fixture.ts";
import type { TestServer } from "../../server/test/support/test-server.ts";
import { FILTERS } from "../src/screens/editor/code/completion.ts";
import { WIDE } from "./support/attack.ts";
import { findBrowser, signInAs, travel, type TestBrowser } from "./support/browser.ts";
import { editor, newAuthor, saved, SOURCE, write } from "./support/editor.ts";
import { useConsole } from "./support/use-console.ts";

let server: TestServer;
let browser: TestBrowser;
useConsole({ PROMPTD_SIGN_UP_PLAN: "pro" }, (opened) => {
  ({ server, browser } = opened);
});

/** Holds back requests to an address. @returns a function that releases them. */
async function hold(page: Page, address: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(address, async (route) => {
    await promise;
    await route.continue();
  });
  return resolve;
}

/** Whether a toast covers the publish bar. */
const LIES_OVER_BAR = `(() => {
  const [said, bar] = ["[aria-live=polite].fixed", "[aria-label=Publishing]"].map((selector) =>
    document.querySelector(selector).getBoundingClientRect(),
  );
  return said.height === 0 ? null : said.bottom > bar.top && said.top < bar.bottom;
})()`;

test("the editor offers exactly the filters that templates support", () => {
  expect([...FILTERS].sort()).toEqual([...ALLOWED_FILTERS.keys()].sort());
});

describe.skipIf(findBrowser() === null)("while others write and responses are late", () => {
  test("another person's saved text is not overwritten, and one's own text is not lost", async () => {
    const author = await newAuthor(server);
    const { promptId } = await author.client.send("createDraft", { body: { source: SOURCE } });
    await travel(browser, "conflict", async ({ page }) => {
      await signInAs(page, server.url, author);
      await page.goto(`${server.url}/author/${promptId}`);
      await editor(page).waitFor();
      const theirs = SOURCE.replace("Tea poem", "Their poem");
      await author.client.send("saveDraft", { params: { promptId }, body: { source: theirs, revision: 1 } });
      await write(page, SOURCE.replace("Tea poem", "My poem"));
      await page.getByText("This draft was changed elsewhere").waitFor();
      expect((await author.client.send("getPrompt", { params: { promptId } })).source).toContain("Their poem");
      expect(await editor(page).innerText()).toContain("My poem");

      await page.getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menuitem", { name: "Delete prompt" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete prompt" }).click();
      await page.getByText("The draft is not saved. See the note above the file first.").waitFor();
      await page.keyboard.press("Escape");
      const stay = async (act: () => Promise<void>) => {
        const answered = page.waitForEvent("dialog").then((question) => question.dismiss());
        await act();
        await answered;
      };
      await stay(() => page.getByRole("link", { name: "Runs" }).click());
      await stay(async () => {
        await page.getByRole("button", { name: /^Account/ }).click();
        await page.getByRole("menuitem", { name: "Sign out" }).click();
      });
      expect(await editor(page).innerText()).toContain("My poem");
      const drafts = "**/manage/v1/prompts/*/draft";
      await page.route(drafts, (route) => route.fulfill({ status: 500, body: "{}" }));
      await page.getByRole("button", { name: "Overwrite it with my text" }).click();
      await page.getByText("not saved, retrying").waitFor();
      expect(await page.getByText("Your text was saved").count()).toBe(0);
      await page.unroute(drafts);
      await saved(page);
      expect((await author.client.send("getPrompt", { params: { promptId } })).source).toContain("My poem");
    });
  });

  test("no action overtakes a text that is being checked or saved, and its dialog stays open until it is done", async () => {
    const author = await newAuthor(server);
    const { promptId } = await author.client.send("createDraft", { body: { source: SOURCE } });
    const params = { promptId };
    const first = await author.client.send("publishDraft", { params, body: { revision: 1, baseVersionId: null } });
    await author.client.send("saveDraft", { params, body: { source: `${SOURCE}Sing it.\n`, revision: 0 } });
    const { draft } = await author.client.send("getPrompt", { params });
    const second = { revision: draft?.revision ?? 0, baseVersionId: first.promptVersionId };
    await author.client.send("publishDraft", { params, body: second });
    await travel(browser, "waiting", async ({ page, complaints }) => {
      await signInAs(page, server.url, author);
      await page.goto(`${server.url}/author/${promptId}?tab=history`);
      await page.getByText("No errors").waitFor();
      const [check, save] = await Promise.all([hold(page, "**/check"), hold(page, "**/draft")]);
      const checking = page.waitForRequest("**/check");
      await write(page, SOURCE.replace("Tea poem", "Late poem"));
      await checking;
      await page.getByText("No errors").waitFor(); // for the previous text, until a newer response arrives
      expect(await page.getByRole("button", { name: "Publish version 3" }).isDisabled()).toBe(true);
      check();
      await page.getByRole("button", { name: "Actions for version 1" }).click();
      await page.getByRole("menuitem", { name: "Roll back to this version" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").getByRole("button", { name: "Working" }).waitFor();
      save();
      await page.getByText("version 3", { exact: true }).waitFor();
      expect(await editor(page).innerText()).toContain("Late poem");
      expect(complaints).toEqual([]);
    });
    expect((await author.client.send("getPrompt", { params })).source).toContain("Late poem");
  });

  test("an unbreakable title does not widen the publish dialog", async () => {
    const author = await newAuthor(server);
    const source = SOURCE.replace("Tea poem", WIDE);
    const { promptId } = await author.client.send("createDraft", { body: { source } });
    await travel(browser, "wide-title", async ({ page }) => {
      await signInAs(page, server.url, author);
      await page.goto(`${server.url}/author/${promptId}`);
      await page.getByRole("button", { name: "Publish" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText(WIDE).waitFor();
      expect(await dialog.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
    });
  });

  test("the last text is saved to its own account, wherever the author goes", async () => {
    const author = await newAuthor(server);
    const owner = await createTestPerson(server);
    const email = (await author.client.send("getSession")).person.email;
    const { link } = await owner.client.send("createInvitation", { body: { email, role: "member" } });
    await author.client.send("joinAccount", { body: { code: link?.split("#")[1] ?? "" } });
    const { promptId } = await author.client.send("createDraft", { body: { source: SOURCE } });
    const stored = async () => (await author.client.send("getPrompt", { params: { promptId } })).source;
    await travel(browser, "leaving", async ({ page, complaints }) => {
      await signInAs(page, server.url, author);
      await page.goto(`${server.url}/author`);
      await page.getByRole("link", { name: "Tea poem" }).click();
      await editor(page).waitFor();
      await page.getByRole("button", { name: /^Account/ }).click();
      const others = page.getByRole("menuitem", { name: /member/ });
      await others.waitFor();
      await page.keyboard.press("Escape");
      await write(page, SOURCE.replace("Tea poem", "Late poem"));
      await page.getByRole("button", { name: /^Account/ }).click();
      await others.click();
      await page.waitForURL(`${server.url}/`);
      expect(await stored()).toContain("Late poem");

      await page.getByRole("button", { name: /^Account/ }).click();
      await page.getByRole("menuitem", { name: /owner/ }).click();
      await page.getByRole("link", { name: "My prompts" }).first().click();
      await page.getByRole("link", { name: "Late poem" }).click();
      await page.getByText("No errors").waitFor();
      await page.getByRole("link", { name: "My prompts" }).first().click();
      const draft = (await author.client.send("getPrompt", { params: { promptId } })).draft;
      const body = { source: SOURCE.replace("Tea poem", "Newest poem"), revision: draft?.revision ?? 0 };
      await author.client.send("saveDraft", { params: { promptId }, body });
      await page.getByRole("link", { name: /poem/ }).click();
      await editor(page).waitFor();
      expect(await editor(page).innerText()).toContain("Newest poem");

      const run = await hold(page, "**/test-runs");
      await page.getByLabel("Topic").fill("rain");
      await page.getByRole("button", { name: "Run draft" }).click();
      const readCredits = () => page.waitForResponse("**/manage/v1/credits");
      await page.getByRole("link", { name: "Credits" }).click();
      await page.getByRole("table", { name: "Journal" }).waitFor();
      const again = readCredits();
      run();
      await again;
      expect(page.url()).toBe(`${server.url}/credits`);
      expect(complaints).toEqual([]);
    });
  });
});

describe.skipIf(findBrowser() === null)("in the editor", () => {
  test("the keyboard alone completes a word and leaves with Escape and Tab", async () => {
    const author = await newAuthor(server);
    const { promptId } = await author.client.send("createDraft", { body: { source: SOURCE } });
    await travel(browser, "editor-keys", async ({ page }) => {
      await signInAs(page, server.url, author);
      await page.goto(`${server.url}/author/${promptId}`);
      await page.getByText("No errors").waitFor();
      await editor(page).focus();
      await page.keyboard.press("Control+Home");
      await page.keyboard.press("End");
      await page.keyboard.type("\nta");
      await page.getByRole("option", { name: "tags[gift, travel], to be found by" }).waitFor();
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+z");
      await page.keyboard.press("Control+End");
      await page.keyboard.type("{{ to");
      await page.getByRole("option", { name: /^topic/ }).waitFor();
      await page.keyboard.press("Enter");
      await page.keyboard.type(" }}");
      expect(await editor(page).innerText()).toContain("{{ topic }}");
      await page.keyboard.press("Control+Shift+k");
      expect(await editor(page).innerText()).not.toContain("\n{{ topic }}");
      await page.keyboard.press("Control+k");
      await page.getByLabel("Search prompts, run IDs, pages, and actions").waitFor();
      await page.keyboard.press("Escape");
      await editor(page).focus();
      await page.keyboard.press("Tab");
      expect(await editor(page).evaluate((element) => element.matches(":focus"))).toBe(true);
      await page.keyboard.press("Escape");
      await page.keyboard.press("Tab");
      expect(await editor(page).evaluate((element) => element.matches(":focus"))).toBe(false);
    });
  });
});

/** Whether the file's faults are in view, above the publish bar. */
const FAULTS_ARE_IN_VIEW = `(() => {
  const [said, bar] = ["[aria-busy]", "[aria-label=Publishing]"].map((selector) =>
    document.querySelector(selector).getBoundingClientRect(),
  );
  return said.top >= 0 && said.bottom <= bar.top;
})()`;

/** The free space between the file and the publish bar, in pixels. */
const FREE_BELOW_FILE = `(() => {
  const [file, bar] = ["[aria-label='Prompt file']", "[aria-label=Publishing]"].map((selector) =>
    document.querySelector(selector).getBoundingClientRect(),
  );
  return bar.top - file.bottom;
})()`;

describe.skipIf(findBrowser() === null)("a long file in the editor", () => {
  test("fills the available space, including the page header's once that is scrolled away", async () => {
    const author = await newAuthor(server);
    const names = Array.from({ length: 12 }, (_, index) => `word${index}`);
    const inputs = names.map((name) => `  ${name}: { label: ${name} }\n`).join("");
    const text = names.map((name) => `Say {{ ${name} }}.\n`).join("");
    const source = `---\npromptd: 1\ntitle: Many words\nmodel: sandbox/text\ninputs:\n${inputs}---\n${text}`;
    const { promptId } = await author.client.send("createDraft", { body: { source } });
    await travel(browser, "room", async ({ page }) => {
      await page.setViewportSize({ width: 1_280, height: 600 });
      await signInAs(page, server.url, author);
      await page.goto(`${server.url}/author/${promptId}`);
      await page.getByLabel("word11").waitFor();
      for (const top of [0, 40, 300]) {
        await page.evaluate(`scrollTo(0, ${top})`);
        const free = async () => Math.round(await page.evaluate<number>(FREE_BELOW_FILE));
        await expect.poll(free).toBe(24);
      }
    });
  });

  test("keeps its faults in view, with line numbers that follow edits above them", async () => {
    const author = await newAuthor(server);
    const wrong = `${SOURCE}${"A line.\n".repeat(200)}${"{{ nothing }} ".repeat(20).replaceAll(/nothing/g, (word, at) => word + at)}\n`;
    const line = wrong.split("\n").length - 1;
    const { promptId } = await author.client.send("createDraft", { body: { source: wrong } });
    await travel(browser, "long-file", async ({ page, complaints }) => {
      await signInAs(page, server.url, author);
      await page.goto(`${server.url}/author/${promptId}`);
      await page
        .getByRole("button", { name: `line ${line}`, exact: true })
        .first()
        .waitFor();
      for (const width of [1_280, 390]) {
        await page.setViewportSize({ width, height: 800 });
        if (width < 1_024)
          await page.evaluate("document.querySelector('[aria-busy]').scrollIntoView({ block: 'center' })");
        expect([width, await page.evaluate(FAULTS_ARE_IN_VIEW)]).toEqual([width, true]);
      }
      const check = await hold(page, "**/check");
      await editor(page).focus();
      await page.keyboard.press("Control+Home");
      await page.keyboard.press("Enter");
      await page
        .getByRole("button", { name: `line ${line + 1}`, exact: true })
        .first()
        .waitFor();
      check();
      expect(complaints).toEqual([]);
    });
  });
});

describe.skipIf(findBrowser() === null)("of a prompt in the editor", () => {
  test("labels move, versions are compared, a draft is discarded, and a prompt leaves the marketplace and comes back", async () => {
    const author = await newAuthor(server);
    const { promptId } = await author.client.send("createDraft", { body: { source: SOURCE } });
    const params = { promptId };
    for (const [index, title] of ["First poem", "Second poem"].entries()) {
      const source = SOURCE.replace("Tea poem", title);
      const { draft } = await author.client.send("getPrompt", { params });
      await author.client.send("saveDraft", { params, body: { source, revision: draft?.revision ?? 0 } });
      const { draft: next, latest } = await author.client.send("getPrompt", { params });
      const body = {
        revision: next?.revision ?? 0,
        baseVersionId: latest?.promptVersionId ?? null,
        note: `No ${index}`,
      };
      await author.client.send("publishDraft", { params, body });
    }
    await travel(browser, "versions", async ({ page, complaints }) => {
      await signInAs(page, server.url, author);
      await page.goto(`${server.url}/author/${promptId}?tab=history`);
      const label = async (version: number) => {
        await page.getByRole("button", { name: `Actions for version ${version}` }).click();
        await page.getByRole("menuitem", { name: "Set label" }).click();
        await page.getByRole("dialog").getByRole("button", { name: "Set label" }).click();
        const row = page.getByRole("listitem").filter({ hasText: `Version ${version}` });
        await row.getByRole("button", { name: "Delete label production" }).waitFor();
      };
      await label(1);
      await label(2);
      expect(await page.getByRole("button", { name: "Delete label production" }).count()).toBe(1);
      await page.setViewportSize({ width: 1280, height: 480 }); // the bar is at the bottom of the window
      await page.getByRole("button", { name: "Delete label production" }).click();
      await page.getByText("Label deleted").waitFor();
      expect(await page.evaluate(LIES_OVER_BAR)).toBe(false);
      await page.setViewportSize({ width: 1280, height: 800 });

      await page.getByRole("button", { name: "Actions for version 2" }).click();
      await page.getByRole("menuitem", { name: "Compare with version 1" }).click();
      const comparison = page.getByRole("region", { name: "Comparison" });
      await comparison.locator("ins", { hasText: "Second poem" }).waitFor();
      await comparison.getByText("Existing calls still work.").waitFor();

      await write(page, SOURCE.replace("Tea poem", "Third poem"));
      await saved(page);
      await page.getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menuitem", { name: "Discard draft" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Discard draft" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      expect(await editor(page).innerText()).toContain("Second poem");

      await page.getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menuitem", { name: "Unpublish" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Unpublish" }).click();
      await page.getByText("unpublished", { exact: true }).waitFor();
      const find = () => author.client.request({ method: "GET", path: "/manage/v1/marketplace/first-poem" });
      expect((await find()).httpStatus).toBe(404);
      await page.getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menuitem", { name: "Publish again unchanged" }).click();
      await page.getByRole("link", { name: "Open in marketplace" }).waitFor();
      expect((await find()).httpStatus).toBe(200);
      expect(complaints).toEqual([]);
    });
  });

  test("a failed save is retried automatically, and a save whose response was lost is not a conflict", async () => {
    const author = await newAuthor(server);
    const { promptId } = await author.client.send("createDraft", { body: { source: SOURCE } });
    await travel(browser, "retrying", async ({ page }) => {
      await signInAs(page, server.url, author);
      await page.goto(`${server.url}/author/${promptId}`);
      await editor(page).waitFor();
      const drafts = "**/manage/v1/prompts/*/draft";
      await page.route(drafts, async (route) => {
        await route.fetch(); // the request arrives, but its response does not
        await route.abort();
      });
      await write(page, SOURCE.replace("Tea poem", "Lasting poem"));
      await page.getByText("not saved, retrying").waitFor();
      await page.unroute(drafts);
      await saved(page);
      const { source, draft } = await author.client.send("getPrompt", { params: { promptId } });
      expect([source.includes("Lasting poem"), draft?.revision]).toEqual([true, 2]);
      expect(await page.getByText("This draft was changed elsewhere").count()).toBe(0);
      const checks = "**/manage/v1/prompt-files/check";
      await page.route(checks, (route) => route.abort());
      await write(page, SOURCE.replace("Tea poem", "Checked poem"));
      await page.getByText("The file could not be checked").waitFor();
      await page.unroute(checks);
      await page.getByText("No errors").waitFor();
    });
  });
});
