/** Whole journeys through the console, on a real server and in a real browser. */
import { rmSync, statSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { mintCode } from "../../server/src/people/index.ts";
import { createTestPerson, PASSWORD, type TestPerson } from "../../server/test/people/people-fixture.ts";
import type { TestServer } from "../../server/test/support/test-server.ts";
import { WIDE_ATTACK } from "./support/attack.ts";
import { findBrowser, travel, type TestBrowser } from "./support/browser.ts";
import { faultsOfPage } from "./support/pages.ts";
import { useConsole } from "./support/use-console.ts";

const TEXT_PROMPT = `---
promptd: 1
title: Haiku of the day
description: Three lines on anything.
model: sandbox/text
inputs:
  topic: { label: Topic, maxLength: 200 }
  tone: { label: Tone, options: [calm, loud], default: calm }
samples:
  - inputs: { topic: the first frost }
---
Write a haiku about {{ topic }}, {{ tone }}.
`;

const IMAGE_PROMPT = `---
promptd: 1
title: Photo as a stamp
description: Turns a photo into a postage stamp.
model: sandbox/image
images:
  - { label: Photo }
inputs:
  country: { label: Country, default: Utopia }
samples:
  - inputs: { country: Elbonia }
---
A stamp of {{ country }} with the photo.
`;

const POSTER_PROMPT = `---
promptd: 1
title: Poster of a town
description: Draws a travel poster.
model: sandbox/image
inputs:
  town: { label: Town }
samples:
  - inputs: { town: Trieste }
---
A travel poster of {{ town }}.
`;

/** A 2 by 2 pixel PNG. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==",
  "base64",
);

/** In the page: records what a screen reader announces from now on: changes in existing live regions. */
const HEAR = `
  globalThis.heard = [];
  for (const region of document.querySelectorAll("[aria-live=polite], [role=status]")) {
    const hear = (changes) => heard.push(...changes.flatMap(({ addedNodes }) => [...addedNodes].map((one) => one.textContent)));
    new MutationObserver(hear).observe(region, { childList: true, subtree: true });
  }
`;

let server: TestServer;
let browser: TestBrowser;
useConsole({}, async (opened) => {
  ({ server, browser } = opened);
  await server.publish(TEXT_PROMPT);
  await server.publish(IMAGE_PROMPT);
  await server.publish(POSTER_PROMPT);
});

/** The link that a first start prints, for an account with credits. */
async function welcomeLink(): Promise<string> {
  const { accountId } = await server.createCaller();
  const code = await mintCode(server.app.db, { personId: null, accountId, makesOperator: false, signsIn: true });
  return `${server.url}/welcome#${code}`;
}

describe.skipIf(findBrowser() === null)("in the console", () => {
  test("a welcome link leads to a finished run, its receipt, its row in the list, and its cost", async () => {
    await travel(browser, "welcome", async ({ page, complaints }) => {
      await page.goto(await welcomeLink());
      const welcome = page.getByRole("region", { name: "Welcome" });
      await welcome.getByRole("button", { name: "Dismiss welcome" }).click();
      await page.reload();
      await page.getByRole("link", { name: /Haiku of the day/ }).waitFor();
      expect(await welcome.count()).toBe(0);
      await page.getByRole("link", { name: /Haiku of the day/ }).click();
      expect(page.url()).not.toContain("#");
      await page.getByRole("button", { name: "Fill in the sample" }).click();
      expect(await page.getByLabel("Topic").inputValue()).toBe("the first frost");
      await page.evaluate(HEAR);
      await page.getByText("loud").click();
      expect(await page.locator("pre").first().innerText()).toContain('"tone": "loud"');
      await page.keyboard.press("Control+Enter");
      await page.getByText("Succeeded", { exact: true }).waitFor();
      await page.getByText(/Write a haiku about the first frost, loud/).waitFor();
      const lines = await page.getByText("sandbox output, not an AI model").innerText();
      expect(lines.split("\n").slice(1)).toEqual(["model: sandbox/text", "reasoning: medium", "images: 0"]);
      expect(await page.evaluate("heard")).toContain("Haiku of the day: Succeeded.");
      await page.getByRole("link", { name: "Open run" }).click();
      await page.getByRole("heading", { name: "Receipt" }).waitFor();
      await page.getByText("Output tokens").waitFor();
      await page.getByRole("button", { name: "Copy the version ID" }).waitFor();
      await page.getByRole("link", { name: "Runs" }).first().click();
      await page
        .getByRole("row", { name: /Haiku of the day/ })
        .getByText("Succeeded")
        .click(); // anywhere in the row
      await page.getByRole("heading", { name: "Receipt" }).waitFor();
      const balance = page.getByRole("link", { name: /Credits\s*[\d,]+ available/ });
      const left = /[\d,]+/.exec(await balance.innerText())?.[0] ?? "";
      await balance.click();
      await page.locator("main").getByText(left, { exact: true }).first().waitFor();
      await page
        .getByRole("table", { name: "Journal" })
        .getByRole("link", { name: "Haiku of the day" })
        .first()
        .waitFor();
      expect(complaints).toEqual([]);
    });
  });

  test("it takes three clicks from a welcome link to a finished run with an image", async () => {
    await travel(browser, "three clicks", async ({ page, complaints }) => {
      await page.goto(await welcomeLink());
      await page.getByRole("link", { name: /Poster of a town/ }).click();
      await page.getByRole("button", { name: "Fill in the sample" }).click();
      await page.getByRole("button", { name: /^Run for/ }).click();
      await page.getByText("Succeeded", { exact: true }).waitFor();
      await page.getByAltText("Generated by this run").waitFor();
      expect(complaints).toEqual([]);
    });
  });

  test("a setup link asks for the email and password that sign in from then on", async () => {
    const email = "first@example.org";
    await travel(browser, "set-up", async ({ page, complaints }) => {
      const code = await mintCode(server.app.db, {
        personId: null,
        accountId: null,
        makesOperator: true,
        signsIn: false,
      });
      await page.goto(`${server.url}/welcome#${code}`);
      await page.getByRole("heading", { name: "Set up your account" }).waitFor();
      expect(page.url()).not.toContain("#");
      expect(await faultsOfPage(page, "set-up")).toEqual([]);
      await page.getByLabel("Email").fill(email);
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Set up and sign in" }).click();
      await page.getByRole("link", { name: "Operator" }).waitFor();
      expect(complaints).toEqual([]);
    });
    await travel(browser, "set-up-again", async ({ page }) => {
      await page.goto(`${server.url}/sign-in`);
      await page.getByLabel("Email").fill(email);
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("link", { name: "Operator" }).waitFor();
    });
  });

  test("a search finds a prompt, also after a reload, and a photo from disk becomes its image", async () => {
    await travel(browser, "photo", async ({ page, complaints }) => {
      await page.goto(await welcomeLink());
      await page.getByLabel("Search prompts").fill("make a stamp of my cat");
      await page.waitForURL(/q=make/);
      await page.reload();
      await page.getByRole("link", { name: /Photo as a stamp/ }).waitFor();
      expect(await page.getByLabel("Search prompts").inputValue()).toBe("make a stamp of my cat");
      await page.getByRole("link", { name: /Photo as a stamp/ }).click();
      await page.getByText("Add your own image under “Photo”.").waitFor();
      await page.getByRole("button", { name: "Fill in the sample texts" }).click();
      expect(await page.getByLabel("Country").inputValue()).toBe("Elbonia");
      await page.getByRole("button", { name: /^Run/ }).click();
      await page.getByText("Add an image.").waitFor();
      expect(await page.locator("pre").first().innerText()).toContain("$(base64 < photo.jpg)");
      await page.getByText("Nothing was sent. Correct the marked fields.").waitFor();
      await page.getByRole("button", { name: "Use an address" }).click();
      await page.getByLabel("Image address").fill("http://example.org/a.png");
      await page.getByText("Enter an image address that starts with https://").waitFor();
      await page.getByLabel("Image address").fill("https://example.org/a.png");
      await expect.poll(() => page.locator("pre").first().innerText()).toContain("https://example.org/a.png");
      await page.getByRole("button", { name: "Use", exact: true }).click();
      await page.getByText("fetched when the run starts").waitFor();
      await page.getByRole("button", { name: "Remove image" }).click();
      const choose = async () => {
        const asked = page.waitForEvent("filechooser");
        await page.getByRole("button", { name: "Choose a file" }).click();
        return asked;
      };
      const text = { name: "notes.jpg", mimeType: "image/jpeg", buffer: Buffer.from("These are notes.") };
      await (await choose()).setFiles(text);
      await page.getByText("This file is named like an image but cannot be read as one.").waitFor();
      await (await choose()).setFiles({ name: `${WIDE_ATTACK}.png`, mimeType: "image/png", buffer: PNG });
      await page.getByText("2 × 2").waitFor();
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
      await page.keyboard.press("Control+Enter"); // the clicked button is gone
      const picture = page.getByAltText("Generated by this run");
      await picture.waitFor();
      expect(
        await picture.evaluate((image) => (image as unknown as { decode(): Promise<void> }).decode().then(() => true)),
      ).toBe(true);
      expect(await page.getByText("The run’s images were not stored.").count()).toBe(0);
      await page.reload(); // as when editing and running again
      await page.getByText("The run’s images were not stored. Add them again.").waitFor();
      expect(complaints).toEqual([]);
    });
  });

  test("a key is created, works immediately, and is revoked", async () => {
    await travel(browser, "key", async ({ page, complaints }) => {
      await page.goto(await welcomeLink());
      await page.getByRole("link", { name: "Keys" }).click();
      await page.getByRole("button", { name: "Create key" }).first().click();
      await page.getByRole("dialog").waitFor();
      await page.reload(); // the address keeps the dialog open
      await page.getByLabel("Name").fill("shop-backend");
      await page.getByLabel("Monthly cap").fill("500");
      await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
      await page.locator("[data-made] button:focus").waitFor(); // nothing had the focus before the dialog
      const apiKey = await page.locator("section", { hasText: "is ready" }).locator("code").first().innerText();
      const ask = () => fetch(`${server.url}/v1/me`, { headers: { authorization: `Bearer ${apiKey}` } });
      expect((await ask()).status).toBe(200);
      const use =
        "update api_keys set last_used_at = promptd_now(), last_used_from = '203.0.113.24' where display = $1";
      await server.app.db.query(use, [`${apiKey.slice(0, 8)}…${apiKey.slice(-4)}`]); // it is written once a minute
      await page.reload();
      await page.getByRole("row", { name: /shop-backend .*203\.0\.113\.24/ }).waitFor();
      expect(await page.getByRole("link", { name: "Show revoked keys" }).count()).toBe(0); // there are none
      await page.getByRole("button", { name: "Actions for shop-backend" }).click();
      await page.getByRole("menuitem", { name: "Revoke key" }).click();
      await page
        .getByRole("dialog")
        .getByText(/^It was last used \d+ s ago from 203\.0\.113\.24\./)
        .waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Revoke key" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" }); // the page behind a dialog has no roles
      await page.getByRole("row", { name: /shop-backend/ }).waitFor({ state: "detached" });
      expect((await ask()).status).toBe(401);
      await page.getByRole("link", { name: "Show revoked keys" }).click();
      await page.getByRole("row", { name: /shop-backend .*revoked/ }).waitFor();
      expect(page.url()).toContain("revoked=with");
      expect(complaints).toEqual([]);
    });
  });

  test("the keyboard alone continues on an opened page and finds prompts from anywhere, and pages before prompts of that name", async () => {
    await server.publish("---\npromptd: 1\ntitle: Keys to a song\nmodel: sandbox/text\n---\nExplain chords.\n");
    await travel(browser, "keyboard", async ({ page }) => {
      await page.goto(await welcomeLink());
      await page.getByRole("link", { name: /Haiku of the day/ }).focus();
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/p\//);
      await page.locator("main:focus").waitFor(); // the link is gone
      expect(new URL(page.url()).pathname).toBe("/p/haiku-of-the-day");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: /Search/ }).waitFor();
      await page.keyboard.type("poster");
      await page.getByRole("option", { name: /Poster of a town/ }).waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL(`${server.url}/p/poster-of-a-town`);
      await page.keyboard.press("Control+k");
      await page.keyboard.type("keys");
      await page.getByRole("option", { name: /Keys to a song/ }).waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL(`${server.url}/keys`);
    });
  });

  test("a failing journey leaves a screenshot and a trace", async () => {
    const lost = travel(browser, "lost on purpose", async ({ page }) => {
      await page.goto(`${server.url}/sign-in`);
      throw new Error("lost its way");
    });
    const message = await lost.then(() => "it arrived", String);
    const [, picture = "", trace = ""] = /lost its way[^]*: (\S+\.png)\n.* (\S+\.zip)$/.exec(message) ?? [];
    for (const left of [picture, trace]) {
      expect([left, statSync(left).size > 1_000]).toEqual([left, true]);
      rmSync(left);
    }
  });

  test("text that people write cannot script any page", async () => {
    const attack =
      "<img src=x onerror=alert(1)><script>alert(2)</script>[click](javascript:alert(3)) " +
      "[elsewhere](https://example.org/) ![a picture](https://example.org/a.png)";
    await travel(browser, "scripts", async ({ page, complaints }) => {
      let alerts = 0;
      page.on("dialog", (dialog) => {
        alerts += 1;
        void dialog.dismiss();
      });
      await page.goto(await welcomeLink());
      await page.getByRole("link", { name: /Haiku of the day/ }).click();
      await page.getByLabel("Topic").fill(attack);
      await page.keyboard.press("Control+Enter");
      await page.getByText("Succeeded", { exact: true }).waitFor();
      await page.locator(".prose", { hasText: "click" }).waitFor();
      expect(await page.locator(".prose img, .prose script, a[href^='javascript']").count()).toBe(0);
      const links = page.locator(".prose a[href^='https://example.org/']");
      expect(await links.count()).toBe(2);
      expect(await links.and(page.locator("[rel='noopener nofollow']")).count()).toBe(2);
      expect(alerts).toBe(0);
      expect(complaints).toEqual([]);
    });
  });
});

describe.skipIf(findBrowser() === null)("coming and going", () => {
  test("signed-out people are sent to sign-in, and a used link opens nothing", async () => {
    const link = await welcomeLink();
    await travel(browser, "used-link", async ({ page }) => {
      await page.goto(link);
      await page.getByRole("link", { name: /Haiku of the day/ }).waitFor();
    });
    await travel(browser, "signed-out", async ({ page }) => {
      await page.goto(`${server.url}/runs`);
      await page.waitForURL(/\/sign-in\?from=%2Fruns/);
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      await page.goto(link);
      await page.getByText("This link did not work.").waitFor();
      await page.getByText("--user", { exact: true }).waitFor(); // unbroken, however narrow the page is
      expect(await page.getByRole("link", { name: "Runs" }).count()).toBe(0);
    });
  });

  test("an invitation signs up new people and joins known people", async () => {
    const [ada, bob] = [await createTestPerson(server), await createTestPerson(server)];
    const email = "new@example.com";
    const invite = ({ client }: TestPerson) =>
      client.send("createInvitation", { body: { email, role: "member" } }).then(({ link }) => link ?? "");
    const membersOf = async ({ client }: TestPerson) =>
      (await client.send("listMembers")).rows.map((member) => member.email);
    await travel(browser, "invited", async ({ page, complaints }) => {
      await page.goto(await invite(ada));
      await page.getByText(/Person \d+ invites you to their account\./).waitFor();
      await page.getByLabel("Name").fill("Newcomer");
      expect(await faultsOfPage(page, "invitation-new")).toEqual([]);
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Set up and sign in" }).click();
      await page.getByRole("link", { name: /Haiku of the day/ }).waitFor();
      expect(page.url()).not.toContain("#");
      expect(complaints).toEqual([]);
    });
    await travel(browser, "invited-again", async ({ page }) => {
      await page.goto(await invite(bob));
      await page.getByText(/Person \d+ invites you to their account\./).waitFor();
      await page.getByLabel("Password").waitFor();
      expect(await faultsOfPage(page, "invitation-known")).toEqual([]);
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("link", { name: /Haiku of the day/ }).waitFor();
    });
    for (const inviter of [ada, bob]) expect(await membersOf(inviter)).toContain(email);
  });

  test("pressing twice acts once, and going back after signing out shows nothing", async () => {
    await travel(browser, "twice", async ({ page }) => {
      const writes: string[] = [];
      page.on("request", (request) => {
        const { pathname } = new URL(request.url());
        if (request.method() === "POST" && /^\/manage\/v1\/(runs|keys)$/.test(pathname)) writes.push(pathname);
      });
      await page.goto(await welcomeLink());
      await page.getByRole("link", { name: /Haiku of the day/ }).click();
      await page.getByRole("button", { name: "Fill in the sample" }).click();
      await page.getByRole("button", { name: /^Run for/ }).dblclick();
      await page.getByText("Succeeded", { exact: true }).waitFor();
      await page.getByRole("link", { name: "Keys" }).click();
      await page.getByRole("button", { name: "Create key" }).first().dblclick();
      await page.getByLabel("Name").fill("once");
      await page.getByRole("dialog").getByRole("button", { name: "Create key" }).dblclick();
      await page.locator("section", { hasText: "is ready" }).waitFor();
      expect(writes).toEqual(["/manage/v1/runs", "/manage/v1/keys"]);
      await page.goto(`${server.url}/credits`);
      await page.getByRole("heading", { name: "Credits", exact: true }).waitFor();
      await page.getByRole("button", { name: /^Account/ }).click();
      await page.getByRole("menuitem", { name: /Sign out/ }).click();
      await page.waitForURL(/\/sign-in/);
      await page.goBack();
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      expect(await page.getByRole("heading", { name: "Credits", exact: true }).count()).toBe(0);
    });
  });

  test("leaving an account does not lock a person out", async () => {
    await travel(browser, "left", async ({ page }) => {
      await page.goto(await welcomeLink());
      await page.getByRole("link", { name: /Haiku of the day/ }).waitFor();
      await page.evaluate(() => localStorage.setItem("promptd-account", "0190b0a0-0000-7000-8000-000000000000"));
      // The cards are requested before the session is known. The refusal arrives after it, when the page is open.
      await page.route(
        /\/manage\/v1\/marketplace\?/,
        async (route) => {
          await page.getByRole("link", { name: "Runs", exact: true }).waitFor();
          await route.continue().catch(() => {}); // the page may have aborted the request
        },
        { times: 1 },
      );
      await page.reload();
      await page.getByRole("link", { name: /Haiku of the day/ }).waitFor();
      expect(new URL(page.url()).pathname).toBe("/");
    });
  });
});
