/** A unit for property-based texts: anything that may occur in a text. */
import * as fc from "fast-check";

const FIRST_HALF = 0xd800;
const HALVES = 0x800;
const LAST = 0x10ffff;

/**
 * Every code point except the halves of surrogate pairs, like fast-check's own "binary". That one lists all of them at
 * its first use, which took each process a second, and 100 MB for as long as it lives (2026-11-27).
 */
export const anyCodePoint = fc
  .integer({ min: 0, max: LAST - HALVES })
  .map((n) => String.fromCodePoint(n < FIRST_HALF ? n : n + HALVES));
