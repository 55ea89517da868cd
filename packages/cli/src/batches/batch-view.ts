import type { Batch } from "@promptd/contract";
import type { CommandIo } from "../command.ts";
import { formatCredits, formatTable } from "../output.ts";
import { printableLine } from "../printable.ts";
import { createStatusLine } from "../terminal/status-line.ts";

/** Shows a batch's progress to a person. */
export interface BatchView {
  see(batch: Batch): void;
  /** Stops drawing. */
  stop(): void;
}

export function createBatchView(io: CommandIo): BatchView {
  const line = createStatusLine(io);
  let pausedFor: string | null = null;
  let isAnnounced = false;
  return {
    see: (batch) => {
      if (!io.terminal.isError && !isAnnounced) io.note(`Waiting for the batch ${batch.batchId}`);
      isAnnounced = true;
      const reason = batch.pause?.message ?? null;
      if (reason !== null && reason !== pausedFor) {
        line.clear();
        io.note(formatPause(batch));
      }
      pausedFor = reason;
      if (batch.finishedAt === null) line.show(`${formatProgress(batch)}  Ctrl-C stops waiting, not the batch`);
      else line.clear();
    },
    stop: () => line.clear(),
  };
}

/** Such as "1,190 of 5,000 done, 6 failed, 25 in progress". */
function formatProgress({ batchStatus, counts, credits, finishedAt }: Batch): string {
  const { total, queued, running, succeeded, failed, canceled } = counts;
  const number = (count: number) => count.toLocaleString("en-US");
  const parts = [
    `${number(succeeded + failed + canceled)} of ${number(total)} done`,
    ...(failed === 0 ? [] : [`${number(failed)} failed`]),
    ...(canceled === 0 ? [] : [`${number(canceled)} canceled`]),
    ...(queued + running === 0 ? [] : [`${number(queued + running)} in progress`]),
    ...(credits === 0 && finishedAt === null ? [] : [formatCredits(credits)]),
  ];
  return `${batchStatus}  ${parts.join(", ")}`;
}

export function formatBatch(batch: Batch): string {
  const { batchId, name, pause, createdAt } = batch;
  const lines = [
    `${batchId}  ${formatProgress(batch)}`,
    ...(pause === null ? [] : [formatPause(batch)]),
    `Created ${createdAt.slice(0, 19).replace("T", " ")}${name === null ? "" : ` from ${printableLine(name)}`}`,
  ];
  return lines.join("\n");
}

/** Says why the batch is paused, and whether anyone has to resume it. */
function formatPause({ batchId, pause }: Batch): string {
  const next =
    pause?.reason === "KEY_NOT_VALID"
      ? `To continue with another key: promptd batches resume ${batchId}`
      : "It resumes by itself when that changes.";
  return `Paused: ${printableLine(pause?.message ?? "")}\n${next}`;
}

export function formatBatchRows(rows: readonly Batch[]): string {
  if (rows.length === 0) return "No batches.";
  const head = ["BATCH", "STATUS", "DONE", "FAILED", "OF", "CREDITS", "CREATED", "NAME"];
  const cells = rows.map(({ batchId, batchStatus, counts, credits, createdAt, name }) => [
    batchId,
    batchStatus,
    String(counts.succeeded + counts.failed + counts.canceled),
    String(counts.failed),
    String(counts.total),
    String(credits),
    createdAt.slice(0, 19).replace("T", " "),
    printableLine(name ?? ""),
  ]);
  return formatTable([head, ...cells]);
}
