import type { ManageHandlers } from "../http/endpoint.ts";
import { invalid, orNotFound } from "../platform/problem.ts";
import { freezeTest, judgeTest } from "../prompts/index.ts";
import { isFinal } from "./run-state.ts";
import { createRunOf, type RunsRoutesOptions } from "./runs-routes.ts";
import { findVersionOfRun, getRun } from "./runs-store.ts";

/**
 * Runs of drafts: durable, counted among the account's active runs like all others, and priced like an author's own
 * runs.
 */
export function testRunsManageRoutes(options: RunsRoutesOptions) {
  const { db, catalogue, newId, holdMaxCredits } = options;
  return {
    createTestRun: async ({ params: { promptId }, body }, context) => {
      const { caller } = context;
      const author = { accountId: caller.accountId, personId: caller.actor?.personId ?? null };
      const { revision, test: name = null, model = null, inputs } = body;
      const request = { promptId, revision, test: name, model, runOptions: body.runOptions ?? {} };
      const frozen = await freezeTest(author, request, { db, catalogue, newId, holdMaxCredits });
      const { promptVersionId, test, runOptions } = frozen;
      const textInputs = { ...test?.textInputs, ...inputs?.textInputs };
      const run = {
        promptVersionId,
        inputs: { textInputs, imageInputs: inputs?.imageInputs ?? imagesOf(test?.images ?? []) },
        runOptions,
      };
      return createRunOf(run, context, { ...options, isTest: true });
    },
    getTestRun: async ({ params: { promptId, runId }, query: { test = null } }, { caller: { accountId } }) => {
      const promptVersionId = orNotFound(
        await findVersionOfRun(db, accountId, runId),
        "test run of this prompt",
        runId,
      );
      const run = await getRun(db, accountId, runId);
      const { outputs, runStatus } = run;
      const isSucceeded = runStatus === "succeeded";
      const judged = { accountId, promptId, promptVersionId, runId, isSucceeded, outputs };
      const judgment = await judgeTest(judged, isFinal(runStatus) ? test : null, { db, catalogue });
      return { data: { run, ...judgment } };
    },
  } satisfies Partial<ManageHandlers>;
}

/** Accepts image addresses only; a path on the author's own disk means nothing on the server. */
function imagesOf(images: readonly string[]) {
  const unreachable = images.find((image) => !/^https?:\/\//i.test(image));
  if (unreachable === undefined) return images.map((url) => ({ type: "url" as const, url }));
  const message = `The test names the file ${unreachable}, which only "promptd prompt test" can read. Send the run's images with the request.`;
  throw invalid([{ path: ["body", "inputs", "imageInputs"], code: "required", message }]);
}
