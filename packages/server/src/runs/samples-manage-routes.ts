import type { ManageHandlers } from "../http/endpoint.ts";
import type { Samples } from "../files/index.ts";
import { invalid, notFound, type Problem } from "../platform/problem.ts";
import { deleteSample, findSample, requireOwnPrompt, saveSample } from "../prompts/index.ts";
import type { Database } from "../platform/database/database.ts";
import { findManagedRun } from "./read/managed-runs-store.ts";

/** Limit for reading, decoding, and storing one file; its author does not wait longer than that. */
const TAKE_MS_MAX = 30_000;
/** For inputs and output together, as much as a file's front matter: search shows them in each of its rows. */
const TEXTS_BYTES_MAX = 64 * 1_024;

/** Makes an author's run the sample of a prompt: it is public from then on, and stored with the prompt. */
export function samplesManageRoutes(db: Database, samples: Samples) {
  return {
    setPromptSample: async ({ params: { promptId }, body: { runId } }, { caller }) => {
      const { accountId } = caller;
      await requireOwnPrompt(db, accountId, promptId);
      const run = await findManagedRun(db, accountId, runId);
      if (run === null || run.promptId !== promptId.toLowerCase()) throw notFound("run of this prompt", runId);
      if (run.runStatus !== "succeeded")
        throw refused(`The run is ${run.runStatus}. A sample needs a run that succeeded.`);
      // In a prompt with several steps, the last step makes the result.
      const output = run.outputs.findLast(({ type }) => type !== "error");
      if (output === undefined) throw refused("The run produced nothing that can be shown. Choose another run.");
      const { textInputs } = run.inputs;
      const bytes = Buffer.byteLength(JSON.stringify([textInputs, output.type === "text" ? output.data : ""]));
      if (bytes > TEXTS_BYTES_MAX) throw refused(tooLong(bytes));
      const file = output.type === "text" ? null : await takeFile(samples, { url: output.data, accountId });
      await db.tx(async (tx) => {
        if (file !== null) await samples.record(tx, { accountId, runId: run.runId }, file);
        const text = file === null ? output.data : null;
        await saveSample(tx, { promptId, runId: run.runId, textInputs, text, file }, samples.release);
      });
      return { data: { sample: await findSample(db, promptId, samples.urlOf) } };
    },
    deletePromptSample: async ({ params: { promptId } }, { caller }) => {
      await requireOwnPrompt(db, caller.accountId, promptId);
      await db.tx((tx) => deleteSample(tx, promptId, samples.release));
      return { data: { sample: null } };
    },
  } satisfies Partial<ManageHandlers>;
}

async function takeFile(samples: Samples, file: Parameters<Samples["take"]>[0]) {
  const taken = await samples.take(file, AbortSignal.timeout(TAKE_MS_MAX));
  if (taken.kind === "refused") throw refused(taken.message);
  return taken;
}

function tooLong(bytes: number): string {
  const [has, may] = [bytes, TEXTS_BYTES_MAX].map((count) => count.toLocaleString("en-US"));
  return `The inputs and output of this run contain ${has} bytes of text. A sample may contain at most ${may}. Choose a run with shorter texts.`;
}

function refused(message: string): Problem {
  return invalid([{ path: ["body", "runId"], code: "invalid_value", message }]);
}
