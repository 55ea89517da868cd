/** Keyboard checks: what Tab reaches, in which order, and where the focus is. */
import type { Page } from "playwright-core";

interface Focused {
  /** Index among the controls noted before, in page order. -1 for anything else, such as a scrolling frame. */
  readonly control: number;
  readonly isSeen: boolean;
  readonly name: string;
}

interface Walk {
  readonly controls: readonly { readonly name: string; readonly group: string | null }[];
  readonly focused: readonly Focused[];
}

/** In the page: `watch(within)` notes the controls and every later focus. A string, because it runs there. */
const WATCHER = `
globalThis.promptdKeyboard ??= (() => {
  const SELECTOR = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0'], [contenteditable=true]";
  // Arrows lead to these, Tab to the one that is chosen.
  const ROVING = "[role=tab], [role=menuitem], [role=option], [data-base-ui-focus-guard], [tabindex='-1']";
  const within = (root) =>
    [...root.querySelectorAll("*")].flatMap((one) => [
      ...(one.matches(SELECTOR) ? [one] : []),
      ...(one.shadowRoot === null ? [] : within(one.shadowRoot)),
    ]);
  const deepActive = () => {
    let active = document.activeElement;
    while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
    return active;
  };
  const nameOf = (element) =>
    (element.tagName.toLowerCase() + " " + (element.getAttribute("aria-label") ?? element.textContent ?? "").trim()).slice(0, 80);
  // A ring stands around it, or around what it fills, such as the row of a choice.
  const isSeen = (element) => {
    for (let at = element, depth = 0; at instanceof HTMLElement && depth < 4; at = at.parentElement, depth += 1) {
      const { width, height } = at.getBoundingClientRect();
      const { outlineStyle, outlineWidth } = getComputedStyle(at);
      if (width > 2 && height > 2 && outlineStyle !== "none" && parseFloat(outlineWidth) > 0) return true;
    }
    return false;
  };
  let controls = [];
  let focused = [];
  let inside = document.body;
  document.addEventListener("focusin", () => {
    const active = deepActive();
    if (focused.length > 0 && controls[focused.at(-1).control] === active) return;
    focused.push({
      control: controls.indexOf(active),
      isSeen: isSeen(active),
      name: nameOf(active),
    });
  });
  return {
    watch: (selector) => {
      inside = selector === null ? document.body : document.querySelector(selector);
      controls = within(inside).filter(
        (element) => !element.matches(":disabled") && !element.matches(ROVING) && element.checkVisibility(),
      );
      focused = [];
      return controls.length;
    },
    start: () => {
      // Tab goes on from where the focus was last, even when what had it is gone.
      const top = document.createElement("span");
      top.tabIndex = -1;
      document.body.prepend(top);
      top.focus();
      top.remove();
      focused = [];
    },
    focus: (index) => controls[index]?.focus(),
    outside: () => (inside.contains(document.activeElement) ? null : nameOf(document.activeElement)),
    hasComeAround: () => {
      const reached = focused.map(({ control }) => control).filter((control) => control !== -1);
      return new Set(reached).size < reached.length;
    },
    walk: () => ({
      controls: controls.map((element) => ({
        name: nameOf(element),
        group: element.type === "radio" ? element.name : null,
      })),
      focused,
    }),
  };
})(), undefined`;

async function watch(page: Page, within: string | null): Promise<number> {
  await page.evaluate(WATCHER);
  return page.evaluate<number>(`promptdKeyboard.watch(${JSON.stringify(within)})`);
}

/** How many keys to press between checks whether the focus is back at the first control. */
const KEYS_AT_ONCE = 20;
const CODES = { Tab: 9, Escape: 27 };
type Key = keyof typeof CODES;

/**
 * Presses keys until the focus has come around, at most twice as often as there are controls. Many keys are sent at once
 * and processed in order, because waiting a frame for each response would take a minute over all pages.
 */
async function pressAround(page: Page, keys: readonly Key[], count: number): Promise<void> {
  for (let pressed = 0; pressed < 2 * count + KEYS_AT_ONCE; pressed += KEYS_AT_ONCE) {
    await press(page, keys, KEYS_AT_ONCE);
    if (await page.evaluate<boolean>("promptdKeyboard.hasComeAround()")) return;
  }
}

async function press(page: Page, keys: readonly Key[], times: number): Promise<void> {
  const tools = await page.context().newCDPSession(page);
  const send = (key: Key) =>
    tools.send("Input.dispatchKeyEvent", { type: "rawKeyDown", key, code: key, windowsVirtualKeyCode: CODES[key] });
  await Promise.all(Array.from({ length: times }, () => keys.map(send)).flat());
  await tools.detach();
}

/**
 * Finds what Tab does wrong on a page: controls it misses or reaches out of order, and a focus that is invisible or does
 * not come around. `keys` lead to the next control.
 */
export async function faultsOfTabbing(page: Page, keys: readonly Key[] = ["Tab"]): Promise<string[]> {
  const count = await watch(page, null);
  await page.evaluate("promptdKeyboard.start()");
  await pressAround(page, keys, count);
  const { controls, focused } = await page.evaluate<Walk>("promptdKeyboard.walk()");
  const steps = focused.filter(({ control }) => control !== -1);
  const again = steps.findIndex(({ control }, at) => steps.findIndex((step) => step.control === control) < at);
  const round = again === -1 ? steps : steps.slice(0, again);
  const reached = new Set(round.map(({ control }) => control));
  // Tab reaches only the selected one of a group of radio buttons.
  const groups = new Set([...reached].flatMap((index) => controls[index]?.group ?? []));
  const missed = controls.filter(({ group }, index) => !reached.has(index) && (group === null || !groups.has(group)));
  const backwards = round.filter(({ control }, at) => control < (round[at - 1]?.control ?? 0));
  return [
    ...(count === 0 ? ["nothing can have the focus"] : []),
    ...(again === -1 && count > 1 ? ["the focus does not come around"] : []),
    ...missed.map(({ name }) => `Tab does not reach: ${name}`),
    ...backwards.map(({ name }) => `out of order: ${name}`),
    ...new Set(round.filter(({ isSeen }) => !isSeen).map(({ name }) => `its focus cannot be seen: ${name}`)),
  ];
}

/** The focus returns to a dialog one frame later, so each key waits for a frame, as with people. */
const FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";

/** Where Tab leads from the last control of a dialog or menu, and Shift+Tab from the first: elements outside it. */
export async function leavesByTab(page: Page, within: string): Promise<string[]> {
  const count = await watch(page, within);
  const from = async (index: number, keys: string) => {
    await page.evaluate(`promptdKeyboard.focus(${index})`);
    await page.keyboard.press(keys);
    await page.evaluate(FRAMES);
    return page.evaluate<string | null>("promptdKeyboard.outside()");
  };
  const found = [await from(count - 1, "Tab"), await from(0, "Shift+Tab")];
  return [...(count === 0 ? ["nothing can have the focus"] : []), ...found.filter((name) => name !== null)];
}
