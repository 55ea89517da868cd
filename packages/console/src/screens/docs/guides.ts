/** The guides from docs/. The build emits one file per guide, so that only opened guides are loaded. */
export interface Guide {
  readonly name: string;
  readonly title: string;
  /** A short description for the list. */
  readonly about: string;
}

export interface GuideGroup {
  readonly label: string;
  readonly guides: readonly Guide[];
}

export const GUIDES: readonly GuideGroup[] = [
  {
    label: "Run prompts",
    guides: [
      {
        name: "first-run",
        title: "Your first run",
        about: "from a server address to a working program, in ten minutes",
      },
      { name: "api", title: "The API", about: "runs, errors, waiting, streams, images, and the JavaScript client" },
      { name: "cli", title: "The command line", about: "every command, with its flags" },
      { name: "batches", title: "Batches", about: "many runs at once, from an input file to a results file" },
      { name: "mcp", title: "Tools for agents", about: "prompts in Claude, VS Code, and other hosts, over MCP" },
      {
        name: "conformance",
        title: "Checking a server",
        about: "test whether a server or gateway conforms to the API",
      },
      { name: "webhooks", title: "Webhooks", about: "run, credit, and model events sent to your server" },
      { name: "states", title: "States of a run", about: "each status from queued to final, and what it means" },
      { name: "limits", title: "Limits", about: "sizes, counts, rates, and times" },
    ],
  },
  {
    label: "Write prompts",
    guides: [
      { name: "first-prompt", title: "Your first prompt", about: "write, try, and publish one, in ten minutes" },
      { name: "prompt-files", title: "Prompt files", about: "inputs, templates, steps, options, samples, and tests" },
      {
        name: "publishing",
        title: "Publishing over HTTP",
        about: "drafts, test runs, and versions from a script or CI",
      },
      { name: "models", title: "Models", about: "available models, their prices, and adding your own" },
      { name: "search", title: "Search", about: "how the marketplace finds prompts" },
    ],
  },
  {
    label: "Operate",
    guides: [
      { name: "first-server", title: "Your first server", about: "start one and invite others, in ten minutes" },
      { name: "console", title: "The console", about: "these pages" },
      { name: "operations", title: "Operations", about: "start, back up, upgrade, and troubleshoot" },
      { name: "settings", title: "Settings", about: "every environment variable" },
      { name: "manage-api", title: "The management API", about: "people, accounts, keys, tokens, and audit" },
      { name: "payments", title: "Payments", about: "grant credits from a payment system" },
      { name: "reliability", title: "Reliability", about: "what is guaranteed when something fails" },
      { name: "performance", title: "Performance", about: "measured speed and cost, compared with other tools" },
      { name: "glossary", title: "Glossary", about: "what each term means" },
    ],
  },
];

const FILES: Readonly<Record<string, () => Promise<string>>> = import.meta.glob<string>("../../../../../docs/*.md", {
  query: "?raw",
  import: "default",
});

export const findGuide = (name: string): Guide | undefined =>
  GUIDES.flatMap(({ guides }) => guides).find((guide) => guide.name === name);

/** Loads a guide's Markdown. @throws Error when the build has no guide of this name. */
export async function loadGuide(name: string): Promise<string> {
  const load = FILES[`../../../../../docs/${name}.md`];
  if (load === undefined) throw new Error(`The docs have no page “${name}”.`);
  return (await load()).replaceAll(/<!--.*?-->\n*/gs, "");
}
