/** Test runs of a draft: what they execute, and whether the result is what a test of the draft expects. */
import type { OutputItem } from "@promptd/contract";
import type { TestRunResult } from "@promptd/contract/manage";
import type { Database } from "../../platform/database/database.ts";
import { invalid, notFound } from "../../platform/problem.ts";
import { compareText, NO_TEXT } from "../authoring/expectations.ts";
import type { PromptTest } from "../prompt-definition.ts";
import { takenBy } from "../checks/bind-roles.ts";
import { readPrompts } from "../checks/parse-prompt-file.ts";
import { readInOrder } from "./read-in-order.ts";
import { findVersion, type LivePrompt } from "../version-cache.ts";
import { freezeDraft, type Author, type DraftOptions } from "./drafts.ts";
import { findFrozenVersion } from "./drafts-store.ts";

export interface TestRequest {
  readonly promptId: string;
  readonly revision: number;
  /** Name of a test or sample in the draft; null: none. */
  readonly test: string | null;
  /** Replaces the draft's own model; null: it does not. */
  readonly model: string | null;
  readonly runOptions: Readonly<Record<string, string>>;
}

/**
 * @returns the test's run options with the requested ones; options that another model does not accept are left out.
 * @throws Problem NOT_FOUND_ERROR; VALIDATION_ERROR for faults in the draft, another revision, or an unknown test.
 */
export async function freezeTest(author: Author, request: TestRequest, options: DraftOptions) {
  const { promptVersionId, source } = await freezeDraft(author, request, options);
  const { model } = request;
  const test = source.tests.find(({ name }) => name === request.test) ?? null;
  if (test === null && request.test !== null) {
    throw unknownTest(
      ["body", "test"],
      source.tests.map(({ name }) => name),
    );
  }
  const requested = { ...test?.options, ...request.runOptions };
  const runOptions = model === null ? requested : takenBy(options.catalogue.find(model), requested);
  return { promptVersionId, test, runOptions };
}

function unknownTest(path: ["body" | "query", string], names: readonly string[]) {
  const known = names.length === 0 ? "It has no tests." : `Its tests: ${names.slice(0, 20).join(", ")}.`;
  return invalid([{ path, code: "invalid_value", message: `The draft has no test with this name. ${known}` }]);
}

/** Finds a frozen draft that the account may run; null: it is not a frozen draft, or belongs to another account. */
export async function findFrozen(db: Database, accountId: string, promptVersionId: string): Promise<LivePrompt | null> {
  const version = await findVersion(db, promptVersionId);
  return version?.authorId === accountId ? { version, terms: null } : null;
}

export interface RunToJudge {
  readonly accountId: string;
  readonly promptId: string;
  readonly promptVersionId: string;
  readonly isSucceeded: boolean;
  readonly outputs: readonly OutputItem[];
}

/**
 * Compares the last output of a run with a test of the draft as it was when the run was created, and returns the price.
 * @throws Problem NOT_FOUND_ERROR when the run is not a test run of this prompt; VALIDATION_ERROR for an unknown test.
 */
export async function judgeTest(
  run: RunToJudge & { readonly runId: string },
  name: string | null,
  { db, catalogue }: Pick<DraftOptions, "db" | "catalogue">,
): Promise<Omit<TestRunResult, "run">> {
  const { source = null, price } = (await findFrozenVersion(db, run)) ?? {};
  if (source === null || price === undefined) throw notFound("test run of this prompt", run.runId);
  if (name === null) return { price, test: null };
  const { sources } = await readInOrder(run.accountId, () => readPrompts(source, catalogue, { isDescribed: false }));
  const tests = sources[0]?.tests ?? [];
  const test = tests.find((each) => each.name === name);
  if (test === undefined)
    throw unknownTest(
      ["query", "test"],
      tests.map((each) => each.name),
    );
  const { judge = [] } = test.expect;
  const unchecked = judge.map((statement) => `judge: ${statement}`);
  const failures = await failuresOf(run, test);
  return { price, test: { name, passed: failures.length === 0, failures, unchecked } };
}

async function failuresOf({ accountId, isSucceeded, outputs }: RunToJudge, { expect }: PromptTest): Promise<string[]> {
  const last = outputs.at(-1);
  if (!isSucceeded) return outputs.filter(({ type }) => type === "error").map(({ data }) => data);
  if (last?.type === "text") return compareText(last.data, expect, { key: accountId });
  const isTextExpected = Object.keys(expect).some((kind) => kind !== "judge" && kind !== "judgeModel");
  return isTextExpected ? [NO_TEXT] : [];
}
