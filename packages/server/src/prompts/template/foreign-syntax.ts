/**
 * Finds placeholders of other template languages. Liquid would silently send them to the model as is, or read them as
 * something else, so each becomes a fault or a warning that says how to write it in Liquid.
 */
import type { SlicedWork } from "../../platform/time-slice.ts";
import { FAULTS_MAX } from "./expression-scan.ts";
import { expressionOf } from "./template-language.ts";
import { keyProblem } from "../text-input-rules.ts";

export interface ForeignSyntax {
  /** Offset in the template, UTF-16 units. */
  readonly offset: number;
  /** As the author wrote it. */
  readonly text: string;
  readonly message: string;
  /** False: it may be literal text, so it is a warning. */
  readonly isFault: boolean;
}

/**
 * Liquid's own tags and outputs, and the content of raw and comment blocks, are not foreign. A match contains no other
 * opening, or a text of nothing but openings would be read from each of them to the limit.
 */
const LIQUID_BLOCK =
  /\{%-?\s*(raw|comment)\s*-?%\}(?:[\s\S]*?\{%-?\s*end\1\s*-?%\}|[\s\S]*)|\{%(?:(?!\{%)[\s\S]){0,2000}?%\}/y;
// Blanks are bounded where the name may also start or end with them: the engine would try every way to split them.
const TRIPLE = /\{\{\{\s{0,20}([^{}\n]{1,200}?)\s{0,20}\}\}\}/y;
/** A section, its end, its inverse, a partial, a comment, an unescaped value, new delimiters, or private data. */
const SIGIL = /\{\{~?\s*([#/^>!&=@$])([^{}\n]{0,200}?)~?\}\}/y;
const ELSE = /\{\{~?\s*(else(?:\s+if\b[^{}\n]{0,200})?)\s*~?\}\}/y;
/** A call, a conditional, a default, a comparison, or a concatenation in JavaScript, Python, or Jinja. */
const EXPRESSION =
  /\{\{-?\s{0,20}([\p{L}_$][\p{L}\p{N}_$]{0,60}(?:\.[\p{L}_$][\p{L}\p{N}_$]{0,60}){0,5}(?:\(\)|(?<=\.[\p{L}\p{N}_$]{1,60})\([^{}\n]{1,100}\)|\s{1,5}(?:\?[^{}\n:]{1,100}:|\+\s{0,5}["']|[=!]==?|&&|\|\||\?\?)[^{}\n]{1,100})[^{}\n]{0,100}?)\s{0,20}-?\}\}/uy;
const OUTPUT = /\{\{(?:(?!\{\{)[\s\S]){0,2000}?\}\}/y;
const DOLLAR = /\$\{\s{0,20}([^{}\n]{1,100}?)\s{0,20}\}/y;
const SINGLE = /\{\s{0,20}([\p{L}_][\p{L}\p{N}_ .'-]{0,59}?)\s{0,20}\}(?!\})/uy;
const NAME = String.raw`[\p{L}_][\p{L}\p{N}_]{0,59}`;
const MEMBERS = String.raw`(?:\.${NAME}(?:\([^(){}\n]{0,60}\))?|\[[^[\]{}\n]{1,60}\]){0,5}`;
/** `>10`, `,.2f`, `%d %B`, `N2`, `yyyy-MM-dd`; not the second half of `{ a: b }`. */
const FORMAT = String.raw`:(?:(?:[^{}\n]?[<>=^])?[-+]?z?#?0?\d{0,4}[_,]?(?:\.\d{1,3})?(?:[a-zA-Z]\d{0,2}|%)?|[^{}\n"']{0,20}%[-a-zA-Z][^{}\n"']{0,40}|(?=[^{}]*(?:yy|MM|dd|HH|mm))[yMdHhmstf\/:. -]{2,30})`;
/**
 * Python's str.format and f-strings, other than a bare name, and positions: `{topic!r}`, `{topic:>10}`, `{topic[0]}`,
 * `{0}`.
 */
const PYTHON = new RegExp(
  String.raw`\{(?:(${NAME})(?!\})(${MEMBERS}=?(?:![rsa])?(?:${FORMAT})?)|(\d{1,2})(${MEMBERS}(?:![rsa])?(?:${FORMAT})?)|(?=[!:])(?:![rsa])?(?:${FORMAT})?)\}(?!\})`,
  "uy",
);
/** The same in double braces, where Liquid would read a name that contains these characters. */
const PYTHON_IN_TWO = new RegExp(
  String.raw`\{\{-?\s{0,20}(${NAME}${MEMBERS}(?:![rsa](?:${FORMAT})?|(?=:[^{}\n]*[<>=^%.,])${FORMAT}))\s{0,20}-?\}\}`,
  "uy",
);
/** Liquid prints it as is; in other languages it is a position, or the name of an input. */
const NUMBER = /\{\{-?\s{0,20}(\d{1,3})\s{0,20}-?\}\}/y;
const PERCENT = /%\(([^()\n]{1,60})\)[-#0 +]{0,3}\d{0,3}(?:\.\d{1,3})?[diouxXeEfFgGcrsa]/y;
const SQUARE = /\[\[\s{0,20}([^[\]\n]{1,80}?)\s{0,20}\]\]/y;
const ANGLE = /<<([\p{L}_][^<>\n]{0,79})>>/uy;
/** Braces from a Chinese or Japanese input method. */
const FULL_WIDTH = /｛{1,2}\s{0,20}([\p{L}_][\p{L}\p{N}_ .'-]{0,59}?)\s{0,20}｝{1,2}/uy;
const ERB = /<%[\s\S]{0,200}?%>/y;
const JINJA_COMMENT = /\{#[\s\S]{0,500}?#\}/y;
/** After these, a single brace belongs to LaTeX, a shell, or a number format: `\frac{a}`, `x_{i}`, `$${a}`. */
const NOT_BEFORE_A_BRACE = /[\p{L}\p{N}\\^_}$]/u;
/** After these, it is a repetition count of a regular expression: `[0-9]{2}`, `(ab){3}`. */
const NOT_BEFORE_A_NUMBER = /[\])}.*+?|]/;

/**
 * Ends after FAULTS_MAX faults.
 * @param declared the keys that the file declares, or null when it has no `inputs`.
 */
export function* findForeignSyntax(text: string, declared: ReadonlySet<string> | null): SlicedWork<ForeignSyntax[]> {
  const found: ForeignSyntax[] = [];
  let faultsLeft = FAULTS_MAX;
  const opening = /[{$[<｛%]/g;
  for (let start = opening.exec(text); start !== null; start = opening.exec(text)) {
    yield;
    const piece = readPiece(text, start.index, declared);
    if (piece === null) continue;
    if (piece.message !== null) found.push({ ...piece, message: piece.message, offset: start.index });
    if (piece.isFault) faultsLeft -= 1;
    if (faultsLeft === 0) break;
    opening.lastIndex = start.index + piece.text.length;
  }
  return found;
}

interface Piece {
  readonly text: string;
  /** Null: it is valid Liquid. */
  readonly message: string | null;
  readonly isFault: boolean;
}

type Reader = (groups: readonly string[], declared: ReadonlySet<string> | null) => Omit<Piece, "text">;

const OWN: Reader = () => ({ message: null, isFault: false });

/** In this order, longer forms first. */
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

/** Text that looks like a placeholder: a fault if an input has its name, otherwise a warning. */
function placeholder(name: string | null, declared: ReadonlySet<string> | null) {
  const key = name?.trim().normalize("NFC");
  const write = `To insert an input, write ${key === undefined ? "{{ name }}" : output(key)}.`;
  if (key !== undefined && declared?.has(key) === true)
    return fault(`This is sent to the model as is, but "${key}" is an input. ${write} ${MEANT_AS_TEXT}`);
  return warning(`This is sent to the model as is. ${write} ${MEANT_AS_TEXT}`);
}

/** A position is not an input's name, unless an input has exactly that name. */
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
