/** SQL for the samples that authors choose for their prompts (migrations 0032 and 0033). */
import type { OutputItem, PromptSamples } from "@promptd/contract";
import type { PromptSample } from "@promptd/contract/manage";
import { isoTime } from "../../platform/clock.ts";
import type { SampleFile } from "../../files/index.ts";
import type { Queryable, Tx } from "../../platform/database/database.ts";

/** The URL of a sample's file, for pages. */
export type SampleUrl = (file: SampleFile) => string;

/** The public part of a sample. */
export interface TakenSample {
  readonly textInputs: Readonly<Record<string, string>>;
  readonly text: string | null;
  readonly fileId: string | null;
  /** The file's media type. */
  readonly mediaType: SampleFile["mediaType"];
}

export interface NewSample extends Pick<TakenSample, "textInputs" | "text"> {
  readonly promptId: string;
  readonly runId: string;
  /** Null: it is a text. */
  readonly file: SampleFile | null;
}

/** A column for queries of prompts `p`: the chosen sample, or null if the author has chosen none. */
export const TAKEN = `(select json_build_object('textInputs', s.text_inputs, 'text', s.output_text, 'fileId', s.file_id,
      'mediaType', s.media_type)
    from prompt_samples s where s.prompt_id = p.id) as taken`;

/** Releases a sample's file, which nothing else needs. */
export type ReleaseSample = (tx: Tx, fileId: string) => Promise<void>;

/** Replaces the prompt's sample and releases the old one's file. */
export async function saveSample(
  tx: Tx,
  { promptId, runId, textInputs, text, file }: NewSample,
  release: ReleaseSample,
): Promise<void> {
  await deleteSample(tx, promptId, release);
  await tx.query(
    `insert into prompt_samples (prompt_id, run_id, text_inputs, output_text, file_id, media_type)
     values ($1, $2, $3, $4, $5, coalesce($6, 'image/webp'))`,
    [promptId, runId, JSON.stringify(textInputs), text, file?.fileId ?? null, file?.mediaType ?? null],
  );
}

/** Locks the prompt's row, so that of two concurrent calls the second sees what the first saved. */
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
    `select run_id as "runId", taken_at as "takenAt", text_inputs as "textInputs", output_text as text, file_id as "fileId", media_type as "mediaType"
     from prompt_samples where prompt_id = $1`,
    [promptId],
  );
  if (row === undefined) return null;
  const { runId, takenAt, textInputs } = row;
  return { runId, takenAt: isoTime(takenAt.getTime()), textInputs, output: outputOf(row, urlOf) };
}

/** The sample as callers see it. Input images are not shown, since their files expire with the run. */
export function publicSample(taken: TakenSample, urlOf: SampleUrl): PromptSamples {
  return { inputs: { textInputs: taken.textInputs, imageInputs: [] }, outputs: [outputOf(taken, urlOf)] };
}

function outputOf({ text, fileId, mediaType }: TakenSample, urlOf: SampleUrl): OutputItem {
  if (fileId === null) return { type: "text", data: text ?? "" };
  return { type: mediaType.startsWith("video/") ? "video" : "image", data: urlOf({ fileId, mediaType }) };
}
