/** The code blocks in the documentation. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../../../..");

export interface Block {
  readonly page: string;
  /** The line of the opening fence, from 1. */
  readonly line: number;
  /** The word after the fence; empty if there is none. */
  readonly language: string;
  readonly text: string;
}

export const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "packages/client/README.md",
  "python/README.md",
  ...globSync("docs/*.md", { cwd: ROOT }),
].toSorted();

export function readBlocks(page: string): Block[] {
  const blocks: Block[] = [];
  let open: {
    readonly line: number;
    readonly language: string;
    readonly indent: string;
    readonly lines: string[];
  } | null = null;
  for (const [at, line] of readFileSync(join(ROOT, page), "utf8").split("\n").entries()) {
    const fence = /^( *)```(.*)$/.exec(line);
    if (fence === null) {
      open?.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
    } else if (open === null) {
      open = { line: at + 1, language: fence[2]?.trim() ?? "", indent: fence[1] ?? "", lines: [] };
    } else {
      blocks.push({ page, line: open.line, language: open.language, text: `${open.lines.join("\n")}\n` });
      open = null;
    }
  }
  if (open !== null) throw new Error(`${page}:${open.line}: The code block has no end.`);
  return blocks;
}

/** Matches the line before a block that the page asks its reader to save. It names the file. */
export function readSavedFiles(page: string): readonly { readonly name: string; readonly text: string }[] {
  const found = readFileSync(join(ROOT, page), "utf8").matchAll(/^Save this as `([^`]+)`.*\n\n```.*\n([^]*?)^```$/gm);
  return [...found].map(([, name = "", text = ""]) => ({ name, text }));
}
