/** What every console page must satisfy: no serious axe violation in either theme, and nothing wider than the screen. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { PICTURES } from "./browser.ts";

/** Globals of the page, which this process does not have. */
interface PageScope {
  readonly axe?: typeof axe;
  /** The router exposes itself under this name. */
  readonly __TSR_ROUTER__?: {
    readonly history: { push(path: string): void };
    readonly state: {
      readonly status: "pending" | "idle";
      readonly location: { readonly href: string; readonly pathname: string };
      readonly resolvedLocation?: { readonly href: string };
    };
  };
  readonly document: {
    readonly documentElement: { readonly scrollWidth: number };
    querySelector(selector: string): unknown;
  };
  readonly innerWidth: number;
  requestAnimationFrame(callback: (ms: number) => void): void;
}

const HEIGHT = 800;
const WIDTHS = { wide: 1_440, middle: 768, narrow: 360 } as const;
/** Where to put pictures of all pages, in both themes and all widths, if they are wanted. */
const picturesDir = process.env["PROMPTD_TEST_PICTURES"] === undefined ? null : join(PICTURES, "pages");

/** For picture file names, because an address may be longer than a file name can be. */
const NAME_MAX = 100;

/** Opens a path in the loaded console, as a link does. */
export async function openPath(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => {
    const { ["__TSR_ROUTER__"]: router } = globalThis as unknown as PageScope;
    router?.history.push(to);
  }, path);
  await settle(page);
}

/**
 * Checks the page as it is now, with whatever is open on it: wide and light, then narrow and dark, then at all widths.
 * @param name for its pictures, if pictures are wanted; null takes none.
 */
export async function faultsOfPage(page: Page, name: string | null = null): Promise<string[]> {
  const found: string[] = [];
  for (const [colorScheme, width] of [["light", WIDTHS.wide] as const, ["dark", WIDTHS.narrow] as const]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: HEIGHT });
    await untilDrawn(page);
    found.push(...(await runAxe(page)).map((fault) => `${colorScheme}, ${width} px: ${fault}`));
  }
  for (const width of Object.values(WIDTHS)) {
    await page.setViewportSize({ width, height: HEIGHT });
    const extra = await page.evaluate(() => {
      const { document, innerWidth } = globalThis as unknown as PageScope;
      return document.documentElement.scrollWidth - innerWidth;
    });
    if (extra > 0) found.push(`${width} px: ${extra} px wider than the screen`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: WIDTHS.wide, height: HEIGHT });
  await untilDrawn(page);
  if (picturesDir !== null && name !== null)
    await takePictures(page, join(picturesDir, name.replaceAll(/[^a-z0-9]+/gi, "-").slice(0, NAME_MAX)));
  return found;
}

/** Waits until the page is drawn at its new size, and again after effects, such as a table becoming focusable. */
async function untilDrawn(page: Page): Promise<void> {
  await page.evaluate(() => {
    const scope = globalThis as unknown as PageScope;
    const frame = () => new Promise<void>((resolve) => scope.requestAnimationFrame(() => resolve()));
    return frame().then(frame).then(frame);
  });
}

/** Violations that axe rates serious or critical. */
async function runAxe(page: Page): Promise<string[]> {
  const isLoaded = await page.evaluate(() => (globalThis as unknown as PageScope).axe !== undefined);
  if (!isLoaded) await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { axe: loaded, requestAnimationFrame: nextFrame } = globalThis as unknown as Required<PageScope>;
    // Resize observers have reacted after two frames.
    await new Promise((resolve) => nextFrame(() => nextFrame(resolve)));
    const { violations } = await loaded.run({ resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
  });
}

/** Waits until the address's page is shown and no placeholder is left. */
export async function settle(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const { ["__TSR_ROUTER__"]: router, document } = globalThis as unknown as PageScope;
    if (router?.state.status !== "idle") return false;
    const isShown = router.state.resolvedLocation?.href === router.state.location.href;
    // The components page shows placeholders on purpose.
    const isParts = router.state.location.pathname === "/parts";
    const isLoading = !isParts && document.querySelector(".animate-breathe.bg-press") !== null;
    return isShown && !isLoading && document.querySelector("h1, h2") !== null;
  });
}

async function takePictures(page: Page, name: string): Promise<void> {
  mkdirSync(join(name, ".."), { recursive: true });
  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of Object.values(WIDTHS)) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: HEIGHT });
      await page.screenshot({ path: `${name}-${colorScheme}-${width}.png`, fullPage: true });
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: WIDTHS.wide, height: HEIGHT });
  await untilDrawn(page);
}
