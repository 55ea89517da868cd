/** Generates a run's code in each supported language from the form. The code works as copied. */
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

/** The call that the code makes. */
export interface RunCall {
  readonly promptVersionId: string;
  readonly texts: Readonly<Record<string, string>>;
  readonly images: readonly CallImage[];
  readonly options: Readonly<Record<string, string>>;
}

/** An address, or a file next to the program. Inline Base64 would make the code unreadable. */
type CallImage = { readonly url: string } | { readonly file: string };

/** Where the code sends the call, and the key it uses. */
interface Target {
  readonly baseUrl: string;
  /** Null when the key is not known. */
  readonly key: { readonly name: string; readonly display: string } | null;
}

export function runCode(language: Language, call: RunCall, { baseUrl, key }: Target): string {
  const sign = language === "typescript" ? "//" : "#";
  const notes = [...(NOTES[language] ?? []), ...keyNotes(baseUrl, key)].map((line) => `${sign} ${line}\n`);
  return notes.join("") + WRITERS[language](call, baseUrl);
}

/** Our packages are in no registry, where someone else might take their names. They come from a checkout. */
const NOTES: Partial<Record<Language, readonly string[]>> = {
  typescript: [
    "Build @promptd/client in a checkout of promptd:",
    "  npm ci && npm run pack:packages -- tarballs",
    "Then install it here, with the path to that checkout:",
    "  npm install CHECKOUT/tarballs/promptd-client-*.tgz",
  ],
  cli: ["Run this in a checkout of promptd, after npm ci"],
};

/** Full keys are shown only once, so the code names the key and its display form and says where to create another. */
function keyNotes(baseUrl: string, key: Target["key"]): string[] {
  const which = key === null ? "" : ` (${key.display}, “${withoutTurning(key.name).replaceAll(/\s+/g, " ")}”)`;
  return [
    `Set your API key first${which}:`,
    "export PROMPTD_API_KEY=pd_…",
    `A key is shown only once, when you create it at ${baseUrl}/keys?new=1`,
  ];
}

/** The form's call, with placeholders for missing texts and images so that the code shows every input. */
export function callOfForm(promptVersionId: string, config: PromptConfig, form: FormState): RunCall {
  const { inputs, runOptions } = bodyOf(promptVersionId, config, form);
  const texts = { ...inputs.textInputs };
  for (const [name, { required }] of orderedInputs(config)) {
    if (required) texts[name] ??= `YOUR_${name.toUpperCase()}`;
  }
  return { promptVersionId, texts, images: form.images.map(imageOf), options: runOptions ?? {} };
}

/** A run's input images are not stored, so placeholders stand in for them. */
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

/** Sends the body through standard input, since an argument holds only 128 kB. curl drops the line breaks in the Base64. */
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

/** Uses only the standard library, since our Python package is in no registry either. */
function pythonCode(call: RunCall, baseUrl: string): string {
  const hasFiles = call.images.some((image) => "file" in image);
  const readsFiles = [
    "",
    "def image(path):",
    '    with open(path, "rb") as file:',
    '        return {"type": "base64", "base64": base64.b64encode(file.read()).decode()}',
  ];
  // A JSON string literal is also a valid Python literal, including its escapes.
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

/** The command that gives an agent the tools, followed by a comment with the arguments of a tool call. */
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
    "# Then call the tool run_prompt with:",
    JSON.stringify(call, null, 2).replaceAll(/^/gm, "# "),
  ].join("\n");
}

interface Notation {
  readonly text: (text: string) => string;
  readonly file: (name: string) => string;
}

/** The request body as JSON, with texts and files written in a language's notation. */
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

/** Members whose value is null are omitted. */
function objectText(members: readonly (readonly [name: string, value: string | null])[]): string {
  const lines = members.flatMap(([name, value]) => (value === null ? [] : [indent(`${name}: ${value}`)]));
  return lines.length === 0 ? "{}" : `{\n${lines.join(",\n")}\n}`;
}

const indent = (text: string) => text.replaceAll(/^/gm, "  ");
const isEmpty = (values: Readonly<Record<string, string>>) => Object.keys(values).length === 0;

/** Quotes one POSIX shell argument. */
const shellText = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const shellWord = (text: string) => (/^\w[\w.-]*$/.test(text) ? text : shellText(text));
/** Escapes text for a POSIX here-document, where only these characters are special. */
const hereText = (text: string) => text.replaceAll(/[\\$`]/g, "\\$&");
