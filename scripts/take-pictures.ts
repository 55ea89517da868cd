/**
 * Takes the pictures of the console in docs/screens, from a fresh installation with the seed marketplace:
 *
 *   npm run build:console && PROMPTD_TEST_CHROMIUM=/usr/bin/chromium node --conditions=promptd-source scripts/take-pictures.ts [FOLDER]
 *
 * Needs full Chromium (see CONTRIBUTING.md), because its headless shell spaces text differently. Takes about a minute.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launchBrowser, type Browser, type Page } from "../packages/console/test/support/browser.ts";

const folder = process.argv[2] ?? join(import.meta.dirname, "../docs/screens");
const WIDE = { width: 1_440, height: 900 };
const NARROW = { width: 360, height: 740 };
const DRAFT = `---
promptd: 1
title: Letter to a neighbor
description: A short, friendly letter about something that bothers you.
model: text-default
inputs:
  matter: { label: What it is about, maxLength: 400 }
  tone: { label: Tone, options: [warm, matter of fact, funny], default: warm }
tests:
  - name: names the matter
    inputs: { matter: the loud drill on Sunday }
    expect: { contains: Sunday }
---
Write a {{ tone }} letter to a neighbor about {{ matter }}.

{% if tone == "funny" %}End with a harmless joke.{% endif %}
`;

/** A dog in a garden, drawn by the browser. */
const DRAW_DOG = `(() => {
  const canvas = document.createElement("canvas");
  canvas.width = 800;
  canvas.height = 600;
  const draw = canvas.getContext("2d");
  const sky = draw.createLinearGradient(0, 0, 0, 600);
  sky.addColorStop(0, "#9cc4d8");
  sky.addColorStop(1, "#6f8f5c");
  draw.fillStyle = sky;
  draw.fillRect(0, 0, 800, 600);
  const oval = (color, x, y, width, height) => {
    draw.fillStyle = color;
    draw.beginPath();
    draw.ellipse(x, y, width, height, 0, 0, 7);
    draw.fill();
  };
  oval("#8a5a34", 400, 420, 170, 190);
  oval("#a4703f", 400, 240, 130, 130);
  oval("#222", 355, 220, 13, 13);
  oval("#222", 445, 220, 13, 13);
  oval("#222", 400, 275, 24, 17);
  return canvas.toDataURL("image/png").split(",")[1];
})()`;

const home = mkdtempSync(join(tmpdir(), "promptd-pictures-"));
const env = { ...process.env, PROMPTD_DATA_DIR: home, PORT: "0", PROMPTD_LOCAL_MODELS: "off" };
const server = spawn(process.execPath, [join(import.meta.dirname, "../packages/cli/bin/promptd.js"), "serve"], {
  env,
  stdio: ["ignore", "pipe", "ignore"],
});
const browser = await launchBrowser();
try {
  const link = await welcomeLink();
  await takeAll(browser, new URL(link).origin, link);
} finally {
  await browser.close();
  server.kill("SIGTERM");
  await once(server, "exit");
  rmSync(home, { recursive: true, force: true });
}

/** The link that a first start prints for people. */
function welcomeLink(): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = "";
    server.stdout.setEncoding("utf8").on("data", (piece: string) => {
      printed += piece;
      const [link] = /https?:\S+\/welcome#[\w-]+/.exec(printed) ?? [];
      if (link !== undefined) resolve(link);
    });
    server.once("exit", () => reject(new Error(`The server printed no link to the console:\n${printed}`)));
  });
}

async function takeAll(from: Browser, url: string, link: string): Promise<void> {
  const context = await from.newContext({ viewport: WIDE, reducedMotion: "reduce" });
  const page = await context.newPage();
  const take = async (name: string) => {
    await page.mouse.move(1, 1);
    await page.waitForFunction(isShown);
    await page.screenshot({ path: join(folder, `${name}.png`) });
  };
  await page.goto(link);
  await page.getByRole("list", { name: "Prompts" }).getByRole("listitem").first().waitFor();
  await page.getByRole("button", { name: "Dismiss welcome" }).click();
  await take("marketplace");
  await page.goto(`${url}/?q=a+new+look+for+my+house`);
  await page.getByRole("list", { name: "Prompts" }).getByRole("listitem").first().waitFor();
  await take("search");
  await runPicture(page, url);
  await take("prompt");
  await runText(page, url);
  await take("run");
  await page.goto(`${url}/credits?days=7`);
  await page.getByRole("table", { name: "Journal" }).waitFor();
  await take("credits");
  await writeDraft(page, url);
  await take("editor");
  await page.goto(`${url}/operator`);
  await page.getByRole("heading", { name: "Operator" }).waitFor();
  await take("operator");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`${url}/runs`);
  await page.getByRole("table", { name: "Runs" }).waitFor();
  await take("runs-dark");
  await page.setViewportSize(NARROW);
  await page.goto(url);
  await page.getByRole("list", { name: "Prompts" }).getByRole("listitem").first().waitFor();
  await take("marketplace-phone-dark");
}

async function runPicture(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/p/royal-pet-portrait`);
  const buffer = Buffer.from(await page.evaluate<string>(DRAW_DOG), "base64");
  await page
    .getByLabel("Photo of your pet: file")
    .setInputFiles({ name: "biscuit.png", mimeType: "image/png", buffer });
  await page.getByLabel("Pet's name").fill("Sir Biscuit");
  await page.getByText("admiral", { exact: true }).first().click();
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.getByAltText("Generated by this run").waitFor();
}

async function runText(page: Page, url: string): Promise<void> {
  for (const theme of ["the sea in winter", "a letter that came late", "first snow in the city"]) {
    await page.goto(`${url}/p/poet`);
    await page.getByLabel("Theme of the poem").fill(theme);
    await page.keyboard.press("Control+Enter");
    await page.getByText("Succeeded", { exact: true }).waitFor();
  }
  await page.getByRole("link", { name: "Open run" }).click();
  await page.getByRole("heading", { name: "Receipt" }).waitFor();
}

/** Browser globals that this process does not have. */
interface PageScope {
  readonly DataTransfer: new () => { setData(type: string, text: string): void };
  readonly ClipboardEvent: new (type: string, init: object) => never;
  readonly innerHeight: number;
  readonly document: {
    readonly images: Iterable<{ readonly complete: boolean; getBoundingClientRect(): { readonly top: number } }>;
    querySelector(selector: string): unknown;
  };
}

/** No loading placeholders are left, and all visible images are loaded. */
function isShown(): boolean {
  const { document, innerHeight } = globalThis as unknown as PageScope;
  const isSeen = [...document.images].every(
    (image) => image.complete || image.getBoundingClientRect().top > innerHeight,
  );
  return isSeen && document.querySelector(".animate-breathe.bg-press") === null;
}

async function writeDraft(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/author/new`);
  await page.getByRole("button", { name: "Use this template: Text" }).click();
  const editor = page.getByRole("textbox", { name: /Prompt file/ });
  await editor.click();
  await page.keyboard.press("Control+a");
  await editor.evaluate((node, text) => {
    const scope = globalThis as unknown as PageScope;
    const clipboardData = new scope.DataTransfer();
    clipboardData.setData("text/plain", text);
    node.dispatchEvent(new scope.ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, DRAFT);
  await page.getByText("No errors").waitFor();
  await page.getByLabel("What it is about").fill("the loud drill on Sunday");
  await page.getByRole("button", { name: "Run draft" }).click();
  await page.getByText("Succeeded", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Run all" }).click();
  await page.getByText("names the matter: passed").waitFor();
}
