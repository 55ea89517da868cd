import { countOf } from "@promptd/contract";
import type { OutputItem, Run, RunListRow } from "@promptd/contract";
import { printable, printableLine } from "./printable.ts";

/** Aligns columns with two spaces between them. The last column is not padded. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Says each distinct warning once: thousands of prompts often share one. */
export function describeSaid(
  kind: string,
  said: readonly { readonly file: string; readonly text: string }[],
): string[] {
  return [...Map.groupBy(said, ({ text }) => text)].map(([text, [first, ...others]]) => {
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    return `${kind}: ${printableLine(first?.file ?? "")}${more}: ${text}`;
  });
}

/** Formats a finished run for a person: only its outputs. Everything else is in the JSON document. */
export function formatRun(run: Run): string {
  if (run.outputs.length === 0) return `${run.runId} is ${run.runStatus}.`;
  return run.outputs.map(formatOutput).join("\n\n");
}

function formatOutput(item: OutputItem): string {
  return item.type === "error" ? `Error: ${printable(item.data)}` : printable(item.data);
}

export function formatRunRows(rows: readonly RunListRow[]): string {
  if (rows.length === 0) return "No runs.";
  const hasBatch = rows.some(({ batch }) => batch != null);
  const header = ["RUN", "STATUS", "CREDITS", "CREATED", ...(hasBatch ? ["BATCH"] : []), "NAME"];
  return formatTable([header, ...rows.map((row) => formatRunRow(row, hasBatch))]);
}

function formatRunRow(row: RunListRow, hasBatch: boolean): string[] {
  const isEnded = row.runStatus === "succeeded" || row.runStatus === "failed";
  const credits = row.credits === null || (isEnded && row.credits === 0) ? "free" : isEnded ? String(row.credits) : "";
  const createdAt = row.createdAt.slice(0, 19).replace("T", " ");
  const batch = hasBatch ? [nameOfBatch(row)] : [];
  return [row.runId, row.runStatus, credits, createdAt, ...batch, printableLine(row.runName)];
}

const BATCH_LENGTH_MAX = 24;

/** Falls back to the batch's full id when it has no name, because commands need the full id. */
function nameOfBatch({ batch }: RunListRow): string {
  if (batch?.name == null) return batch?.batchId ?? "";
  const name = printableLine(batch.name);
  return name.length <= BATCH_LENGTH_MAX ? name : `${name.slice(0, BATCH_LENGTH_MAX - 1)}…`;
}

export function formatCredits(credits: number): string {
  return credits === 0 ? "free" : countOf(credits, "credit");
}

/** What a run of a prompt costs, before anyone has run it. */
export function formatPromptPrice({ typical, most }: { readonly typical: number; readonly most: number }): string {
  return most === 0 ? "free" : `about ${formatCredits(typical)}, at most ${most}`;
}

/** Marks a prompt that no AI model answers; null for a prompt with a real model. */
export function sandboxMark(model: string): string | null {
  return model.startsWith("sandbox/") ? "sandbox: not an AI model" : null;
}
