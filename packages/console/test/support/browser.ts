/** Chromium for the journeys: Debian's own, installed if it is missing and installing is allowed. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Browser, type BrowserContext, type Page, type Route } from "playwright-core";

export type { Browser, Page, Route };

/**
 * The headless shell is the same engine without windows: journeys took 26 s of processor time with it and 41 s with the
 * full browser (ten of them; docs/decisions/2026-11-23-journeys-share-profiles.md).
 */
const PROGRAMS = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
/** Where failing journeys leave screenshots and traces, and where pictures of the pages go. */
export const PICTURES = join(import.meta.dirname, "../../pictures");

/** Null if there is no browser; the journeys are then skipped. */
export function findBrowser(): string | null {
  const named = process.env["PROMPTD_TEST_CHROMIUM"];
  return named ?? PROGRAMS.find((program) => existsSync(program)) ?? null;
}

const MISSING =
  "Install Chromium first; on Debian: sudo apt-get install chromium-headless-shell. Or name one in PROMPTD_TEST_CHROMIUM.";
const INSTALL_MS_MAX = 600_000;

/** Installs Chromium on Debian, as root. If that fails, says so, and the journeys are skipped. */
export function installBrowser(): void {
  if (findBrowser() !== null) return;
  try {
    if (process.geteuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) throw new Error(MISSING);
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    const options = { stdio: "inherit", env, timeout: INSTALL_MS_MAX } as const;
    execFileSync("apt-get", ["update"], options);
    execFileSync("apt-get", ["install", "-y", "--no-install-recommends", "chromium-headless-shell"], options);
  } catch (error) {
    process.stderr.write(`No browser could be had, so the journeys of the console are left out: ${String(error)}\n`);
  }
}

/** One browser for all files of a process, because starting it costs as much as a journey. It ends with the process. */
let launched: Promise<Browser> | null = null;

export function launchBrowser(): Promise<Browser> {
  const executablePath = findBrowser();
  if (executablePath === null) throw new Error(MISSING);
  // Root has no sandbox, and containers have a small /dev/shm.
  launched ??= chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  return launched;
}

/**
 * A browser whose profiles journeys reuse one after the other. The first page of a fresh profile costs six times as much as
 * later ones, whose scripts are already loaded and compiled (2026-11-23), so profiles are cleared and reused.
 */
export interface TestBrowser {
  readonly idle: BrowserContext[];
  open(): Promise<BrowserContext>;
  close(): Promise<void>;
}

export async function openBrowser(): Promise<TestBrowser> {
  const browser = await launchBrowser();
  const idle: BrowserContext[] = [];
  const all: BrowserContext[] = [];
  return {
    idle,
    open: async () => {
      const used = idle.pop();
      if (used !== undefined) return used;
      const context = await browser.newContext({ reducedMotion: "reduce" });
      all.push(context);
      await context.tracing.start(); // actions, requests, and console output; screenshots would slow every journey
      return context;
    },
    close: async () => void (await Promise.all(all.map((context) => context.close()))),
  };
}

export interface Journey {
  readonly page: Page;
  /** The page's complaints: console errors, exceptions, and responses that no page should cause. */
  readonly complaints: string[];
}

/** Signs a person in to a page's browser with their session cookie. */
export async function signInAs(page: Page, url: string, { cookie }: { readonly cookie: string }): Promise<void> {
  const [name = "", ...value] = cookie.split("=");
  await page.context().addCookies([{ name, value: value.join("="), url }]);
}

export interface Look {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: "light" | "dark";
}

/** Runs a journey on its own signed-out page. A failure leaves a screenshot and a trace named after the journey. */
export async function travel(
  browser: TestBrowser,
  name: string,
  journey: (journey: Journey) => Promise<void>,
  { width = 1_440, height = 900, colorScheme = "light" }: Look = {},
): Promise<void> {
  const context = await browser.open();
  await context.tracing.startChunk({ title: name });
  const page = await context.newPage();
  page.setDefaultTimeout(45_000); // many pages load at once on a small machine
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme });
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  try {
    await journey({ page, complaints });
    await page.evaluate("localStorage.clear()");
    await page.close();
    await context.clearCookies();
    await context.tracing.stopChunk();
    browser.idle.push(context);
  } catch (error) {
    mkdirSync(PICTURES, { recursive: true });
    const left = join(PICTURES, `failed-${name.replaceAll(/[^a-z0-9]+/gi, "-")}`);
    await page.screenshot({ path: `${left}.png`, fullPage: true }).catch(() => undefined);
    await context.tracing.stopChunk({ path: `${left}.zip` }).catch(() => undefined);
    if (error instanceof Error)
      error.message += `\n\nSeen last: ${left}.png\nTrace: npx playwright-core show-trace ${left}.zip`;
    await page.close(); // other journeys must not see data left in its profile
    throw error;
  }
}
