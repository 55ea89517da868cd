/** The code of a run in the languages that callers write, made from what the form holds. */
import { orderedInputs, type CreateRunBody, type PromptConfig } from "@promptd/contract";

export const LANGUAGES = [
  { value: "curl", label: "curl" },
  { value: "typescript", label: "TypeScript" },
  { value: "python", label: "Python" },
  { value: "cli", label: "CLI" },
  { value: "mcp", label: "MCP" },
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
      `  -d ${shellText(jsonOf(body)).replaceAll("\n", "\n  ")}`,
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
  mcp: mcpCode,
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

/** How an agent gets the tools, and what it calls one of them with. */
function mcpCode({ promptVersionId, inputs, runOptions }: CreateRunBody, baseUrl: string): string {
  const images = (inputs.imageInputs ?? []).map((image) =>
    image.type === "url" ? image.url : "https://example.org/photo.jpg",
  );
  const call = {
    prompt: promptVersionId,
    inputs: inputs.textInputs ?? {},
    ...(images.length === 0 ? {} : { images }),
    ...(Object.keys(runOptions ?? {}).length === 0 ? {} : { options: runOptions }),
  };
  return [
    `claude mcp add --transport http promptd ${baseUrl}/mcp \\`,
    '  --header "Authorization: Bearer $PROMPTD_API_KEY"',
    "",
    "# The tool run_prompt then takes:",
    JSON.stringify(call, null, 2),
  ].join("\n");
}

const BASE64_EXAMPLE = "BASE64_OF_YOUR_IMAGE";

/** The body with something for each image and text that it cannot do without, so that the code shows what it takes. */
export function withExamples(body: CreateRunBody, config: PromptConfig): CreateRunBody {
  const textInputs = body.inputs.textInputs ?? {};
  const imageInputs = body.inputs.imageInputs ?? [];
  const missing = orderedInputs(config).filter(([name, field]) => field.required && textInputs[name] === undefined);
  const examples = Object.fromEntries(missing.map(([name]) => [name, `YOUR_${name.toUpperCase()}`]));
  const images = exampleImages(config.imageCount - imageInputs.length);
  const inputs = { textInputs: { ...textInputs, ...examples }, imageInputs: [...imageInputs, ...images] };
  return { ...body, inputs };
}

/** The places of images that are not at hand. */
export function exampleImages(count: number) {
  return Array.from({ length: Math.max(0, count) }, () => ({ type: "base64" as const, base64: BASE64_EXAMPLE }));
}

const BASE64_SHOWN_MAX = 64;

/** An image from the form is shown as the place of one: a page of Base64 helps nobody. */
function jsonOf({ promptVersionId, inputs, runOptions }: CreateRunBody): string {
  const images = (inputs.imageInputs ?? []).map((image) =>
    image.type === "base64" && image.base64.length > BASE64_SHOWN_MAX
      ? { type: "base64", base64: BASE64_EXAMPLE }
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
