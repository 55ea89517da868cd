/** The results of a batch's items, as JSON lines or CSV. */
import type { BatchResult, OutputItem } from "@promptd/contract";
import type { StreamAnswer } from "../../http/endpoint.ts";
import type { Database } from "../../platform/database/database.ts";
import { csvForm, JSON_LINES, streamLines } from "../read/stream-rows.ts";
import { listResults } from "./batch-results-store.ts";
import type { BatchOfAccount } from "./batches-store.ts";

const CSV = csvForm<BatchResult>(
  ["index", "key", "status", "runId", "credits", "text", "files", "error"],
  ({ index, key, status, runId, credits, outputs }) => {
    const files = [...dataOf(outputs, "image"), ...dataOf(outputs, "video")].join("\n");
    const text = dataOf(outputs, "text").join("\n\n");
    return [index, key, status, runId, credits, text, files, dataOf(outputs, "error").join("\n")];
  },
);
const PAGE = 200;
/** The outputs of a run may be megabytes. */
const PAGE_BYTES_MAX = 4 * 2 ** 20;

/** `accept`: the header as sent. `after`: the index of the last item that the caller has; -1: none. */
export function streamResults(
  db: Database,
  batch: BatchOfAccount,
  { accept, after }: { readonly accept: string | null; readonly after: number },
): StreamAnswer {
  const form = /\btext\/csv\b/i.test(accept ?? "") ? CSV : JSON_LINES;
  const next = (last: BatchResult | undefined) =>
    listResults(db, batch, { after: last?.index ?? after, limit: PAGE, bytesMax: PAGE_BYTES_MAX });
  return streamLines(form, next, { vary: "Accept" });
}

function dataOf(outputs: readonly OutputItem[], type: OutputItem["type"]): string[] {
  return outputs.filter((item) => item.type === type).map(({ data }) => data);
}
