/** Hostile texts for every input. No page may run them or grow wider because of them. */

/** Reorders the text after it, opens an isolate that never ends, and has no width. */
const TURNING = "\u202e\u2067\u200b";
/** Runs `pwned()` if a page treats it as markup: as text, out of an attribute, or as an address. */
export const ATTACK = `"><img src=x onerror=pwned()>${TURNING}<script>pwned()</script>[a](javascript:pwned())`;
/** One word of 31 characters, because errors quote faulty values and truncate them. */
export const WORD_ATTACK = `"><img/src='x'/onerror=pwned()>`;
/** As wide as 120 characters can be, without a break opportunity. */
export const WIDE = "W".repeat(120);
/** Both, as long as a title may be. */
export const WIDE_ATTACK = (ATTACK + WIDE).slice(0, 120);
/** In a page, before its own scripts: records that an attack ran. */
export const WATCH_ATTACK = "globalThis.pwned = () => { globalThis.wasAttacked = true; };";
/** In a page: finds text that a bidirectional control reorders, up to the end of its isolated block. */
const FIND_TURNED = `(() => {
  const isApart = (element) => {
    const { display, unicodeBidi } = getComputedStyle(element);
    return display !== "inline" || /isolate|plaintext/.test(unicodeBidi);
  };
  const apartOf = ({ parentElement: parent }) => {
    let element = parent;
    while (!isApart(element)) element = element.parentElement;
    return element;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  return texts.flatMap((text, index) => {
    if (!/[\\u202a-\\u202e\\u2066-\\u2069]/.test(text.data)) return [];
    const apart = apartOf(text);
    // What a model wrote follows itself.
    if (apart.closest(".prose, script") !== null) return [];
    const turned = texts.slice(index + 1).filter((one) => one.data.trim() !== "" && apartOf(one) === apart);
    return turned.map((one) => "turned around: " + one.data.slice(0, 60) + " in " + apart.outerHTML.slice(0, 120));
  });
})()`;

/** In a page: what an attack did to it; empty if nothing. */
export const FIND_ATTACK = `[
  ...(globalThis.wasAttacked === true ? ["a script ran"] : []),
  ...[...document.querySelectorAll("img[src='x'], img[onerror], a[href^='javascript:' i]")].map((one) => one.outerHTML),
  ...${FIND_TURNED},
]`;
