/** What somebody may write where people write: it must run on no page, and widen none. */

/** Runs `pwned()` where it is taken for markup: as text, out of an attribute, and as an address. */
export const ATTACK = `"><img src=x onerror=pwned()><script>pwned()</script>[a](javascript:pwned())`;
/** One word of 31 characters: what was wrong is quoted in errors, and cut. */
export const WORD_ATTACK = `"><img/src='x'/onerror=pwned()>`;
/** As wide as 120 characters can be, with nothing to break it at. */
export const WIDE = "W".repeat(120);
/** Both, as long as a title may be. */
export const WIDE_ATTACK = (ATTACK + WIDE).slice(0, 120);
/** In a page, before anything else of it: says that a script of somebody's ran. */
export const WATCH_ATTACK = "globalThis.pwned = () => { globalThis.wasAttacked = true; };";
/** In a page: what an attack has done to it; empty when nothing. */
export const FIND_ATTACK = `[
  ...(globalThis.wasAttacked === true ? ["a script ran"] : []),
  ...[...document.querySelectorAll("img[src='x'], img[onerror], a[href^='javascript:' i]")].map((one) => one.outerHTML),
]`;
