/** Web search by a model while it answers: SDK settings, billed usage, and the source list for the caller. */
import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { Usage } from "../providers/failure.ts";
import { providerOf } from "../providers/all-providers.ts";
import type { SearchedAnswer } from "../providers/provider.ts";
import { withSearches } from "../pricing/usage.ts";
import type { Adapter } from "./call-settings.ts";
import type { ModelCall } from "./model-adapter.ts";

/**
 * The settings for a call that may search.
 * @param options provider options that this adds to.
 * @returns null if the model cannot search: it may have lost the ability since its prompt was published, or its address
 * may not support it.
 */
export function searchSettings(
  adapter: Adapter,
  call: ModelCall,
  options: SharedV4ProviderOptions,
): Pick<LanguageModelV4CallOptions, "tools" | "toolChoice" | "providerOptions"> | null {
  const { entry, webSearch } = call;
  if (webSearch === undefined) return { providerOptions: options };
  const known = providerOf(entry.provider).webSearch;
  if (entry.webSearch === undefined || known === null) return null;
  const { endpoint } = adapter.connectionOf(entry);
  const request = known.ask({ endpoint, searchesMax: entry.webSearch.searchesMax });
  if (request === null) return null;
  const { tool, providerOptions = {} } = request;
  return {
    ...(tool === null ? {} : { tools: [providerTool(tool)], toolChoice: { type: "auto" } }),
    providerOptions: withMembers(options, providerOptions),
  };
}

/** The provider runs the tool inside the call. */
function providerTool({ id, args }: { readonly id: `${string}.${string}`; readonly args: object }) {
  return { type: "provider" as const, id, name: "web_search", args: { ...args } };
}

function withMembers(left: SharedV4ProviderOptions, right: SharedV4ProviderOptions): SharedV4ProviderOptions {
  const merged = Object.entries(right).map(([name, members]) => [name, { ...left[name], ...members }]);
  return { ...left, ...(Object.fromEntries(merged) as SharedV4ProviderOptions) };
}

/** Adds the searches that the provider bills, if the call was allowed to search. */
export function usageWithSearches(usage: Usage, { entry, webSearch }: ModelCall, answer: SearchedAnswer): Usage {
  if (webSearch === undefined) return usage;
  return withSearches(usage, entry, providerOf(entry.provider).webSearch?.count(answer) ?? null);
}

/**
 * Joins the texts of an answer. Text before and after a search is separate paragraphs; pieces separated only by a source
 * belong to one sentence.
 */
export function createTextJoiner(): (part: { readonly type: string; readonly text?: string }) => string {
  let end = "";
  let hasSearched = false;
  return ({ type, text = "" }) => {
    if (type.startsWith("tool-")) hasSearched = true;
    if ((type !== "text" && type !== "text-delta") || text === "") return "";
    const gap = hasSearched && end !== "" && !/\s$/.test(end) ? "\n\n" : "";
    hasSearched = false;
    end = text;
    return gap + text;
  };
}

const SOURCES_MAX = 20;
const TITLE_LENGTH_MAX = 200;

interface Source {
  readonly sourceType: string;
  readonly url?: string;
  readonly title?: string | undefined;
}

/** A Markdown list to append to the text; "" if the provider names no sources. */
export function sourceList(sources: readonly Source[]): string {
  const titles = new Map<string, string>();
  for (const { url = "", title = "" } of sources) {
    const address = URL.parse(url);
    if (address === null || !/^https?:$/.test(address.protocol)) continue;
    if (!titles.has(address.href)) titles.set(address.href, plainTitle(title) || address.host);
  }
  const lines = [...titles].slice(0, SOURCES_MAX).map(([url, title]) => `- [${title}](${markdownAddress(url)})`);
  return lines.length === 0 ? "" : `\n\nSources:\n\n${lines.join("\n")}`;
}

/** Pages choose their own titles: a title must not end the link or the line. */
function plainTitle(title: string): string {
  const line = title.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
  return line
    .slice(0, TITLE_LENGTH_MAX)
    .toWellFormed()
    .replaceAll(/[\\[\]<>`*_]/g, "\\$&");
}

function markdownAddress(url: string): string {
  return url.replaceAll("(", "%28").replaceAll(")", "%29");
}
