/**
 * Mutation test of the rules in database functions: for each change of one token, does a test fail twice? `npm run
 * mutate:sql` runs all groups. Arguments name groups, functions, or lines (`credit_hold_for:32`). Exits with 1 if a group
 * scores below 90%. --write stores the result of whole groups in bench/results/mutation.json. Mutants that no test can
 * distinguish are listed, with the reason, in mutate-sql/equivalent-mutants.json.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readSqlFunctions } from "./mutate-sql/sql-functions.ts";
import { findMutants, type Mutant } from "./mutate-sql/sql-mutants.ts";
import { codeOf } from "../packages/server/src/platform/reason-of.ts";
import { openTestRuns, type TestRuns } from "./mutate-sql/test-runs.ts";

const ROOT = join(import.meta.dirname, "..");
const SCORE_MIN = 0.9;

interface Group {
  readonly functions: readonly string[];
  /** The tests most likely to fail come first. */
  readonly files: readonly string[];
}
const GROUPS: Readonly<Record<string, Group>> = {
  limiter: {
    functions: ["take_from_ring", "admit_requests"],
    files: ["accounts/limiter-rules.test.ts", "accounts/limiter.test.ts", "accounts/limiter-flood.test.ts"],
  },
  ledger: {
    functions: [
      "credit_expired",
      "credit_grants_spend",
      "credit_back_holds",
      "credit_write_off",
      "credit_expire",
      "credit_grant",
      "credit_budget_left",
      "credit_budgets_repair",
      "credit_holds_record",
      "credit_hold_locked",
      "credit_hold_for",
      "credit_settle",
      "credit_earned",
      "credit_collect",
      "credit_uncollected",
      "credit_try_lock",
      "credits_available",
      "credit_adjust",
      "credit_freeze",
      "credit_unfreeze",
      "credit_is_frozen",
      "run_settle",
    ],
    files: [
      "credits/ledger-grants.test.ts",
      "credits/ledger-runs.test.ts",
      "credits/ledger-repairs.test.ts",
      "credits/ledger-earnings.test.ts",
      "credits/ledger-meetings.test.ts",
      "credits/ledger.test.ts",
      "runs/queue-claims.test.ts",
      "runs/queue-creates.test.ts",
      "runs/create-group.test.ts",
      "runs/key-caps.test.ts",
      "runs/queue-states.test.ts",
      "runs/queue-sweep.test.ts",
    ],
  },
};
/** Fewer random sequences than the test's default, so the score is a lower bound. */
const QUICK = { PROMPTD_TEST_LEDGER_SEQUENCES: "25", PROMPTD_TEST_BRIEF: "1" };

interface Equivalent {
  readonly function: string;
  readonly before: string;
  readonly after: string;
  readonly reason: string;
}

type Outcome = "killed" | "survived" | "equivalent" | "invalid";
interface Judged {
  readonly mutant: Mutant;
  readonly outcome: Outcome;
  readonly killer: string | null;
}

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const wanted = argv.filter((name) => !name.startsWith("--"));
  const isStored = argv.includes("--write");
  const parts = wanted.filter((name) => !(name in GROUPS));
  if (isStored && parts.length > 0) {
    console.error(
      `--write stores the score of whole groups (${Object.keys(GROUPS).join(", ")}), not of ${parts.join(", ")}.`,
    );
    return 2;
  }
  const functions = readSqlFunctions();
  const equivalents = readEquivalents();
  const runs = await openTestRuns(QUICK);
  const scores: Record<string, ReturnType<typeof summarise>> = {};
  try {
    for (const [name, group] of Object.entries(GROUPS)) {
      const isChosen = ({ function: { name: fn }, line }: Mutant) =>
        wanted.length === 0 || [name, fn, `${fn}:${line}`].some((one) => wanted.includes(one));
      const ofGroup = group.functions.flatMap((fn) => functions.filter((one) => one.name === fn));
      const mutants = ofGroup.flatMap(findMutants).filter(isChosen);
      if (mutants.length === 0) continue;
      const sound = await runs.firstFailure(group.files);
      if (sound !== null) throw new Error(`The tests fail without any change: ${sound}`);
      const judged: Judged[] = [];
      for (const [i, mutant] of mutants.entries()) {
        const one = await judge(runs, mutant, { files: group.files, equivalents });
        judged.push(one);
        report(one, `${i + 1}/${mutants.length}`);
      }
      scores[name] = summarise(judged);
      console.log(name, JSON.stringify({ ...scores[name], survivors: undefined }));
    }
  } finally {
    await runs.close();
  }
  if (isStored) store(scores);
  return Object.values(scores).every((score) => score.score >= SCORE_MIN) ? 0 : 1;
}

interface Judging {
  readonly files: readonly string[];
  readonly equivalents: readonly Equivalent[];
}

async function judge(runs: TestRuns, mutant: Mutant, { files, equivalents }: Judging): Promise<Judged> {
  const isEquivalent = equivalents.some(
    (one) => one.function === mutant.function.name && one.before === mutant.before && one.after === mutant.after,
  );
  if (isEquivalent) return { mutant, outcome: "equivalent", killer: null };
  try {
    await runs.apply(mutant.text);
  } catch (error) {
    if (!isNoFunction(error)) throw error;
    return { mutant, outcome: "invalid", killer: error.message };
  }
  try {
    const killer = await runs.firstFailure(files);
    return { mutant, outcome: killer === null ? "survived" : "killed", killer };
  } finally {
    await runs.apply(mutant.function.text);
  }
}

/** The database parsed and rejected the text: syntax error or access rule violation (class 42). */
function isNoFunction(error: unknown): error is Error {
  return codeOf(error)?.startsWith("42") === true;
}

function report({ mutant, outcome, killer }: Judged, position: string): void {
  const { before, after, line } = mutant;
  const location = `${mutant.function.file}:${line} ${mutant.function.name}`;
  if (outcome === "survived") console.log(`${position} SURVIVED ${location}\n  - ${before}\n  + ${after}`);
  else
    console.log(`${position} ${outcome} ${location}: ${after.slice(0, 80)}${killer === null ? "" : ` <- ${killer}`}`);
}

function summarise(judged: readonly Judged[]) {
  const count = (outcome: Outcome) => judged.filter((one) => one.outcome === outcome).length;
  const [killed, survived] = [count("killed"), count("survived")];
  return {
    killed,
    survived,
    equivalent: count("equivalent"),
    invalid: count("invalid"),
    score: killed + survived === 0 ? 1 : Math.round((1_000 * killed) / (killed + survived)) / 1_000,
    survivors: judged
      .filter((one) => one.outcome === "survived")
      .map(({ mutant }) => ({ function: mutant.function.name, before: mutant.before, after: mutant.after })),
  };
}

function readEquivalents(): Equivalent[] {
  const file = join(import.meta.dirname, "mutate-sql/equivalent-mutants.json");
  return JSON.parse(readFileSync(file, "utf8")) as Equivalent[];
}

function store(scores: Readonly<Record<string, unknown>>): void {
  const file = join(ROOT, "bench/results/mutation.json");
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as { sql?: object }) : {};
  const sql = { ...before.sql, ...scores };
  writeFileSync(file, `${JSON.stringify({ ...before, sqlAt: new Date().toISOString(), sql }, null, 2)}\n`);
}
