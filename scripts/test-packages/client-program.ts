/** A program that uses only the installed client, for any runtime. */

export interface ServerToUse {
  readonly url: string;
  readonly apiKey: string;
  readonly promptVersionId: string;
  readonly inputs: Readonly<Record<string, string>>;
}

interface Found {
  readonly promptVersionId: string;
  readonly inputs: Readonly<Record<string, string>>;
}

interface SearchRow {
  readonly promptVersionId: string;
  readonly configs: {
    readonly textInputs: Readonly<Record<string, { readonly required: boolean; readonly options: string[] | null }>>;
    readonly imageCount: number;
  };
}

/** A seed marketplace prompt that requires one image, with its other inputs. */
export async function findImagePrompt({ url, apiKey }: ServerToUse): Promise<Found> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const answer = await fetch(`${url}/v1/prompts/publish?q=photo`, { headers });
  const { data, message } = (await answer.json()) as { data: { rows: readonly SearchRow[] } | null; message?: string };
  if (data === null) throw new Error(message);
  const row = data.rows.find(({ configs }) => configs.imageCount === 1);
  if (row === undefined) throw new Error("The marketplace has no prompt with exactly one image input.");
  const required = Object.entries(row.configs.textInputs).filter(([, field]) => field.required);
  const inputs = Object.fromEntries(required.map(([key, { options }]) => [key, options?.[0] ?? "tea"]));
  return { promptVersionId: row.promptVersionId, inputs };
}

/** 1 x 1 pixel. */
export const PNG_BASE64 =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/** @param image a prompt with one image input; `pixel.png` is next to the program. */
export function clientProgram({ url, apiKey, promptVersionId, inputs }: ServerToUse, image: Found): string {
  return `
import { createClient, PromptdError } from "@promptd/client";
const client = createClient({ baseUrl: ${JSON.stringify(url)}, apiKey: ${JSON.stringify(apiKey)} });
const inputs = ${JSON.stringify(inputs)};
const plain = await client.run(${JSON.stringify(promptVersionId)}, { inputs });

// So slow that its text is read while it is written.
const [[name, value]] = Object.entries(inputs);
const slow = { ...inputs, [name]: value + "\\nsandbox: delay=1500 tokens=200\\n" };
const task = client.run(${JSON.stringify(promptVersionId)}, { inputs: slow });
const seen = new Set();
let streamed = "";
for await (const event of task) {
  seen.add(event.event);
  if (event.event === "text") streamed += event.data.text; // a preview, which need not reach the end
}
const { text } = await task;

const bytes = Uint8Array.from(atob(${JSON.stringify(PNG_BASE64)}), (letter) => letter.charCodeAt(0));
const sources = [bytes, bytes.buffer, new Blob([bytes], { type: "image/png" }), "pixel.png"];
const images = [];
for (const source of sources) {
  const run = await client.run(${JSON.stringify(image.promptVersionId)}, { inputs: ${JSON.stringify(image.inputs)}, images: [source] });
  images.push(run.runStatus);
}

const error = await client.run("no-such-prompt-here").catch((reason) => reason);
const refused = error instanceof PromptdError ? { code: error.code, hasRequestId: typeof error.requestId === "string" } : String(error);
const unreachable = createClient({ baseUrl: "http://127.0.0.1:1", apiKey: "pd_x", maxRetries: 0 });
const lost = await unreachable.me.get().catch((reason) => reason.name);
console.log(JSON.stringify({ plain: plain.runStatus, hasText: plain.text.length > 0, isStreamed: streamed.length > 0 && text.startsWith(streamed.trimEnd()), seen: [...seen], images, refused, lost }));
`;
}

/** @throws Error with the actual output when it differs from the expected one. */
export function expectOutcome(output: string): void {
  const { seen, ...outcome } = JSON.parse(output) as { readonly seen: readonly string[] };
  const wanted = {
    plain: "succeeded",
    hasText: true,
    isStreamed: true,
    images: ["succeeded", "succeeded", "succeeded", "succeeded"],
    refused: { code: "NOT_FOUND_ERROR", hasRequestId: true },
    lost: "PromptdConnectionError",
  };
  const isWhole = ["text", "output", "done"].every((kind) => seen.includes(kind));
  if (!isWhole || JSON.stringify(outcome) !== JSON.stringify(wanted)) throw new Error(output);
}
