/** SQL of what authors show of their prompts (migration 0032). */
import type { OutputItem, PromptSamples } from "@promptd/contract";
import type { PromptSample } from "@promptd/contract/manage";
import { isoTime } from "../../platform/clock.ts";
import type { Queryable, Tx } from "../../platform/database/database.ts";

/** Where pages find the picture of this file. */
export type SampleUrl = (fileId: string) => string;

/** What is public of it. */
export interface TakenSample {
  readonly textInputs: Readonly<Record<string, string>>;
  readonly text: string | null;
  readonly fileId: string | null;
}

export interface NewSample extends TakenSample {
  readonly promptId: string;
  readonly runId: string;
}

/** Of prompts p, for statements of other files: null where its author has taken none. */
export const TAKEN = `(select json_build_object('textInputs', s.text_inputs, 'text', s.output_text, 'fileId', s.file_id)
    from prompt_samples s where s.prompt_id = p.id) as taken`;

/** Ends what the file of a picture is stored for. */
export type ReleaseSample = (tx: Tx, fileId: string) => Promise<void>;

/** In place of the one before, whose picture goes. */
export async function saveSample(
  tx: Tx,
  { promptId, runId, textInputs, text, fileId }: NewSample,
  release: ReleaseSample,
): Promise<void> {
  await deleteSample(tx, promptId, release);
  await tx.query(
    `insert into prompt_samples (prompt_id, run_id, text_inputs, output_text, file_id) values ($1, $2, $3, $4, $5)`,
    [promptId, runId, JSON.stringify(textInputs), text, fileId],
  );
}

/** The row of the prompt is locked: of two at once the second finds what the first has saved. */
export async function deleteSample(tx: Tx, promptId: string, release: ReleaseSample): Promise<void> {
  await tx.query("select 1 from prompts where id = $1 for no key update", [promptId]);
  const rows = await tx.query<{ file_id: string | null }>(
    "delete from prompt_samples where prompt_id = $1 returning file_id",
    [promptId],
  );
  for (const { file_id: fileId } of rows) if (fileId !== null) await release(tx, fileId);
}

export async function findSample(db: Queryable, promptId: string, urlOf: SampleUrl): Promise<PromptSample | null> {
  const [row] = await db.query<TakenSample & { runId: string; takenAt: Date }>(
    `select run_id as "runId", taken_at as "takenAt", text_inputs as "textInputs", output_text as text, file_id as "fileId"
     from prompt_samples where prompt_id = $1`,
    [promptId],
  );
  if (row === undefined) return null;
  const { runId, takenAt, textInputs } = row;
  return { runId, takenAt: isoTime(takenAt.getTime()), textInputs, output: outputOf(row, urlOf) };
}

/** As callers see it. The images that went in are not shown: their files expire with the run. */
export function publicSample(taken: TakenSample, urlOf: SampleUrl): PromptSamples {
  return { inputs: { textInputs: taken.textInputs, imageInputs: [] }, outputs: [outputOf(taken, urlOf)] };
}

function outputOf({ text, fileId }: TakenSample, urlOf: SampleUrl): OutputItem {
  return fileId === null ? { type: "text", data: text ?? "" } : { type: "image", data: urlOf(fileId) };
}
