/** Templates of other languages as Liquid. What has no counterpart is left out and noted. */
import { keyProblem } from "../input-rules.ts";
import { expressionOf } from "../template/template-language.ts";

export type TemplateSyntax = "mustache" | "jinja";

export interface Converted {
  readonly text: string;
  /** What could not be carried over, one sentence each. */
  readonly notes: readonly string[];
}

/** @param syntax `mustache`: Handlebars and Mustache; `jinja`: Jinja and Nunjucks. */
export function convertTemplate(text: string, syntax: TemplateSyntax): Converted {
  return syntax === "mustache" ? new MustacheConversion().convert(text) : convertJinja(text);
}

const TAG = /\{\{\{([^{}]*)\}\}\}|\{\{~?!--[\s\S]*?--~?\}\}|\{\{~?([^{}]*?)~?\}\}/g;

class MustacheConversion {
  readonly #notes = new Set<string>();
  /** Open sections, with the tag that ends each. */
  readonly #open: ("endif" | "endfor")[] = [];
  #loops: ReadonlySet<string> = new Set();

  convert(text: string): Converted {
    this.#loops = findLoops(text);
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
    if (sigil === ">") return this.#leaveOut(whole, "a partial");
    if (sigil === "#") return this.#section(name, whole);
    if (sigil === "^") return name === "" ? "{% else %}" : this.#begin("endif", `{% if ${readOf(name)} == blank %}`);
    if (sigil === "/") return this.#end(whole);
    const condition = /^else\s+if\s+(.+)$/.exec(name)?.[1];
    if (condition !== undefined) return `{% elsif ${readOf(condition)} != blank %}`;
    return name === "else" ? "{% else %}" : this.#output(name);
  }

  #section(name: string, whole: string): string {
    const [, helper, argument] = /^(if|unless|each|with)\s+(.+)$/.exec(name) ?? [];
    const key = argument ?? name;
    if (helper === "with") return this.#begin("endif", `{% if true %}${this.#leaveOut(whole, "a block of {{#with}}")}`);
    const isLoop = helper === "each" || (helper === undefined && this.#loops.has(key));
    if (isLoop && this.#open.includes("endfor"))
      return this.#begin("endif", `{% if true %}${this.#leaveOut(whole, "a loop in a loop")}`);
    if (isLoop) return this.#begin("endfor", `{% for item in ${readOf(key)} %}`);
    return this.#begin("endif", `{% if ${readOf(key)} ${helper === "unless" ? "==" : "!="} blank %}`);
  }

  #begin(end: "endif" | "endfor", tag: string): string {
    this.#open.push(end);
    return tag;
  }

  #end(whole: string): string {
    const end = this.#open.pop();
    return end === undefined ? this.#leaveOut(whole, "an end without a beginning") : `{% ${end} %}`;
  }

  #output(name: string): string {
    if (name === "this" || name === ".") return "{{ item }}";
    if (name === "@index") return "{{ forloop.index0 }}";
    if (name.startsWith("@")) return this.#leaveOut(`{{${name}}}`, "a variable of Handlebars");
    if (name.startsWith("this.") && this.#open.includes("endfor"))
      return this.#leaveOut(`{{${name}}}`, "a member of an item (items are texts here)");
    const helper = /^(\w+)\s+([\w.]+)$/.exec(name);
    if (helper?.[1] === "json") return `{{ ${readOf(helper[2] ?? "")} }}`;
    if (helper !== null || /["=(]/.test(name)) return this.#leaveOut(`{{${name}}}`, "a helper");
    return keyProblem(name) === null ? `{{ ${readOf(name)} }}` : this.#leaveOut(`{{${name}}}`, "a placeholder");
  }

  #leaveOut(whole: string, what: string): string {
    this.#notes.add(`${whole.replaceAll("\n", " ")}: ${what} was left out of the template.`);
    return "";
  }
}

function readOf(name: string): string {
  const key = name.trim().replace(/^this\./, "");
  return key === "this" || key === "." ? "item" : expressionOf(key);
}

/** Sections that `{{.}}` stands right inside of: they go over a list. */
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
      notes.add(`${whole.replaceAll("\n", " ")}: this tag was left out of the template.`);
      return "";
    }
    if (tag === "elif") return `{% elsif${rest}%}`;
    return tag === "set" ? `{% assign${rest}%}` : whole;
  });
  return tagged.replaceAll(/\{\{-?([^{}|]+?)(\|[^{}]*)?-?\}\}/g, (whole, written: string, filters = "") => {
    const path = written.trim();
    if (path.startsWith("loop.")) return `{{ for${path} }}`;
    if (!/^[\p{L}_][\p{L}\p{N}_.-]*$/u.test(path)) return whole;
    const read = path.includes(".") ? expressionOf(path) : path;
    return `{{ ${read}${convertFilters(String(filters))} }}`;
  });
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

/** `|default("x")|upper` as ` | default: "x" | upcase`. */
function convertFilters(filters: string): string {
  return filters.trim().replaceAll(/\s*\|\s*(\w+)\s*(?:\(([^()]*)\))?/g, (_whole, name: string, args = "") => {
    return ` | ${FILTERS.get(name) ?? name}${args === "" ? "" : `: ${String(args).trim()}`}`;
  });
}
