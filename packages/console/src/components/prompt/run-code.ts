/** The code of a run in the languages that callers write, made from what the form holds. It works as it is copied. */
import { orderedInputs, type PromptConfig } from "@promptd/contract";
import type { ManagedRun } from "@promptd/contract/manage";
import { withoutTurning } from "../format.ts";
import { bodyOf, type FormImage, type FormState } from "./prompt-form.ts";

export const LANGUAGES = [
  { value: "curl", label: "curl" },
  { value: "typescript", label: "TypeScript" },
  { value: "python", label: "Python" },
  { value: "cli", label: "CLI" },
  { value: "mcp", label: "MCP" },
] as const;
export type Language = (typeof LANGUAGES)[number]["value"];

/** What the code does. */
export interface RunCall {
  readonly promptVersionId: string;
  readonly texts: Readonly<Record<string, string>>;
  readonly images: readonly CallImage[];
  readonly options: Readonly<Record<string, string>>;
}

/** An address, or a file beside the program: a page of Base64 in its place helps nobody. */
type CallImage = { readonly url: string } | { readonly file: string };

/** Where the code sends it, and whose key it needs. */
interface Target {
  readonly baseUrl: string;
  /** Null: not known. */
  readonly key: { readonly name: string; readonly display: string } | null;
}

export function runCode(language: Language, call: RunCall, { baseUrl, key }: Target): string {
  const sign = language === "typescript" ? "//" : "#";
  const notes = [...(NOTES[language] ?? []), ...keyNotes(baseUrl, key)].map((line) => `${sign} ${line}\n`);
  return notes.join("") + WRITERS[language](call, baseUrl);
}

/** No registry has our packages, where their names may become somebody else's: a checkout does. */
const NOTES: Partial<Record<Language, readonly string[]>> = {
  typescript: [
    "@promptd/client comes from a checkout of promptd. There:",
    "  npm ci && npm run pack:packages -- tarballs",
    "Then here, with the path of that checkout:",
    "  npm install CHECKOUT/tarballs/promptd-client-*.tgz",
  ],
  cli: ["In a checkout of promptd, after npm ci"],
};

/** A key is shown whole only once, so the code has its name and its display form, and says where another one is made. */
function keyNotes(baseUrl: string, key: Target["key"]): string[] {
  const which = key === null ? "" : `, here ${key.display}, “${withoutTurning(key.name).replaceAll(/\s+/g, " ")}”`;
  return [
    `Set your API key first${which}:`,
    "export PROMPTD_API_KEY=pd_…",
    `It is shown once, when it is created at ${baseUrl}/keys?new=1`,
  ];
}

/** What the form stands for, with something for each text and image that it still lacks, so that the code shows what it takes. */
export function callOfForm(promptVersionId: string, config: PromptConfig, form: FormState): RunCall {
  const { inputs, runOptions } = bodyOf(promptVersionId, config, form);
  const texts = { ...inputs.textInputs };
  for (const [name, { required }] of orderedInputs(config)) {
    if (required) texts[name] ??= `YOUR_${name.toUpperCase()}`;
  }
  return { promptVersionId, texts, images: form.images.map(imageOf), options: runOptions ?? {} };
}

/** The images of a run are not stored. */
export function callOfRun({ promptVersionId, inputs, runOptions }: ManagedRun): RunCall {
  const images = Array.from({ length: inputs.images }, (_, index) => imageOf(null, index));
  return { promptVersionId, texts: inputs.textInputs, images, options: runOptions };
}

function imageOf(image: FormImage | null, index: number): CallImage {
  if (image === null) return { file: index === 0 ? "photo.jpg" : `photo-${index + 1}.jpg` };
  return image.input.type === "url" ? { url: image.input.url } : { file: withoutTurning(image.name) };
}

type Write = (call: RunCall, baseUrl: string) => string;

const WRITERS: Readonly<Record<Language, Write>> = {
  curl: curlCode,
  typescript: typescriptCode,
  python: pythonCode,
  cli: cliCode,
  mcp: mcpCode,
};

/** The body is read from the input: an argument has room for 128 kB. curl leaves the line breaks of the Base64 out. */
function curlCode(call: RunCall, baseUrl: string): string {
  const hasFiles = call.images.some((image) => "file" in image);
  const body = bodyText(call, {
    text: hasFiles ? (text) => hereText(JSON.stringify(text)) : JSON.stringify,
    file: (name) => `{ "type": "base64", "base64": "$(base64 < ${shellWord(name)})" }`,
  });
  return [
    `curl -s ${baseUrl}/v1/runs \\`,
    '  -H "Authorization: Bearer $PROMPTD_API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d @- <<${hasFiles ? "JSON" : "'JSON'"}`,
    body,
    "JSON",
  ].join("\n");
}

function typescriptCode({ promptVersionId, texts, images, options }: RunCall, baseUrl: string): string {
  const sources = images.map((image) => ("url" in image ? image.url : image.file));
  const given = [
    ...(isEmpty(texts) ? [] : [`inputs: ${JSON.stringify(texts, null, 2)},`]),
    ...(sources.length === 0 ? [] : [`images: ${JSON.stringify(sources)},`]),
    ...(isEmpty(options) ? [] : [`options: ${JSON.stringify(options, null, 2)},`]),
  ];
  return [
    'import { createClient } from "@promptd/client";',
    "",
    `const promptd = createClient({ baseUrl: ${JSON.stringify(baseUrl)}, apiKey: process.env.PROMPTD_API_KEY ?? "" });`,
    `const run = await promptd.run(${JSON.stringify(promptVersionId)}, {`,
    ...given.map(indent),
    "});",
    "console.log(run.runStatus, run.outputs);",
  ].join("\n");
}

/** The standard library alone: our package for Python is in no registry either. */
function pythonCode(call: RunCall, baseUrl: string): string {
  const hasFiles = call.images.some((image) => "file" in image);
  const readsFiles = [
    "",
    "def image(path):",
    '    with open(path, "rb") as file:',
    '        return {"type": "base64", "base64": base64.b64encode(file.read()).decode()}',
  ];
  // A string literal of JSON is one of Python, escapes and all.
  const body = bodyText(call, { text: JSON.stringify, file: (name) => `image(${JSON.stringify(name)})` });
  return [
    `import ${hasFiles ? "base64, " : ""}json, os, urllib.request`,
    ...(hasFiles ? readsFiles : []),
    "",
    `body = ${body}`,
    "request = urllib.request.Request(",
    `    ${JSON.stringify(`${baseUrl}/v1/runs`)},`,
    "    data=json.dumps(body).encode(),",
    '    headers={"Authorization": "Bearer " + os.environ["PROMPTD_API_KEY"], "Content-Type": "application/json"},',
    ")",
    "with urllib.request.urlopen(request) as answer:",
    '    print(json.load(answer)["data"])',
  ].join("\n");
}

function cliCode({ promptVersionId, texts, images, options }: RunCall, baseUrl: string): string {
  const flags = [
    ...Object.entries(texts).map(([name, text]) => `--input ${shellText(`${name}=${text}`)}`),
    ...images.map((image) => `--image ${"url" in image ? shellText(image.url) : shellWord(image.file)}`),
    ...Object.entries(options).map(([key, value]) => `--option ${shellText(`${key}=${value}`)}`),
  ];
  return [`export PROMPTD_URL=${baseUrl}`, [`npx promptd run ${promptVersionId}`, ...flags].join(" \\\n  ")].join("\n");
}

/** How an agent gets the tools, and as a comment of that command what it calls one of them with. */
function mcpCode({ promptVersionId, texts, images, options }: RunCall, baseUrl: string): string {
  const addresses = images.map((image) => ("url" in image ? image.url : "https://example.org/photo.jpg"));
  const call = {
    prompt: promptVersionId,
    inputs: texts,
    ...(addresses.length === 0 ? {} : { images: addresses }),
    ...(isEmpty(options) ? {} : { options }),
  };
  return [
    `claude mcp add --transport http promptd ${baseUrl}/mcp \\`,
    '  --header "Authorization: Bearer $PROMPTD_API_KEY"',
    "",
    "# The tool run_prompt then takes:",
    JSON.stringify(call, null, 2).replaceAll(/^/gm, "# "),
  ].join("\n");
}

interface Notation {
  readonly text: (text: string) => string;
  readonly file: (name: string) => string;
}

/** The body of the request as JSON, in the notation of a language for texts and files. */
function bodyText({ promptVersionId, texts, images, options }: RunCall, { text, file }: Notation): string {
  const record = (values: RunCall["texts"]) =>
    isEmpty(values) ? null : objectText(Object.entries(values).map(([name, value]) => [text(name), text(value)]));
  const list = images.map((image) =>
    "url" in image ? `{ "type": "url", "url": ${text(image.url)} }` : file(image.file),
  );
  return objectText([
    ['"promptVersionId"', text(promptVersionId)],
    [
      '"inputs"',
      objectText([
        ['"textInputs"', record(texts)],
        ['"imageInputs"', list.length === 0 ? null : `[\n${list.map(indent).join(",\n")}\n]`],
      ]),
    ],
    ['"runOptions"', record(options)],
  ]);
}

/** Null: left out. */
function objectText(members: readonly (readonly [name: string, value: string | null])[]): string {
  const lines = members.flatMap(([name, value]) => (value === null ? [] : [indent(`${name}: ${value}`)]));
  return lines.length === 0 ? "{}" : `{\n${lines.join(",\n")}\n}`;
}

const indent = (text: string) => text.replaceAll(/^/gm, "  ");
const isEmpty = (values: Readonly<Record<string, string>>) => Object.keys(values).length === 0;

/** One argument of a POSIX shell. */
const shellText = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const shellWord = (text: string) => (/^\w[\w.-]*$/.test(text) ? text : shellText(text));
/** In a text of a POSIX shell that is read to a line of its own: only these letters mean something there. */
const hereText = (text: string) => text.replaceAll(/[\\$`]/g, "\\$&");
