/**
 * The generated parts of the documentation, which come from the code: settings, endpoints, error codes, commands.
 * generate-docs.ts writes each part between its markers on a page, and a test compares the page with the code.
 */
import { ENDPOINTS, ERRORS, ISSUE_CODES, listWords, type EndpointEntry, type EndpointName } from "@promptd/contract";
import { MANAGE_ENDPOINTS } from "@promptd/contract/manage";
import { ENDPOINT_EXAMPLES } from "@promptd/contract/examples";
import type { CommandTable } from "../packages/cli/src/command.ts";
import { AUTHOR_COMMANDS } from "../packages/cli/src/commands/author-commands.ts";
import { END_USER_COMMANDS } from "../packages/cli/src/end-user-commands.ts";
import { describeOnPage } from "../packages/cli/src/help-text.ts";
import { OPERATOR_COMMANDS } from "../packages/cli/src/operator-commands.ts";
import { describeChart } from "./performance-chart.ts";
import { describePerformance } from "./performance-page.ts";
import { SERVICE_KEYS } from "../packages/server/src/platform/config/service-keys.ts";
import type { Setting } from "../packages/server/src/platform/config/setting-forms.ts";
import { SETTING_GROUPS } from "../packages/server/src/platform/config/settings.ts";

export interface GeneratedPart {
  /** From the root of the repository. */
  readonly page: string;
  readonly name: string;
  text(): Promise<string> | string;
}

export const GENERATED_PARTS: readonly GeneratedPart[] = [
  { page: "docs/settings.md", name: "settings", text: describeSettings },
  { page: "docs/settings.md", name: "service-keys", text: describeServiceKeys },
  { page: "docs/api.md", name: "endpoints", text: describeEndpoints },
  { page: "docs/api.md", name: "errors", text: describeErrors },
  { page: "docs/api.md", name: "issues", text: describeIssues },
  { page: "docs/api.md", name: "answers", text: describeAnswers },
  { page: "docs/manage-api.md", name: "manage-endpoints", text: describeManageEndpoints },
  { page: "docs/cli.md", name: "end-user-commands", text: () => describeCommands(END_USER_COMMANDS) },
  { page: "docs/cli.md", name: "author-commands", text: () => describeCommands(AUTHOR_COMMANDS) },
  { page: "docs/cli.md", name: "operator-commands", text: () => describeCommands(OPERATOR_COMMANDS) },
  { page: "docs/performance.md", name: "measurements", text: () => describePerformance() },
  { page: "README.md", name: "performance", text: () => describeChart() },
];

function describeSettings(): string {
  return Object.entries<Readonly<Record<string, Setting<unknown, string | null>>>>(SETTING_GROUPS)
    .map(([heading, settings]) => [`## ${heading}`, ...Object.entries(settings).map(describeSetting)].join("\n\n"))
    .join("\n\n");
}

function describeSetting([name, setting]: [name: string, setting: Setting<unknown, string | null>]): string {
  const fallback = setting.default === null ? "unset" : `\`${setting.default}\``;
  const file = setting.isSecret ? ` Or \`${name}_FILE\`, a file that holds it.` : "";
  const required = listWords(setting.requires ?? [], "and");
  const requires = required === "" ? "" : ` Requires ${required}.`;
  return `### ${name}\n\n${setting.meaning}${requires}\n\nDefault: ${fallback}. Value: ${setting.expected}.${file}`;
}

function describeServiceKeys(): string {
  return Object.entries(SERVICE_KEYS)
    .map(([name, meaning]) => `### ${name}\n\n${meaning}`)
    .join("\n\n");
}

function describeEndpoints(): string {
  const rows = Object.values(ENDPOINTS).map(({ method, path, summary }) => `| \`${method} ${path}\` | ${summary} |`);
  return ["| Endpoint | What it does |", "|---|---|", ...rows].join("\n");
}

/** Lists what a caller needs for each endpoint: the minimum role and the token scope. */
function describeManageEndpoints(): string {
  const rows = Object.values(MANAGE_ENDPOINTS).map((entry: EndpointEntry) => {
    const { method, path, summary, auth, role = "", scope = "" } = entry;
    const token = [auth].flat().includes("token") ? scope || "any" : "no token";
    return `| \`${method} ${path}\` | ${summary} | ${auth === "none" ? "anybody" : role || "any"} | ${auth === "none" ? "" : token} |`;
  });
  return ["| Endpoint | What it does | Minimum role | Token scope |", "|---|---|---|---|", ...rows].join("\n");
}

const RETRY = {
  never: "do not retry",
  "after-delay": "wait for Retry-After, then retry",
  backoff: "retry with backoff",
  poll: "do not retry: read the run",
} as const;

function describeErrors(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { httpStatus, meaning, retry }]) => `| ${httpStatus} | \`${code}\` | ${meaning} | ${RETRY[retry]} |`,
  );
  return ["| HTTP | status | Meaning | Client |", "|---|---|---|---|", ...rows].join("\n");
}

function describeIssues(): string {
  return ISSUE_CODES.map((code) => `\`${code}\``).join(", ");
}

/** Responses that are not JSON documents; other sections describe them. */
const STREAMS: Partial<Record<EndpointName, string>> = {
  followRun: "A stream: see [following a run](#following-a-run).",
  getBatchResults: "JSON Lines or CSV: see [batches](batches.md#over-http).",
};

/**
 * The content of `data`, from the OpenAPI document's examples, which a test checks against the contract's schemas. What
 * an earlier response has shown is not repeated.
 */
function describeAnswers(): string {
  const titles = new Map<string, string>();
  const parts = (Object.keys(ENDPOINTS) as EndpointName[]).map((name) => {
    const { method, path } = ENDPOINTS[name];
    const answer = JSON.stringify(ENDPOINT_EXAMPLES[name].data, null, 2);
    const earlier = titles.get(answer);
    if (earlier === undefined) titles.set(answer, `${method} ${path}`);
    const same = earlier === undefined ? undefined : `As for \`${earlier}\`.`;
    return `### ${method} ${path}\n\n${STREAMS[name] ?? same ?? `\`\`\`json\n${answer}\n\`\`\``}`;
  });
  return parts.join("\n\n");
}

async function describeCommands(table: CommandTable): Promise<string> {
  const parts = await Promise.all(
    Object.entries(table).map(async ([name, load]) => {
      const help = describeOnPage(name, await load());
      return `### promptd ${name}\n\n\`\`\`text\n${help}\n\`\`\``;
    }),
  );
  return parts.join("\n\n");
}

/** Replaces the part between its markers on the page. @throws Error when the page does not have the markers. */
export function placePart(page: string, name: string, text: string): string {
  const begin = `<!-- generated: ${name} -->`;
  const end = `<!-- end: ${name} -->`;
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from === -1 || to < from) throw new Error(`The page does not have the markers ${begin} and ${end}.`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}
