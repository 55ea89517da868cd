/** Splits a guide into parts by its headings. Search returns parts, and links lead to them. */
export interface GuidePart {
  readonly guide: string;
  readonly heading: string;
  /** The fragment that leads to it. */
  readonly anchor: string;
  readonly text: string;
}

/** Builds the same anchor as GitHub, so that links work in both places. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
}

/** Ignores headings inside code blocks. */
export function partsOf(guide: string, markdown: string): GuidePart[] {
  const parts: { heading: string; lines: string[] }[] = [];
  let isCode = false;
  for (const line of markdown.split("\n")) {
    if (line.startsWith("```")) isCode = !isCode;
    const heading = isCode ? null : /^#{1,3} (.+)$/.exec(line);
    if (heading !== null) parts.push({ heading: heading[1] ?? "", lines: [] });
    else parts.at(-1)?.lines.push(line);
  }
  return parts.map(({ heading, lines }) => ({
    guide,
    heading: heading.replaceAll("`", ""),
    anchor: anchorOf(heading),
    text: lines
      .filter((line) => !/^\|[\s:|-]+\|$/.test(line)) // skip table delimiter rows
      .join(" ")
      .replaceAll(/[`*|]|\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replaceAll(/\s+/g, " ")
      .trim(),
  }));
}

const FOUND_MAX = 20;
const EXCERPT = 140;

export interface Found {
  readonly part: GuidePart;
  readonly excerpt: string;
}

/** Finds the parts that contain every word. Matches in headings come first. */
export function searchParts(parts: readonly GuidePart[], query: string): Found[] {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return [];
  return parts
    .flatMap((part) => {
      const [heading, text] = [part.heading.toLowerCase(), part.text.toLowerCase()];
      if (!words.every((word) => heading.includes(word) || text.includes(word))) return [];
      const score = words.filter((word) => heading.includes(word)).length;
      return [{ part, score, excerpt: excerptOf(part.text, words[0] ?? "") }];
    })
    .sort((a, b) => b.score - a.score)
    .slice(0, FOUND_MAX);
}

/** An excerpt around the word, cut at spaces. */
function excerptOf(text: string, word: string): string {
  const at = Math.max(0, text.toLowerCase().indexOf(word));
  const from = at < EXCERPT / 3 ? 0 : text.lastIndexOf(" ", at - EXCERPT / 3) + 1;
  const space = text.indexOf(" ", from + EXCERPT);
  const cut = text.slice(from, space < 0 ? undefined : space);
  return `${from > 0 ? "… " : ""}${cut}${space < 0 ? "" : " …"}`;
}
