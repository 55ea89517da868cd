import { countOf, suggestName } from "@promptd/contract";
import { TypeGuards, type PropertyAccessToken, type Token, type Tokenizer, type ValueToken } from "liquidjs";
import type { FaultCode } from "../prompt-fault.ts";
import { hintFor } from "./syntax-hints.ts";
import { ALLOWED_FILTERS } from "./template-language.ts";

/** In one template. */
export const FAULTS_MAX = 50;

export interface ScanFault {
  /** Offset in the template, UTF-16 units. */
  readonly offset: number;
  readonly code: FaultCode;
  readonly message: string;
  /** The exact piece with the fault, if known. */
  readonly text?: string;
}

/** `name`: read directly, so an input or a local; `input` and `step`: read as `input["…"]` and `steps.…`. */
export interface Read {
  readonly kind: "name" | "input" | "step";
  readonly key: string;
  readonly offset: number;
}

export interface ExpressionFacts {
  readonly reads: Read[];
  readonly faults: ScanFault[];
  /** Reads that are a whole condition; empty text is true in Liquid. */
  readonly truthTests: Read[];
  /** Reads that are a whole value, without a filter; Liquid would print a list without separators. */
  readonly bare: Read[];
  /** Offsets of `forloop.…`. */
  readonly loopReads: number[];
  /** Number of operators, or of values of a `when`. */
  comparisons: number;
  filters: number;
}

/**
 * Reads one expression to the end of `reader`. `value`: one value and filters; `condition`: values joined by operators,
 * and filters. Anything left over is a fault, since Liquid would drop it silently.
 */
export function scanExpression(reader: Tokenizer, form: "value" | "condition"): ExpressionFacts {
  const facts = noFacts();
  const begin = reader.p;
  try {
    const tokens = [...reader.readExpressionTokens()];
    checkGrammar(tokens, form, facts, begin);
    facts.comparisons = tokens.filter((token) => TypeGuards.isOperatorToken(token)).length;
    // Names in a broken expression are not inputs.
    const isSound = facts.faults.length === 0;
    for (const token of isSound ? tokens : []) if (TypeGuards.isValueToken(token)) scanValue(token, facts);
    const filters = reader.readFilters();
    for (const filter of filters) scanFilter(filter, facts);
    facts.filters = filters.length;
    if (form === "condition" && filters.length === 0) collectTruthTests(tokens, facts);
    if (form === "value" && filters.length === 0) facts.bare.push(...facts.reads);
    reader.skipBlank();
    if (!reader.end()) addSyntax(facts, reader.p, `Unexpected ${reader.snapshot()} after the expression.`);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const hint = hintFor(reader.input.slice(begin, reader.N));
    addSyntax(facts, begin, `Invalid Liquid expression: ${firstLine(error.message)}.${hint}`);
  }
  return facts;
}

function noFacts(): ExpressionFacts {
  return { reads: [], faults: [], truthTests: [], bare: [], loopReads: [], comparisons: 0, filters: 0 };
}

/** Reads the values of `{% when a, b or c %}`. */
export function scanWhen(reader: Tokenizer): ExpressionFacts {
  const facts = noFacts();
  const begin = reader.p;
  try {
    while (scanWhenValue(reader, facts)) {
      if (reader.peek() === ",") reader.advance();
      else if (reader.readIdentifier().getText() !== "or") {
        addSyntax(facts, begin, 'Separate the values of "when" with "," or "or".');
        return facts;
      }
    }
    return facts;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    addSyntax(facts, begin, `Invalid list of values: ${firstLine(error.message)}.`);
    return facts;
  }
}

/** @returns false after the last value. */
function scanWhenValue(reader: Tokenizer, facts: ExpressionFacts): boolean {
  scanValue(reader.readValueOrThrow(), facts);
  facts.comparisons += 1;
  reader.skipBlank();
  return !reader.end();
}

function checkGrammar(
  tokens: readonly Token[],
  form: "value" | "condition",
  facts: ExpressionFacts,
  begin: number,
): void {
  if (tokens.length === 0) return addSyntax(facts, begin, "Expected an expression here.");
  if (form === "value" && tokens.length > 1) {
    const words = tokens.map((token) => token.getText()).join(" ");
    const message = `Expected one value before the first "|", got "${words}". To read a key that contains spaces, write {{ input["${words}"] }}.`;
    return addSyntax(facts, begin, message);
  }
  let wantsValue = true;
  for (const token of tokens) {
    const isNot = TypeGuards.isOperatorToken(token) && token.operator === "not";
    const fits = TypeGuards.isOperatorToken(token) ? (isNot ? wantsValue : !wantsValue) : wantsValue;
    if (!fits) return addSyntax(facts, token.begin, `Unexpected "${token.getText()}" in the expression.`);
    wantsValue = TypeGuards.isOperatorToken(token);
  }
  if (wantsValue) addSyntax(facts, begin, "Expected a value after the last operator.");
}

function collectTruthTests(tokens: readonly Token[], facts: ExpressionFacts): void {
  const readsByOffset = new Map(facts.reads.map((read) => [read.offset, read]));
  const groups: Token[][] = [[]];
  for (const token of tokens) {
    const operator = TypeGuards.isOperatorToken(token) ? token.operator : null;
    if (operator === "and" || operator === "or") groups.push([]);
    else if (operator !== "not") groups.at(-1)?.push(token);
  }
  for (const group of groups) {
    const [first] = group;
    const read = group.length === 1 && first !== undefined ? readsByOffset.get(first.begin) : undefined;
    if (read !== undefined) facts.truthTests.push(read);
  }
}

function scanFilter(filter: ReturnType<Tokenizer["readFilters"]>[number], facts: ExpressionFacts): void {
  const arity = ALLOWED_FILTERS.get(filter.name);
  if (arity === undefined) {
    const allowed = [...ALLOWED_FILTERS.keys()];
    const meant = suggestName(filter.name, allowed);
    const hint = meant === null ? `Filters: ${allowed.join(", ")}.` : `Did you mean "${meant}"?`;
    addSyntax(facts, filter.begin, `The filter "${filter.name}" does not exist. ${hint}`);
  } else {
    const given = filter.args.filter((arg) => !Array.isArray(arg)).length;
    const [min, max] = arity;
    const expected = min === max ? countOf(min, "argument") : `${min} to ${max} arguments`;
    if (given < min || given > max)
      addSyntax(facts, filter.begin, `The filter "${filter.name}" accepts ${expected}, got ${given}.`);
  }
  for (const arg of filter.args) {
    if (!Array.isArray(arg)) scanValue(arg, facts);
    else if (filter.name === "default" && arg[0] === "allow_false" && arg[1] !== undefined) scanValue(arg[1], facts);
    else addSyntax(facts, filter.begin, `The filter "${filter.name}" has no argument named "${arg[0] ?? ""}".`);
  }
}

function scanValue(token: ValueToken, facts: ExpressionFacts): void {
  if (TypeGuards.isPropertyAccessToken(token)) scanPath(token, facts);
  else if (TypeGuards.isRangeToken(token) || TypeGuards.isFilteredValueToken(token))
    addSyntax(facts, token.begin, "Ranges and groups in parentheses are not supported.");
  else if (TypeGuards.isQuotedToken(token)) checkQuote(token, facts);
}

function checkQuote(token: Token, facts: ExpressionFacts): void {
  const text = token.getText();
  if (text.length < 2 || text.at(-1) !== text[0])
    addSyntax(facts, token.begin, `The string ${text} has no closing quote.`);
}

const LOOP_FIELDS: ReadonlySet<string> = new Set(["index", "index0", "rindex", "first", "last", "length"]);

/** Only `key`, `input["key"]`, and `steps.id` may be read: any other path could reach something unintended. */
function scanPath(token: PropertyAccessToken, facts: ExpressionFacts): void {
  const segments: string[] = [];
  for (const prop of token.props) {
    if (TypeGuards.isQuotedToken(prop) || TypeGuards.isWordToken(prop)) segments.push(prop.content);
  }
  const text = token.getText();
  if (token.variable !== undefined || segments.length !== token.props.length || hasJunkInBrackets(token)) {
    const message = `"${text}": brackets must contain one quoted string, such as input["Child's Age"].`;
    return addPathFault(facts, token.begin, message);
  }
  const [root, key, ...rest] = segments as [string, ...string[]];
  if (root === "input" || root === "steps") {
    if (key !== undefined && rest.length === 0) {
      facts.reads.push({ kind: root === "input" ? "input" : "step", key, offset: token.begin });
      return;
    }
    const form = root === "input" ? 'input["key"]' : "steps.id";
    const message = `"${text}": expected one name after "${root}", as in ${form}.`;
    return addPathFault(facts, token.begin, message);
  }
  if (root === "forloop" && key !== undefined && LOOP_FIELDS.has(key) && rest.length === 0) {
    facts.loopReads.push(token.begin);
    return;
  }
  if (key === undefined) {
    facts.reads.push({ kind: "name", key: root, offset: token.begin });
    return;
  }
  const message = `"${text}": inputs are text and have no fields. Use a filter (size, first, last), or write input["…"].`;
  addPathFault(facts, token.begin, message);
}

/** `input["a" b]` reads "a" and drops b. */
function hasJunkInBrackets(token: PropertyAccessToken): boolean {
  return token.props.some((prop) => {
    if (!TypeGuards.isQuotedToken(prop)) return false;
    const close = token.input.indexOf("]", prop.end);
    return close === -1 || token.input.slice(prop.end, close).trim() !== "";
  });
}

function addSyntax(facts: ExpressionFacts, offset: number, message: string): void {
  facts.faults.push({ offset, code: "TEMPLATE_SYNTAX", message });
}

function addPathFault(facts: ExpressionFacts, offset: number, message: string): void {
  facts.faults.push({ offset, code: "PATH_ACCESS", message });
}

/** Liquid's messages continue with the surrounding source; the first line says what is wrong. */
export function firstLine(message: string): string {
  return (message.split("\n")[0] ?? "").replace(/, line:\d+, col:\d+$/, "");
}
