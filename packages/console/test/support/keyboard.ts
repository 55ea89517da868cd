/** What somebody without a mouse meets on a page: what Tab reaches, and where the focus is. */
import type { Page } from "playwright-core";

interface Focused {
  /** Of the controls that were on the page before; -1: something else. */
  readonly control: number;
  readonly isInside: boolean;
  readonly isRinged: boolean;
  readonly name: string;
}

interface Walk {
  readonly controls: readonly { readonly name: string; readonly group: string | null }[];
  readonly focused: readonly Focused[];
}

/** In the page: `watch(within)` notes its controls and every focus from then on. Plain text, since it runs there. */
const WATCHER = `
globalThis.promptdKeyboard ??= (() => {
  const SELECTOR = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
  const ROVING = "[role=tab], [role=menuitem], [role=option], [data-base-ui-focus-guard]";
  const deepActive = () => {
    let active = document.activeElement;
    while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
    return active;
  };
  const nameOf = (element) =>
    (element.tagName.toLowerCase() + " " + (element.getAttribute("aria-label") ?? element.textContent ?? "").trim()).slice(0, 80);
  const hasRing = (element) => {
    for (let at = element, depth = 0; at instanceof HTMLElement && depth < 4; at = at.parentElement, depth += 1) {
      const { width, height } = at.getBoundingClientRect();
      const { outlineStyle, outlineWidth } = getComputedStyle(at);
      if (width > 2 && height > 2 && outlineStyle !== "none" && parseFloat(outlineWidth) > 0) return true;
    }
    const host = element.getRootNode()?.host;
    if (host === undefined) return false;
    const editor = element.closest(".cm-editor");
    return editor !== null && getComputedStyle(editor).outlineStyle !== "none";
  };
  let controls = [];
  let focused = [];
  let inside = document.body;
  document.addEventListener("focusin", () => {
    const active = deepActive();
    focused.push({
      control: controls.indexOf(active),
      isInside: inside.contains(active) || inside.contains(document.activeElement),
      isRinged: hasRing(active),
      name: nameOf(active),
    });
  });
  return {
    watch: (within) => {
      inside = within === null ? document.body : document.querySelector(within);
      controls = [...inside.querySelectorAll(SELECTOR)].filter(
        (element) => !element.matches(":disabled") && !element.matches(ROVING) && element.checkVisibility(),
      );
      focused = [];
      return controls.length;
    },
    start: () => { document.activeElement?.blur?.(); focused = []; },
    walk: () => ({
      controls: controls.map((element) => ({
        name: nameOf(element),
        group: element.type === "radio" ? element.name : null,
      })),
      focused,
    }),
  };
})()`;

async function watch(page: Page, within: string | null): Promise<number> {
  await page.evaluate(WATCHER);
  return page.evaluate<number>(`promptdKeyboard.watch(${JSON.stringify(within)})`);
}

const walked = (page: Page) => page.evaluate<Walk>("promptdKeyboard.walk()");
/** The page has answered to a key before the next one comes, as with people. */
const FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";

/** Where the focus goes while a dialog or a menu is open, by Tab: what lies outside of it. */
export async function leavesByTab(page: Page, within: string): Promise<string[]> {
  const count = await watch(page, within);
  for (let round = 0; round < count + 3; round += 1) {
    await page.keyboard.press("Tab");
    await page.evaluate(FRAMES);
  }
  const { focused } = await walked(page);
  // What guards the edges of a dialog leads back into it at once.
  const outside = focused.filter(({ isInside, name }) => !isInside && name.trim() !== "span");
  return [...new Set(outside.map(({ name }) => name))];
}
