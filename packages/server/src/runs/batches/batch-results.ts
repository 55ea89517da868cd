/** What became of the items of a batch, as JSON lines or CSV, written while it is read. */
import type { BatchResult, OutputItem } from "@promptd/contract";
import { Readable } from "node:stream";
import type { StreamAnswer } from "../../http/endpoint.ts";
import type { Database } from "../../platform/database/database.ts";
import { toCsvLine } from "../usage/csv.ts";
import { listResults } from "./batch-results-store.ts";
import type { BatchOfAccount } from "./batches-store.ts";

interface Form {
  readonly mediaType: string;
  readonly head: string;
  readonly line: (result: BatchResult) => string;
}

const LINES: Form = {
  mediaType: "application/x-ndjson; charset=utf-8",
  head: "",
  line: (result) => `${JSON.stringify(result)}\n`,
};
const CSV: Form = {
  mediaType: "text/csv; charset=utf-8",
  head: toCsvLine(["index", "key", "status", "runId", "credits", "text", "files", "error"]),
  line: ({ index, key, status, runId, credits, outputs }) => {
    const files = [...dataOf(outputs, "image"), ...dataOf(outputs, "video")].join("\n");
    const text = dataOf(outputs, "text").join("\n\n");
    return toCsvLine([index, key, status, runId, credits, text, files, dataOf(outputs, "error").join("\n")]);
  },
};
const PAGE = 200;
/** Outputs of a run may be megabytes. */
const PAGE_BYTES_MAX = 4 * 2 ** 20;

/** `accept`: the header as it was sent. `after`: the index of the last item that the caller has; -1: none. */
export function streamResults(
  db: Database,
  batch: BatchOfAccount,
  { accept, after }: { readonly accept: string | null; readonly after: number },
): StreamAnswer {
  const form = /\btext\/csv\b/i.test(accept ?? "") ? CSV : LINES;
  const headers = { "content-type": form.mediaType, "cache-control": "no-store", vary: "Accept" };
  return { status: 200, headers, body: Readable.from(textOf(db, batch, { form, after }), { objectMode: false }) };
}

async function* textOf(
  db: Database,
  batch: BatchOfAccount,
  { form, after }: { readonly form: Form; readonly after: number },
): AsyncGenerator<string> {
  if (form.head !== "") yield form.head;
  const next = (last: number) => listResults(db, batch, { after: last, limit: PAGE, bytesMax: PAGE_BYTES_MAX });
  for (let page = await next(after); page.length > 0; page = await next(page.at(-1)?.index ?? after)) {
    yield page.map(form.line).join("");
  }
}

function dataOf(outputs: readonly OutputItem[], type: OutputItem["type"]): string[] {
  return outputs.filter((item) => item.type === type).map(({ data }) => data);
}
