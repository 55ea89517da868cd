/** Prompt files that the wire tests publish, and helpers that make small ones. */

let made = 0;

/** A unique slug, so that two tests never publish versions of the same prompt by accident. */
function nextSlug(): string {
  made += 1;
  return `test-prompt-${made}`;
}

export interface PromptParts {
  readonly title?: string;
  readonly slug?: string;
  readonly description?: string;
  readonly model?: string;
  /** More lines of front matter. */
  readonly fields?: string;
  readonly body?: string;
}

/** One step with the given model; without `fields` it has no inputs. */
export function promptFile(parts: PromptParts = {}): string {
  const { title = "Wire test", description = "For the tests of the wire.", model = "sandbox/text" } = parts;
  const { slug = nextSlug(), fields = "", body = "Say something." } = parts;
  const head = ["promptd: 1", `title: ${JSON.stringify(title)}`, `slug: ${slug}`];
  const lines = [
    ...head,
    `description: ${JSON.stringify(description)}`,
    `model: ${model}`,
    ...(fields ? [fields] : []),
  ];
  return `---\n${lines.join("\n")}\n---\n${body}\n`;
}

/** Answers `hello` with its one required input, `topic`. */
export function textPrompt(parts: PromptParts = {}): string {
  return promptFile({ fields: "inputs: { topic: {} }", body: "Write about {{ topic }}.", ...parts });
}

/**
 * The caller's input controls how the sandbox behaves: `{"do": "delay=500"}`. The body's second line keeps a prompt
 * that has only directives from being empty.
 */
export function directedPrompt(parts: PromptParts = {}): string {
  return promptFile({ fields: "inputs: { do: {} }", body: "sandbox: {{ do }}\nAnything.", ...parts });
}

/** An image prompt without images or inputs, which is quick to draw. */
export function imagePrompt(parts: PromptParts = {}): string {
  return promptFile({
    model: "sandbox/image",
    fields: 'options: { size: "256x256" }',
    body: "A blue square.",
    ...parts,
  });
}

/** `count` images, each in its own slot. */
export function photoPrompt(count: number, parts: PromptParts = {}): string {
  const slots = Array.from({ length: count }, (_, i) => `{ label: Photo ${i + 1}, description: One clear photo }`);
  const fields = `images: [${slots.join(", ")}]\noptions: { size: "256x256" }`;
  return promptFile({ model: "sandbox/image", fields, body: "Redraw the photo.", ...parts });
}

/** The smallest valid PNG: one pixel. */
export const PNG_BASE64 =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
