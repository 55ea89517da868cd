/** The code of a run in the languages that callers write, made from what the form holds. */
import type { CreateRunBody } from "@promptd/contract";

export const LANGUAGES = [
  { value: "curl", label: "curl" },
  { value: "typescript", label: "TypeScript" },
  { value: "python", label: "Python" },
  { value: "cli", label: "CLI" },
] as const;
export type Language = (typeof LANGUAGES)[number]["value"];

export function runCode(language: Language, body: CreateRunBody, baseUrl: string): string {
  return WRITERS[language](body, baseUrl);
}

type Write = (body: CreateRunBody, baseUrl: string) => string;

const WRITERS: Readonly<Record<Language, Write>> = {
  curl: (body, baseUrl) =>
    [
      `curl -s ${baseUrl}/v1/runs \\`,
      '  -H "Authorization: Bearer $PROMPTD_API_KEY" \\',
      '  -H "Content-Type: application/json" \\',
      `  -d ${shellText(jsonOf(body))}`,
    ].join("\n"),
  typescript: (body, baseUrl) =>
    [
      'import { createClient } from "@promptd/client";',
      "",
      `const promptd = createClient({ baseUrl: ${JSON.stringify(baseUrl)}, apiKey: process.env.PROMPTD_API_KEY ?? "" });`,
      `const run = await promptd.runs.createAndWait(${jsonOf(body)});`,
      "console.log(run.runStatus, run.outputs);",
    ].join("\n"),
  python: (body, baseUrl) =>
    [
      "import json, os, urllib.request",
      "",
      `body = json.loads(${pythonText(jsonOf(body))})`,
      "request = urllib.request.Request(",
      `    ${JSON.stringify(`${baseUrl}/v1/runs`)},`,
      "    data=json.dumps(body).encode(),",
      '    headers={"Authorization": "Bearer " + os.environ["PROMPTD_API_KEY"], "Content-Type": "application/json"},',
      ")",
      "with urllib.request.urlopen(request) as answer:",
      '    print(json.load(answer)["data"])',
    ].join("\n"),
  cli: cliCode,
};

function cliCode({ promptVersionId, inputs, runOptions }: CreateRunBody, baseUrl: string): string {
  const texts = Object.entries(inputs.textInputs ?? {}).map(
    ([name, text]) => `--input ${shellText(`${name}=${text}`)}`,
  );
  const images = (inputs.imageInputs ?? []).map(
    (image) => `--image ${image.type === "url" ? shellText(image.url) : "photo.jpg"}`,
  );
  const options = Object.entries(runOptions ?? {}).map(([key, value]) => `--option ${shellText(`${key}=${value}`)}`);
  const flags = [...texts, ...images, ...options];
  const command = `npx promptd run ${promptVersionId}`;
  return [`export PROMPTD_URL=${baseUrl}`, [command, ...flags].join(" \\\n  ")].join("\n");
}

const BASE64_SHOWN_MAX = 64;

/** An image from the form is shown as the place of one: a page of Base64 helps nobody. */
function jsonOf({ promptVersionId, inputs, runOptions }: CreateRunBody): string {
  const images = (inputs.imageInputs ?? []).map((image) =>
    image.type === "base64" && image.base64.length > BASE64_SHOWN_MAX
      ? { type: "base64", base64: "BASE64_OF_YOUR_IMAGE" }
      : image,
  );
  const shown = {
    promptVersionId,
    inputs: {
      ...(Object.keys(inputs.textInputs ?? {}).length === 0 ? {} : { textInputs: inputs.textInputs }),
      ...(images.length === 0 ? {} : { imageInputs: images }),
    },
    ...(Object.keys(runOptions ?? {}).length === 0 ? {} : { runOptions }),
  };
  return JSON.stringify(shown, null, 2);
}

/** One argument of a POSIX shell. */
function shellText(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A string literal of JSON is one of Python, escapes and all. */
function pythonText(text: string): string {
  return text.includes("\\") || text.includes('"""') ? JSON.stringify(text) : `"""${text}"""`;
}
