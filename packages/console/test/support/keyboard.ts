/** What somebody without a mouse meets: where Tab leads while a dialog or a menu is open. */
import type { Page } from "playwright-core";

interface Focused {
  readonly isInside: boolean;
  readonly name: string;
}

/** In the page: `watch(within)` counts its controls and notes every focus from then on. Plain text, since it runs there. */
const WATCHER = `
globalThis.promptdKeyboard ??= (() => {
  const SELECTOR = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
  const nameOf = (element) =>
    (element.tagName.toLowerCase() + " " + (element.getAttribute("aria-label") ?? element.textContent ?? "").trim()).slice(0, 80);
  let inside = document.body;
  const watcher = {
    focused: [],
    watch: (within) => {
      inside = document.querySelector(within);
      watcher.focused = [];
      return inside.querySelectorAll(SELECTOR).length;
    },
  };
  document.addEventListener("focusin", () => {
    const active = document.activeElement;
    watcher.focused.push({ isInside: inside.contains(active), name: nameOf(active) });
  });
  return watcher;
})(), undefined`;

/** The page has answered to a key before the next one comes, as with people. */
const FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";

/** Where the focus goes while a dialog or a menu is open, by Tab: what lies outside of it. */
export async function leavesByTab(page: Page, within: string): Promise<string[]> {
  await page.evaluate(WATCHER);
  const count = await page.evaluate<number>(`promptdKeyboard.watch(${JSON.stringify(within)})`);
  for (let round = 0; round < count + 3; round += 1) {
    await page.keyboard.press("Tab");
    await page.evaluate(FRAMES);
  }
  const focused = await page.evaluate<Focused[]>("promptdKeyboard.focused");
  // What guards the edges of a dialog leads back into it at once.
  const outside = focused.filter(({ isInside, name }) => !isInside && name.trim() !== "span");
  return [...new Set(outside.map(({ name }) => name))];
}
