/** Describes a run's outputs as the content of a tool result: texts, images, and links to large files. */
import { countOf } from "@promptd/contract";
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import type { OutputItem, PromptConfig, Run } from "@promptd/contract";
import type { McpSource } from "../source.ts";

/** Larger images are sent as links: clients reject results of several megabytes. */
const IMAGE_BYTES_MAX = 1024 * 1024;
const IMAGES_BYTES_MAX = 3 * 1024 * 1024;

export interface RunResult {
  readonly run: Run;
  /** Null: not known here. */
  readonly output: PromptConfig["output"] | null;
}

export async function describeRun(
  { run, output }: RunResult,
  source: McpSource,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const { runId, runStatus, outputs, tokens } = run;
  if (runStatus === "failed") return runFailure(run);
  if (runStatus !== "succeeded") {
    return textResult(`The run ${runId} is ${runStatus}. Call get_run to check again.`);
  }
  const blocks: ContentBlock[] = [];
  let spareBytes = IMAGES_BYTES_MAX;
  for (const item of outputs) {
    const made = await describeOutput(item, { source, signal, spareBytes });
    spareBytes -= made.bytes;
    blocks.push(...made.blocks);
  }
  const cost = tokens === 0 ? "free" : countOf(tokens, "credit");
  blocks.push({ type: "text", text: `Run ${runId}, ${cost}.` });
  const structured = output?.schema === undefined ? undefined : readJson(outputs);
  return { content: blocks, ...(structured === undefined ? {} : { structuredContent: structured }) };
}

/** A failed run costs nothing. */
function runFailure({ runId, outputs }: Run): CallToolResult {
  const reasons = outputs.filter(({ type }) => type === "error").map(({ data }) => data);
  const reason = reasons.length === 0 ? "It reported no reason." : reasons.join(" ");
  return errorResult(`The run ${runId} failed and costs nothing. ${reason}`);
}

export function textResult(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}

export function errorResult(text: string): CallToolResult {
  return { ...textResult(text), isError: true };
}

interface Describing {
  readonly source: McpSource;
  readonly signal: AbortSignal;
  /** How many image bytes may still be sent. */
  readonly spareBytes: number;
}

interface Described {
  readonly blocks: readonly ContentBlock[];
  readonly bytes: number;
}

async function describeOutput(item: OutputItem, { source, signal, spareBytes }: Describing): Promise<Described> {
  if (item.type === "text") return { blocks: [{ type: "text", text: item.data }], bytes: 0 };
  if (item.type === "error") return { blocks: [{ type: "text", text: `One output failed: ${item.data}` }], bytes: 0 };
  const link = { type: "text", text: `The ${item.type}, available for 24 hours: ${item.data}` } as const;
  if (item.type === "video") return { blocks: [linkTo(item.data, "video/mp4"), link], bytes: 0 };
  const image = await loadImage(item.data, { source, signal, spareBytes });
  if (image === null) return { blocks: [linkTo(item.data, undefined), link], bytes: 0 };
  const { bytes, mimeType } = image;
  return {
    blocks: [{ type: "image", data: bytes.toString("base64"), mimeType }, link],
    bytes: bytes.length,
  };
}

function linkTo(uri: string, mimeType: string | undefined): ContentBlock {
  return { type: "resource_link", uri, name: fileName(uri), ...(mimeType === undefined ? {} : { mimeType }) };
}

/** Not decoded if its percent-encoding is invalid: any server may have created the URL. */
export function fileName(uri: string): string {
  const name = new URL(uri).pathname.split("/").at(-1) || "file";
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Null: the image is too large to send or could not be read; the result links to it. */
async function loadImage(
  url: string,
  { source, signal, spareBytes }: Describing,
): Promise<{ readonly bytes: Buffer; readonly mimeType: string } | null> {
  const bytesMax = Math.min(IMAGE_BYTES_MAX, spareBytes);
  try {
    const response = await source.fetchFile(url, signal);
    const mimeType = response.headers.get("content-type")?.split(";")[0] ?? "";
    const bytes = Number(response.headers.get("content-length") ?? Number.POSITIVE_INFINITY);
    if (response.ok && mimeType.startsWith("image/") && bytes <= bytesMax) {
      return { bytes: Buffer.from(await response.arrayBuffer()), mimeType };
    }
    await response.body?.cancel();
    return null;
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

/** Parses the last text output as the JSON that its prompt declares; undefined if it is not JSON. */
function readJson(outputs: readonly OutputItem[]): unknown {
  const text = outputs.findLast(({ type }) => type === "text")?.data;
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the text itself is in the content
  }
}
