import type { Catalogue } from "../../models/index.ts";
import { runAtOnce, type SlicedWork } from "../../platform/time-slice.ts";
import { readPromptFile, type WrittenPrompt } from "../format/prompt-file.ts";
import type { PromptSource } from "../prompt-definition.ts";
import { FaultList, PromptFileError, type PromptFault } from "../prompt-fault.ts";
import { tryModel } from "./bind-roles.ts";
import { joinSlug } from "./prompt-slug.ts";
import { RENDERINGS_WORK_MAX, resolvePrompt } from "./resolve-prompt.ts";

const CREDITS_MAX_DEFAULT = 10_000;

/**
 * Parses the text of a file into prompts that can be published.
 * @throws PromptFileError with every fault of the file.
 */
export function parsePromptFile(text: string, catalogue: Catalogue, limits: PromptLimits = {}): PromptSource[] {
  return runAtOnce(parseInSlices(text, catalogue, limits));
}

/** The same on a server, where a large file would block all other work for a second. */
export function* parseInSlices(text: string, catalogue: Catalogue, limits: PromptLimits): SlicedWork<PromptSource[]> {
  const { sources, faults } = yield* readPrompts(text, catalogue, limits);
  if (faults.length > 0) throw new PromptFileError(faults);
  return [...sources];
}

/** Finds the prompt with this title or slug, or the only prompt if no name is given; null: none, or more than one. */
export function findPromptOf(sources: readonly PromptSource[], name: string | null): PromptSource | null {
  const found = name === null ? sources : sources.filter(({ title, slug }) => title === name || slug === name);
  const [source = null, ...others] = found;
  return others.length === 0 ? source : null;
}

export function titlesOf(sources: readonly PromptSource[]): string {
  return sources.map(({ title }) => `"${title}"`).join(", ");
}

export interface PromptLimits {
  /** The most credits that one run may hold. */
  readonly holdMaxCredits?: number;
  /** False: the caller does not need the warnings, so the price range of roles is not computed. */
  readonly isDescribed?: boolean;
  /** Replaces the model in the file. */
  readonly model?: string;
}

interface ReadPrompts {
  readonly sources: readonly PromptSource[];
  readonly faults: readonly PromptFault[];
}

/**
 * Reads every prompt of a file that has no faults, and all faults of the others. The prompts can be published if no
 * faults were found.
 */
export function* readPrompts(
  text: string,
  catalogue: Catalogue,
  { holdMaxCredits = CREDITS_MAX_DEFAULT, isDescribed = true, model }: PromptLimits = {},
): SlicedWork<ReadPrompts> {
  const faults = new FaultList();
  const options = { catalogue, holdMaxCredits, isDescribed, file: { workLeft: RENDERINGS_WORK_MAX } };
  const resolved: { readonly source: PromptSource; readonly written: WrittenPrompt }[] = [];
  for (const written of yield* readPromptFile(text, faults)) {
    if (faults.isFull) break;
    const raw = model === undefined ? written.raw : tryModel(written.raw, model, catalogue);
    const source = yield* resolvePrompt(raw, written.faults, options);
    if (source !== null) resolved.push({ source, written });
  }
  checkDuplicates(resolved);
  const sources = withOwnSlugs(resolved.map(({ source }) => source));
  return {
    sources: sources.length === 1 ? sources.map((source) => ({ ...source, text })) : sources,
    faults: faults.faults,
  };
}

/** One file never makes two versions of one prompt: an id or an explicit slug may appear in it only once. */
function checkDuplicates(resolved: readonly { source: PromptSource; written: WrittenPrompt }[]): void {
  const seen = new Set<string>();
  for (const { source, written } of resolved) {
    const names = { id: source.promptId, slug: source.slugGiven ? source.slug : null };
    for (const [name, value] of Object.entries(names)) {
      if (value === null) continue;
      const key = `${name} ${value}`;
      const message = `"${source.title}": another prompt in this file has the same ${name}`;
      if (seen.has(key)) written.faults.addField(written.raw.lineOf(name), name, message);
      seen.add(key);
    }
  }
}

/** Adds numbers to slugs made from equal titles. */
function withOwnSlugs(sources: readonly PromptSource[]): PromptSource[] {
  const slugs = new Set(sources.filter((source) => source.slugGiven).map((source) => source.slug));
  const numbers = new Map<string, number>();
  return sources.map((source) => {
    if (source.slugGiven) return source;
    let { slug } = source;
    let number = numbers.get(slug) ?? 2;
    for (; slugs.has(slug); number += 1) slug = joinSlug(source.slug, number);
    numbers.set(source.slug, number);
    slugs.add(slug);
    return { ...source, slug };
  });
}
