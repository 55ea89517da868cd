/** The prompts and judged queries of the evaluation. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { SearchDocument } from "../../packages/server/src/search/index.ts";

export interface CorpusPrompt {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly variables: readonly string[];
  /** The template; present for some. Never indexed. */
  readonly text?: string;
}

export interface JudgedQuery {
  readonly qid: string;
  /** `lexical`, `typo`, `paraphrase`, `need`, or `foreign`, which fail in different ways. */
  readonly cls: string;
  readonly q: string;
  /** Prompt id -> grade 1 to 3. Other prompts are not relevant. */
  readonly rel: Readonly<Record<string, number>>;
  /** In the own set: `mend` queries may be examined one by one when a rule is fixed, `test` queries only as a total. */
  readonly half?: "mend" | "test";
}

/** The development judgments, judgments written later without them, short needs, and queries in five other languages. */
export const JUDGMENT_SETS = {
  dev: new URL("judgments.dev.json", import.meta.url),
  own: new URL("judgments.own.json", import.meta.url),
  need: new URL("judgments.need.json", import.meta.url),
  foreign: new URL("judgments.foreign.json", import.meta.url),
} as const;

export function readCorpus(): CorpusPrompt[] {
  return JSON.parse(
    gunzipSync(readFileSync(new URL("corpus.json.gz", import.meta.url))).toString("utf8"),
  ) as CorpusPrompt[];
}

export function readJudgments(file: string | URL = JUDGMENT_SETS.dev): JudgedQuery[] {
  return JSON.parse(readFileSync(file, "utf8")) as JudgedQuery[];
}

/** Corpus ids become prompt ids, so that judgments can be compared. */
export function documentOf(prompt: CorpusPrompt): SearchDocument {
  return {
    promptId: prompt.id,
    promptVersionId: prompt.id,
    title: prompt.title,
    description: prompt.description,
    tags: prompt.tags,
    inputNames: prompt.variables,
  };
}
