import type { SlicedWork } from "../../platform/time-slice.ts";
import { withoutStacks } from "../../platform/without-stacks.ts";
import { keyProblem } from "../text-input-rules.ts";
import { scanExpression } from "./expression-scan.ts";
import type { Change } from "./locate.ts";
import { engine, expressionOf, readerOf } from "./template-language.ts";

/**
 * Matches raw and comment blocks first, so that nothing inside them is changed. An unclosed block matches the rest of
 * the text, or every such tag would scan all of it again.
 */
const PLACEHOLDER =
  /\{%-?\s*(raw|comment)\s*-?%\}(?:[\s\S]*?\{%-?\s*end\1\s*-?%\}|[\s\S]*)|(\{\{-?)([^{}|"\n]{1,200}?)(-?\}\})/g;

/**
 * Rewrites placeholders of other template languages as Liquid: `{{Child's Age}}` -> `{{ input["Child's Age"] }}`.
 * Changes only what Liquid cannot read, or misreads (`{{ the topic }}`) if exactly that key is declared.
 * @param declared the keys that the file declares, or null when it has no `inputs`.
 */
export function* rewriteForeignPlaceholders(
  text: string,
  declared: ReadonlySet<string> | null,
): SlicedWork<{ readonly text: string; readonly changes: readonly Change[] }> {
  const changes: Change[] = [];
  let rewritten = "";
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    yield;
    const [whole, , open, inner, close] = match;
    // What Liquid cannot read is an error each time.
    if (inner === undefined || !withoutStacks(() => isForeign(inner, declared))) continue;
    const to = `${open} ${expressionOf(inner.trim().normalize("NFC"))} ${close}`;
    changes.push({ offset: match.index, from: whole, to });
    rewritten += text.slice(end, match.index) + to;
    end = match.index + whole.length;
  }
  return { text: rewritten + text.slice(end), changes };
}

function isForeign(inner: string, declared: ReadonlySet<string> | null): boolean {
  const key = inner.trim().normalize("NFC");
  if (keyProblem(key) !== null || scanExpression(readerOf(inner), "value").faults.length === 0) return false;
  if (/^[#/^>!&=@$]|^else\b/.test(key)) return false; // another language's: see foreign-syntax.ts
  return declared?.has(key) === true || !isLiquid(inner);
}

function isLiquid(inner: string): boolean {
  try {
    engine.parse(`{{${inner}}}`);
    return true;
  } catch {
    return false; // not Liquid, whatever the reason
  }
}
