/** Chromium for the journeys: Debian's own, installed when it is missing and may be. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";

const PROGRAMS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/** Where a failing journey leaves what it saw, and where pictures of the pages go. */
export const PICTURES = join(import.meta.dirname, "../../pictures");

/** Null: there is none, and the journeys are left out. */
export function findBrowser(): string | null {
  const named = process.env["PROMPTD_TEST_CHROMIUM"];
  return named ?? PROGRAMS.find((program) => existsSync(program)) ?? null;
}

const MISSING =
  "Install Chromium first; on Debian: sudo apt-get install chromium. Or name one in PROMPTD_TEST_CHROMIUM.";
const INSTALL_MS_MAX = 600_000;

/** On Debian, as root. Where it cannot be had the journeys are left out, and this says so. */
export function installBrowser(): void {
  if (findBrowser() !== null) return;
  try {
    if (process.geteuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) throw new Error(MISSING);
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    const options = { stdio: "inherit", env, timeout: INSTALL_MS_MAX } as const;
    execFileSync("apt-get", ["update"], options);
    execFileSync("apt-get", ["install", "-y", "--no-install-recommends", "chromium"], options);
  } catch (error) {
    process.stderr.write(`No browser could be had, so the journeys of the console are left out: ${String(error)}\n`);
  }
}

export async function openBrowser(): Promise<Browser> {
  const executablePath = findBrowser();
  if (executablePath === null) throw new Error(MISSING);
  // Root has no sandbox, and containers have a small /dev/shm.
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

export interface Journey {
  readonly page: Page;
  /** What the page complained of: errors in its console, exceptions, answers that no page should cause. */
  readonly complaints: string[];
}

/** Makes the browser of a page that of a person, by the cookie of their session. */
export async function signInAs(page: Page, url: string, { cookie }: { readonly cookie: string }): Promise<void> {
  const [name = "", ...value] = cookie.split("=");
  await page.context().addCookies([{ name, value: value.join("="), url }]);
}

/** A page of its own; a failure leaves a picture of it, named after the journey. */
export async function travel(
  browser: Browser,
  name: string,
  journey: (journey: Journey) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(45_000); // many pages load at once on a small machine
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  try {
    await journey({ page, complaints });
  } catch (error) {
    mkdirSync(PICTURES, { recursive: true });
    await page.screenshot({ path: join(PICTURES, `failed-${name}.png`), fullPage: true }).catch(() => undefined);
    throw error;
  } finally {
    await context.close();
  }
}
