/**
 * Finds placeholders of other template languages. Liquid would send them to the model as they stand, or read them as
 * something else, and nobody would see it: so each is a fault or a warning that says how it is written here.
 */
import { expressionOf, TEMPLATE_LENGTH_MAX } from "./template-language.ts";
import { keyProblem } from "../text-input-rules.ts";

export interface ForeignSyntax {
  /** Offset in the template, UTF-16 units. */
  readonly offset: number;
  /** As the author wrote it. */
  readonly text: string;
  readonly message: string;
  /** False: it may be meant as text, so it is a warning. */
  readonly isFault: boolean;
}

/**
 * Liquid's own tags and outputs, and what stands in raw and comment blocks, is not foreign. None begins inside another:
 * a text of nothing but beginnings would be read from each of them to the limit.
 */
const LIQUID_BLOCK =
  /\{%-?\s*(raw|comment)\s*-?%\}(?:[\s\S]*?\{%-?\s*end\1\s*-?%\}|[\s\S]*)|\{%(?:(?!\{%)[\s\S]){0,2000}?%\}/y;
// Blanks are bounded where the name may begin or end with some, too: each might belong to either, and all ways are tried.
const TRIPLE = /\{\{\{\s{0,20}([^{}\n]{1,200}?)\s{0,20}\}\}\}/y;
/** A section, its end, its inverse, a partial, a comment, an unescaped value, a change of delimiters, private data. */
const SIGIL = /\{\{~?\s*([#/^>!&=@$])([^{}\n]{0,200}?)~?\}\}/y;
const ELSE = /\{\{~?\s*(else(?:\s+if\b[^{}\n]{0,200})?)\s*~?\}\}/y;
/** A call, a choice between two values, a default, a comparison or texts that are joined: of JavaScript, Python or Jinja. */
const EXPRESSION =
  /\{\{-?\s{0,20}([\p{L}_$][\p{L}\p{N}_$]{0,60}(?:\.[\p{L}_$][\p{L}\p{N}_$]{0,60}){0,5}(?:\(\)|(?<=\.[\p{L}\p{N}_$]{1,60})\([^{}\n]{1,100}\)|\s{1,5}(?:\?[^{}\n:]{1,100}:|\+\s{0,5}["']|[=!]==?|&&|\|\||\?\?)[^{}\n]{1,100})[^{}\n]{0,100}?)\s{0,20}-?\}\}/uy;
const OUTPUT = /\{\{(?:(?!\{\{)[\s\S]){0,2000}?\}\}/y;
const DOLLAR = /\$\{\s{0,20}([^{}\n]{1,100}?)\s{0,20}\}/y;
const SINGLE = /\{\s{0,20}([\p{L}_][\p{L}\p{N}_ .'-]{0,59}?)\s{0,20}\}(?!\})/uy;
const NAME = String.raw`[\p{L}_][\p{L}\p{N}_]{0,59}`;
const MEMBERS = String.raw`(?:\.${NAME}(?:\([^(){}\n]{0,60}\))?|\[[^[\]{}\n]{1,60}\]){0,5}`;
/** `>10`, `,.2f`, `%d %B`, `N2`, `yyyy-MM-dd`; not the second half of `{ a: b }`. */
const FORMAT = String.raw`:(?:(?:[^{}\n]?[<>=^])?[-+]?z?#?0?\d{0,4}[_,]?(?:\.\d{1,3})?(?:[a-zA-Z]\d{0,2}|%)?|[^{}\n"']{0,20}%[-a-zA-Z][^{}\n"']{0,40}|(?=[^{}]*(?:yy|MM|dd|HH|mm))[yMdHhmstf\/:. -]{2,30})`;
/** Python's str.format and f-strings beyond a bare name, and its positions: `{topic!r}`, `{topic:>10}`, `{topic[0]}`, `{0}`. */
const PYTHON = new RegExp(
  String.raw`\{(?:(${NAME})(?!\})(${MEMBERS}=?(?:![rsa])?(?:${FORMAT})?)|(\d{1,2})(${MEMBERS}(?:![rsa])?(?:${FORMAT})?)|(?=[!:])(?:![rsa])?(?:${FORMAT})?)\}(?!\})`,
  "uy",
);
/** The same inside of two braces, where Liquid would read a name with these signs in it. */
const PYTHON_IN_TWO = new RegExp(
  String.raw`\{\{-?\s{0,20}(${NAME}${MEMBERS}(?:![rsa](?:${FORMAT})?|(?=:[^{}\n]*[<>=^%.,])${FORMAT}))\s{0,20}-?\}\}`,
  "uy",
);
/** Liquid prints it as it stands; elsewhere it is a position, or the name of an input. */
const NUMBER = /\{\{-?\s{0,20}(\d{1,3})\s{0,20}-?\}\}/y;
const PERCENT = /%\(([^()\n]{1,60})\)[-#0 +]{0,3}\d{0,3}(?:\.\d{1,3})?[diouxXeEfFgGcrsa]/y;
const SQUARE = /\[\[\s{0,20}([^[\]\n]{1,80}?)\s{0,20}\]\]/y;
const ANGLE = /<<([\p{L}_][^<>\n]{0,79})>>/uy;
/** As an input method for Chinese or Japanese writes braces. */
const FULL_WIDTH = /｛{1,2}\s{0,20}([\p{L}_][\p{L}\p{N}_ .'-]{0,59}?)\s{0,20}｝{1,2}/uy;
const ERB = /<%[\s\S]{0,200}?%>/y;
const JINJA_COMMENT = /\{#[\s\S]{0,500}?#\}/y;
/** Behind these a single brace belongs to LaTeX, a shell or a format of numbers: `\frac{a}`, `x_{i}`, `$${a}`. */
const NOT_BEFORE_A_BRACE = /[\p{L}\p{N}\\^_}$]/u;
/** Nor is it a count of a regular expression: `[0-9]{2}`, `(ab){3}`. */
const NOT_BEFORE_A_NUMBER = /[\])}.*+?|]/;

/** @param declared the keys of the file, or null when it declares none. */
export function findForeignSyntax(text: string, declared: ReadonlySet<string> | null): ForeignSyntax[] {
  if (text.length > TEMPLATE_LENGTH_MAX) return []; // a fault already
  const found: ForeignSyntax[] = [];
  const opening = /[{$[<｛%]/g;
  for (let start = opening.exec(text); start !== null; start = opening.exec(text)) {
    const piece = readPiece(text, start.index, declared);
    if (piece === null) continue;
    if (piece.message !== null) found.push({ ...piece, message: piece.message, offset: start.index });
    opening.lastIndex = start.index + piece.text.length;
  }
  return found;
}

interface Piece {
  readonly text: string;
  /** Null: it is Liquid's own. */
  readonly message: string | null;
  readonly isFault: boolean;
}

type Reader = (groups: readonly string[], declared: ReadonlySet<string> | null) => Omit<Piece, "text">;

const OWN: Reader = () => ({ message: null, isFault: false });

/** In this order: the longer form first. */
const PIECES: readonly (readonly [form: RegExp, read: Reader])[] = [
  [LIQUID_BLOCK, OWN],
  [
    TRIPLE,
    ([name = ""]) =>
      fault(`Triple braces are Mustache syntax. promptd does not escape values, so use two: ${output(name)}.`),
  ],
  [SIGIL, ([sigil = "", name = ""]) => fault(sigilMessage(sigil, name.trim()))],
  [ELSE, ([words = ""]) => fault(`{{${words}}} is Handlebars syntax. Write ${elseTag(words)}.`)],
  [
    EXPRESSION,
    ([key = ""], declared) => (declared?.has(key.trim()) === true ? OWN([], declared) : fault(NO_EXPRESSIONS)),
  ],
  [
    PYTHON_IN_TWO,
    ([key = ""], declared) =>
      declared?.has(key) === true
        ? OWN([], declared)
        : fault(
            `Python format specifiers are not supported. Write ${output(key.split(/[!:.[]/)[0] ?? key)}. ${NO_FORMATS}`,
          ),
  ],
  [
    NUMBER,
    ([key = ""]) => fault(`This prints the number ${key}. To insert an input with that name, write ${output(key)}.`),
  ],
  [OUTPUT, OWN],
  [JINJA_COMMENT, () => warning("This Jinja comment is sent to the model. Write {% comment %}…{% endcomment %}.")],
  [ERB, () => warning(`This is sent to the model as is. Write placeholders as {{ name }}. ${MEANT_AS_TEXT}`)],
  [DOLLAR, ([name = ""], declared) => placeholder(name.split(":")[0] ?? name, declared)],
  [SQUARE, ([name = ""], declared) => placeholder(name, declared)],
  [ANGLE, ([name = ""], declared) => placeholder(name, declared)],
  [SINGLE, ([name = ""], declared) => placeholder(name, declared)],
  [PYTHON, ([name, , position], declared) => pythonPlaceholder(name ?? position ?? "", declared)],
  [PERCENT, ([name = ""], declared) => placeholder(name, declared)],
  [FULL_WIDTH, ([name = ""], declared) => placeholder(name, declared)],
];

const NO_EXPRESSIONS =
  'This expression is not Liquid. Use filters, as in {{ topic | upcase }} and {{ topic | default: "tea" }}, or conditions, as in {% if topic == "tea" %}…{% else %}…{% endif %}.';
const NO_FORMATS = "Use filters to format values, as in {{ price | round: 2 }}.";
const MEANT_AS_TEXT = "To use it as literal text, wrap it in {% raw %} and {% endraw %}.";

function readPiece(text: string, offset: number, declared: ReadonlySet<string> | null): Piece | null {
  for (const [form, read] of PIECES) {
    form.lastIndex = offset;
    const match = form.exec(text);
    if (match === null || belongsToAnother(form, match[0], text[offset - 1] ?? " ")) continue;
    return { text: match[0], ...read(match.slice(1), declared) };
  }
  return null;
}

function belongsToAnother(form: RegExp, piece: string, before: string): boolean {
  if (form !== SINGLE && form !== PYTHON) return false;
  return NOT_BEFORE_A_BRACE.test(before) || (/^\{\d/.test(piece) && NOT_BEFORE_A_NUMBER.test(before));
}

function fault(message: string) {
  return { message, isFault: true };
}

function warning(message: string) {
  return { message, isFault: false };
}

/** What is written like a placeholder: surely meant as one when an input has its name. */
function placeholder(name: string | null, declared: ReadonlySet<string> | null) {
  const key = name?.trim().normalize("NFC");
  const write = `To insert an input, write ${key === undefined ? "{{ name }}" : output(key)}.`;
  if (key !== undefined && declared?.has(key) === true)
    return fault(`This is sent to the model as is, but "${key}" is an input. ${write} ${MEANT_AS_TEXT}`);
  return warning(`This is sent to the model as is. ${write} ${MEANT_AS_TEXT}`);
}

/** A position says nothing about an input's name, unless an input has exactly that one. */
function pythonPlaceholder(name: string, declared: ReadonlySet<string> | null) {
  const isName = name !== "" && (!/^\d/.test(name) || declared?.has(name) === true);
  const { message, isFault } = placeholder(isName ? name : null, declared);
  return { message: `${message} ${NO_FORMATS}`, isFault };
}

function output(name: string): string {
  const key = name.trim().normalize("NFC");
  return keyProblem(key) === null ? `{{ ${expressionOf(key)} }}` : "{{ name }}";
}

function sigilMessage(sigil: string, name: string): string {
  const word = /^(\w+)\s+(.*)$/.exec(name);
  const [helper, argument] = [word?.[1] ?? "", word?.[2] ?? name];
  const key = keyProblem(argument) === null ? expressionOf(argument) : "name";
  const forms: Readonly<Record<string, string>> = {
    "#": sectionMessage(helper, key),
    "^": `This is a Mustache inverted section. Write {% if ${key} == blank %}…{% endif %}.`,
    "/": `This ends a Mustache section. Write {% endif %}${helper === "" && name === "each" ? " or {% endfor %}" : ""}.`,
    ">": "Partials are not supported. Paste the partial's text here.",
    "!": "This is a Mustache comment. Write {% comment %}…{% endcomment %}.",
    "&": `promptd does not escape values. Write ${output(argument)}.`,
    "=": "Custom delimiters are not supported. Write placeholders as {{ name }}.",
    "@": "Handlebars loop variables are not supported. Inside {% for %}, write {{ forloop.index }}.",
    $: `Write ${output(argument)}, without the "$".`,
  };
  return forms[sigil] ?? "This is not Liquid.";
}

function sectionMessage(helper: string, key: string): string {
  if (helper === "each") return `{{#each}} is Handlebars syntax. Write {% for item in ${key} %}{{ item }}{% endfor %}.`;
  if (helper === "unless") return `{{#unless}} is Handlebars syntax. Write {% if ${key} == blank %}…{% endif %}.`;
  return `This is a Mustache section. Write {% if ${key} != blank %}…{% endif %}.`;
}

function elseTag(words: string): string {
  return words.trim() === "else" ? "{% else %}" : "{% elsif … %}";
}
