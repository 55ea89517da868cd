/**
 * Regenerates the judgments of this project's own queries: judgments.own.json from the handwritten queries in
 * judgments.own.rules.txt and from randomly misspelled title words (with a fixed seed), judgments.fresh.json from
 * judgments.fresh.rules.txt, and likewise for needs and foreign queries. None contains a query of the development set.
 *
 *   node --conditions=promptd-source bench/judge-queries.ts
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { readCorpus, readJudgments } from "./search/evaluation-data.ts";
import type { CorpusPrompt, JudgedQuery } from "./search/evaluation-data.ts";
import { createDraw, spoil } from "./search/spoil-words.ts";

const fileOf = (name: string) => new URL(`search/judgments.${name}`, import.meta.url);
const SPOILT_QUERIES = 60;
const SEED = 20_261_121;

const corpus = readCorpus();

function readRules(name: string): JudgedQuery[] {
  const lines = readFileSync(fileOf(`${name}.rules.txt`), "utf8").split("\n");
  return lines
    .filter((line) => line.trim() !== "" && !line.startsWith("#"))
    .map((line) => {
      const [cls = "", q = "", ...rest] = line.split(" | ");
      return judged(cls, q, gradeByTitle(rest.join(" | ")));
    });
}

/** `3: pattern ; 2: pattern`, highest grade first. */
function gradeByTitle(rule: string): Record<string, number> {
  const grades = rule.split(" ; ").map((part) => {
    const [, grade = "", pattern = ""] = /^\s*([123]): (.*)$/.exec(part) ?? [];
    return { grade: Number(grade), pattern: new RegExp(pattern, "i") };
  });
  const rel: Record<string, number> = {};
  for (const { id, title } of corpus) {
    const match = grades.find(({ pattern }) => pattern.test(title));
    if (match !== undefined) rel[id] = match.grade;
  }
  return rel;
}

/** Two or three title words, one or two misspelled. A prompt with all of the words is relevant, with half of them slightly. */
function spoilTitles(): JudgedQuery[] {
  const draw = createDraw(SEED);
  const made: JudgedQuery[] = [];
  while (made.length < SPOILT_QUERIES) {
    const prompt = corpus[Math.floor(draw() * corpus.length)];
    const words = prompt === undefined ? [] : plainWords(prompt.title);
    if (words.length < 2 || words.length > 6) continue;
    const start = Math.floor(draw() * (words.length - 1));
    const wanted = words.slice(start, start + (draw() < 0.5 ? 2 : 3));
    made.push(judged("typo", spoil(wanted, draw).join(" "), gradeByWords(wanted)));
  }
  return made;
}

const SMALL_WORDS = new Set("and for the with from into about your what that this".split(" "));

function plainWords(title: string): string[] {
  if (!/^[\x20-\x7e]+$/.test(title)) return [];
  const words = title.toLowerCase().match(/[a-z]{3,}/g) ?? [];
  return words.filter((word) => !SMALL_WORDS.has(word));
}

function gradeByWords(wanted: readonly string[]): Record<string, number> {
  const rel: Record<string, number> = {};
  const sharesOf = ({ title }: CorpusPrompt) => {
    const words = new Set(plainWords(title));
    return wanted.filter((word) => words.has(word)).length / wanted.length;
  };
  for (const prompt of corpus) {
    const share = sharesOf(prompt);
    if (share === 1) rel[prompt.id] = 3;
    else if (share > 0.5) rel[prompt.id] = 1;
  }
  return rel;
}

/** Splits by hash: rules may be fixed by looking at one half. The other half is never inspected query by query. */
function judged(cls: string, q: string, rel: Record<string, number>): JudgedQuery {
  const digest = createHash("sha256").update(q).digest();
  return {
    qid: `own-${digest.toString("hex").slice(0, 10)}`,
    cls,
    q,
    rel,
    half: digest.readUInt8(31) % 2 === 0 ? "mend" : "test",
  };
}

const developed = new Set(readJudgments().map(({ q }) => q.toLowerCase()));

function write(name: string, made: readonly JudgedQuery[]): void {
  const answered = made.filter(({ q, rel }) => Object.values(rel).includes(3) && !developed.has(q.toLowerCase()));
  const unique = [...new Map(answered.map((query) => [query.qid, query])).values()];
  writeFileSync(fileOf(`${name}.json`), `${JSON.stringify(unique, null, 1)}\n`);
  for (const cls of new Set(unique.map((query) => query.cls))) {
    const own = unique.filter((query) => query.cls === cls);
    console.log(name, cls, own.length, "of which to look at:", own.filter(({ half }) => half === "mend").length);
  }
}

write("own", [...readRules("own"), ...spoilTitles()]);
// Fresh queries are only evaluated in total.
write(
  "fresh",
  readRules("fresh").map((query) => ({ ...query, half: "test" as const })),
);
write("need", readRules("need"));
write("foreign", readRules("foreign"));
