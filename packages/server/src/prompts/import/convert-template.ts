/** Converts templates of other languages to Liquid. Anything without a counterpart is left out and noted. */
import { keyProblem } from "../text-input-rules.ts";
import { ALLOWED_FILTERS, expressionOf } from "../template/template-language.ts";

export type TemplateSyntax = "mustache" | "jinja";

export interface Converted {
  readonly text: string;
  /** What could not be converted, one sentence each. */
  readonly notes: readonly string[];
}

/** @param syntax `mustache`: Handlebars and Mustache; `jinja`: Jinja and Nunjucks. */
export function convertTemplate(text: string, syntax: TemplateSyntax): Converted {
  return syntax === "mustache" ? new MustacheConversion().convert(text) : convertJinja(text);
}

const TAG = /\{\{\{([^{}]*)\}\}\}|\{\{~?!--[\s\S]*?--~?\}\}|\{\{~?([^{}]*?)~?\}\}/g;

class MustacheConversion {
  readonly #notes = new Set<string>();
  /** The end tags of the open sections. */
  readonly #open: ("endif" | "endfor")[] = [];
  #loops: ReadonlySet<string> = new Set();
  /** The name of a loop's item; a different one if an input has that name. */
  #item = "item";

  convert(text: string): Converted {
    this.#loops = findLoops(text);
    if (/\{\{[{~&\s]*item[\s~}]/.test(text)) this.#item = "list_item";
    const converted = text.replaceAll(TAG, (whole: string, triple?: string, inner?: string) => {
      if (triple !== undefined) return this.#output(triple.trim());
      return inner === undefined ? "" : this.#tag(inner.trim(), whole);
    });
    return { text: converted, notes: [...this.#notes] };
  }

  #tag(inner: string, whole: string): string {
    const [, sigil = "", name = ""] = /^([#^/>!&]?)\s*([\s\S]*)$/.exec(inner) ?? [];
    if (sigil === "!") return "";
    if (sigil === "&") return this.#output(name);
    if (sigil === ">") return this.#leaveOut(whole, "partials are not supported");
    if (sigil === "#") return this.#section(name, whole);
    if (sigil === "^")
      return name === "" ? "{% else %}" : this.#begin("endif", `{% if ${this.#readOf(name)} == blank %}`);
    if (sigil === "/") return this.#end(whole);
    const condition = /^else\s+if\s+(.+)$/.exec(name)?.[1];
    if (condition !== undefined) return `{% elsif ${this.#readOf(condition)} != blank %}`;
    return name === "else" ? "{% else %}" : this.#output(name);
  }

  #section(name: string, whole: string): string {
    const [, helper, argument] = /^(if|unless|each|with)\s+(.+)$/.exec(name) ?? [];
    const key = argument ?? name;
    if (helper === "with")
      return this.#begin("endif", `{% if true %}${this.#leaveOut(whole, "{{#with}} blocks are not supported")}`);
    const isLoop = helper === "each" || (helper === undefined && this.#loops.has(key));
    if (isLoop && this.#open.includes("endfor"))
      return this.#begin("endif", `{% if true %}${this.#leaveOut(whole, "loops cannot be nested")}`);
    const read = this.#readOf(key);
    if (isLoop) return this.#begin("endfor", `{% for ${this.#item} in ${read} %}`);
    return this.#begin("endif", `{% if ${read} ${helper === "unless" ? "==" : "!="} blank %}`);
  }

  #begin(end: "endif" | "endfor", tag: string): string {
    this.#open.push(end);
    return tag;
  }

  #end(whole: string): string {
    const end = this.#open.pop();
    return end === undefined ? this.#leaveOut(whole, "there is no open section for it to close") : `{% ${end} %}`;
  }

  #output(name: string): string {
    const isOfLoop = /^(?:this|\.|@index|@first|@last)$/.test(name);
    if (isOfLoop && !this.#open.includes("endfor")) return this.#leaveOut(`{{${name}}}`, "it works only inside a loop");
    if (name === "this" || name === ".") return `{{ ${this.#item} }}`;
    if (name === "@index") return "{{ forloop.index0 }}";
    if (name === "@first" || name === "@last") return `{{ forloop.${name.slice(1)} }}`;
    if (name.startsWith("@")) return this.#leaveOut(`{{${name}}}`, "Handlebars variables are not supported");
    if (name.startsWith("this.") && this.#open.includes("endfor"))
      return this.#leaveOut(`{{${name}}}`, "list items are text and have no members");
    const helper = /^(\w+)\s+([\w.]+)$/.exec(name);
    if (helper?.[1] === "json") return `{{ ${this.#readOf(helper[2] ?? "")} }}`;
    if (helper !== null || /["=(]/.test(name)) return this.#leaveOut(`{{${name}}}`, "helpers are not supported");
    return keyProblem(name) === null
      ? `{{ ${this.#readOf(name)} }}`
      : this.#leaveOut(`{{${name}}}`, "its name cannot be used as an input key");
  }

  #readOf(name: string): string {
    const key = name.trim().replace(/^this\./, "");
    const isLoops = this.#open.includes("endfor");
    if (isLoops && (key === "@first" || key === "@last")) return `forloop.${key.slice(1)}`;
    return key === "this" || key === "." ? this.#item : expressionOf(key);
  }

  #leaveOut(whole: string, why: string): string {
    this.#notes.add(`${whole.replaceAll("\n", " ")} was left out of the template: ${why}.`);
    return "";
  }
}

/** Sections that directly contain `{{.}}`, so they iterate over a list. */
function findLoops(text: string): ReadonlySet<string> {
  const loops = new Set<string>();
  const open: string[] = [];
  for (const [, sigil = "", name = ""] of text.matchAll(/\{\{\s*([#^/.])([^{}]*)\}\}/g)) {
    if (sigil === "/") open.pop();
    else if (sigil !== ".") open.push(name.trim());
    else if (name.trim() === "") loops.add(open.at(-1) ?? "");
  }
  return loops;
}

const JINJA_RAW = /(\{%-?\s*raw\s*-?%\}[\s\S]*?\{%-?\s*endraw\s*-?%\})/;
const JINJA_TAGS = /\{%-?\s*(\w+)([\s\S]*?)-?%\}/g;
const LIQUID_TAGS = new Set(["if", "endif", "else", "for", "endfor", "raw", "endraw", "elif", "set"]);

function convertJinja(text: string): Converted {
  const notes = new Set<string>();
  const parts = text.split(JINJA_RAW).map((part, at) => (at % 2 === 1 ? part : convertJinjaPart(part, notes)));
  return { text: parts.join(""), notes: [...notes] };
}

function convertJinjaPart(text: string, notes: Set<string>): string {
  const tagged = text.replaceAll(/\{#[\s\S]*?#\}/g, "").replaceAll(JINJA_TAGS, (whole, tag: string, rest: string) => {
    if (!LIQUID_TAGS.has(tag)) {
      notes.add(`${whole.replaceAll("\n", " ")} was left out of the template: this tag is not supported.`);
      return "";
    }
    if (tag === "if" || tag === "elif") return `{% ${tag === "if" ? "if" : "elsif"} ${convertCondition(rest)} %}`;
    return tag === "set" ? `{% assign${rest}%}` : whole;
  });
  return tagged.replaceAll(/\{\{-?([^{}|]+?)(\|[^{}]*)?-?\}\}/g, (whole, written: string, filters = "") => {
    const path = written.trim();
    if (path.startsWith("loop.")) return `{{ for${path} }}`;
    if (!/^[\p{L}_][\p{L}\p{N}_.-]*$/u.test(path)) return whole;
    const read = path.includes(".") ? expressionOf(path) : path;
    return `{{ ${read}${convertFilters(String(filters), whole, notes)} }}`;
  });
}

/** Empty text is false in Jinja but true in Liquid. */
function convertCondition(condition: string): string {
  const [, not, name] = /^(not\s+)?([\p{L}_][\p{L}\p{N}_]*)(?:\s+is\s+defined)?$/u.exec(condition.trim()) ?? [];
  if (name === undefined || /^(?:true|false|none|not)$/i.test(name)) return condition.trim();
  return `${expressionOf(name)} ${not === undefined ? "!=" : "=="} blank`;
}

/** Filters that Liquid has under another name. */
const FILTERS: ReadonlyMap<string, string> = new Map([
  ["upper", "upcase"],
  ["lower", "downcase"],
  ["trim", "strip"],
  ["length", "size"],
  ["tojson", "json"],
  ["dump", "json"],
]);

/** Jinja filters for what Liquid does anyway. */
const NEEDLESS = new Set(["safe", "string"]);

/** `|default("x")|upper` as ` | default: "x" | upcase`. */
function convertFilters(filters: string, whole: string, notes: Set<string>): string {
  return filters.trim().replaceAll(/\s*\|\s*(\w+)\s*(?:\(([^()]*)\))?/g, (_whole, written: string, args = "") => {
    const name = FILTERS.get(written) ?? written;
    const most = ALLOWED_FILTERS.get(name)?.[1];
    if (NEEDLESS.has(name)) return "";
    if (most === undefined) {
      notes.add(`${whole.replaceAll("\n", " ")}: the filter ${name} was left out because it is not supported.`);
      return "";
    }
    const given = splitArguments(String(args)).slice(0, most);
    return ` | ${name}${given.length === 0 ? "" : `: ${given.join(", ")}`}`;
  });
}

/** Splits at commas, except inside quotes. */
function splitArguments(args: string): string[] {
  return Array.from(args.matchAll(/(?:"[^"]*"|'[^']*'|[^,"'])+/g), ([arg]) => arg.trim()).filter((arg) => arg !== "");
}
