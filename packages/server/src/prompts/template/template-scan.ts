/**
 * Checks a template before anything is rendered: finds what it inserts and assigns, and all its faults at once. Liquid
 * itself is lenient (`{{ the topic }}` prints the first of two variables, `[key]` reads a name chosen by a value, words
 * after `)` vanish) and stops at the first error. A run must never hit any of these.
 */
import { TypeGuards, type TagToken, type Tokenizer, type TopLevelToken } from "liquidjs";
import { runAtOnce, type SlicedWork } from "../../platform/time-slice.ts";
import {
  FAULTS_MAX,
  firstLine,
  scanExpression,
  scanWhen,
  type ExpressionFacts,
  type Read,
  type ScanFault,
} from "./expression-scan.ts";
import {
  ALLOWED_TAGS,
  COMPARISON_WORK,
  COMPARISONS_MAX,
  engine,
  readerOf,
  RESERVED_NAMES,
  TEMPLATE_LENGTH_MAX,
  WORK_MAX,
} from "./template-language.ts";
import { hintFor, meantTag } from "./syntax-hints.ts";
import { LIST_ITEMS_MAX } from "../text-input-rules.ts";

export interface TemplateFacts {
  /** Keys read, in order of appearance, each once. */
  readonly inputs: ReadonlyMap<string, Read>;
  readonly steps: ReadonlyMap<string, Read>;
  /** Names the template assigns, with the offset of the first assignment. */
  readonly locals: ReadonlyMap<string, number>;
  readonly faults: readonly ScanFault[];
  readonly truthTests: readonly Read[];
  /** Inputs that loops iterate over. */
  readonly loops: readonly Read[];
  /** Reads that stand alone as a value, without a filter. */
  readonly bare: readonly Read[];
  /** Outputs, tags, filters, and comparisons; each one in a loop counts as often as a list may have items. */
  readonly work: number;
}

const BLOCKS: Readonly<Record<string, { readonly branches: readonly string[]; readonly end: string }>> = {
  if: { branches: ["elsif", "else"], end: "endif" },
  unless: { branches: ["elsif", "else"], end: "endunless" },
  case: { branches: ["when", "else"], end: "endcase" },
  for: { branches: ["else"], end: "endfor" },
};
const NESTING_MAX = 32;

/** @param workMax what the prompt's other templates leave of the limit. */
export function scanTemplate(text: string, workMax: number = WORK_MAX): TemplateFacts {
  return runAtOnce(scanInSlices(text, workMax));
}

/** The same, for a caller who lets other work run in between. */
export function* scanInSlices(text: string, workMax: number): SlicedWork<TemplateFacts> {
  const scan = new TemplateScan(workMax);
  if (text.length > TEMPLATE_LENGTH_MAX) {
    scan.fault(0, `The template is ${text.length} characters long; the limit is ${TEMPLATE_LENGTH_MAX}.`, "LIMITS");
    return scan;
  }
  try {
    const tokens = readerOf(text).readTopLevelTokens(engine.options);
    yield;
    yield* scan.readTokens(tokens);
    scan.checkComparisons();
    scan.checkWork();
    if (scan.faults.length === 0) engine.parse(text);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const offset = offsetOf(error);
    scan.fault(offset, `${firstLine(error.message)}.${hintFor(firstLine(text.slice(offset)))}`);
  }
  return scan;
}

class TemplateScan implements TemplateFacts {
  readonly inputs = new Map<string, Read>();
  readonly steps = new Map<string, Read>();
  readonly locals = new Map<string, number>();
  readonly faults: ScanFault[] = [];
  readonly truthTests: Read[] = [];
  readonly loops: Read[] = [];
  readonly bare: Read[] = [];
  readonly #open: { readonly tag: string; hasElse: boolean }[] = [];
  readonly #workMax: number;
  work = 0;
  #inComment = false;
  #comparisons = 0;

  constructor(workMax: number) {
    this.#workMax = workMax;
  }

  fault(offset: number, message: string, code: ScanFault["code"] = "TEMPLATE_SYNTAX"): void {
    if (this.faults.length < FAULTS_MAX) this.faults.push({ offset, code, message });
  }

  checkComparisons(): void {
    if (this.#comparisons <= COMPARISONS_MAX) return;
    const message = `The template makes ${this.#comparisons} comparisons; the limit is ${COMPARISONS_MAX}.`;
    this.fault(0, message, "LIMITS");
  }

  checkWork(): void {
    if (this.work <= this.#workMax) return;
    const most = WORK_MAX.toLocaleString("en");
    const message = `The prompt's templates have more than ${most} outputs, tags, and filters in total. A comparison counts as ${COMPARISON_WORK}, and everything inside a loop counts ${LIST_ITEMS_MAX} times.`;
    this.fault(0, message, "LIMITS");
  }

  /**
   * Stops when no more faults are reported, since each Liquid error counts the lines before it; when tags are nested
   * too deeply, since each checks the tags around it; and when there is too much work.
   */
  *readTokens(tokens: readonly TopLevelToken[]): SlicedWork<void> {
    for (const token of tokens) {
      if (this.faults.length >= FAULTS_MAX || this.#open.length > NESTING_MAX || this.work > this.#workMax) return;
      if (this.#inComment) {
        if (TypeGuards.isTagToken(token) && token.name === "endcomment") this.#inComment = false;
      } else if (TypeGuards.isTagToken(token)) {
        this.#countWork(1);
        this.#readTag(token);
      } else if (TypeGuards.isOutputToken(token)) {
        this.#countWork(1);
        this.#add(scanExpression(readerOf(token.input, token.contentRange), "value"));
      }
      yield;
    }
  }

  #readTag(token: TagToken): void {
    const reader = readerOf(token.input, token.contentRange);
    reader.readTagName();
    const { name } = token;
    if (name === "comment") this.#inComment = true;
    else if (name === "raw" || name === "endraw" || name === "#") return;
    else if (name === "assign") this.#readAssign(reader);
    else if (Object.hasOwn(BLOCKS, name)) this.#openBlock(token, reader);
    else if (!this.#readBranch(token, reader)) {
      const meant = meantTag(name, token.args);
      const allowed = `Allowed tags: ${[...ALLOWED_TAGS].join(", ")}, and their branches and end tags.`;
      const instead = meant === null ? allowed : `Write {% ${meant} … %}.`;
      this.fault(token.begin, `The tag "${name}" is not allowed here. ${instead}`);
    }
  }

  #openBlock(token: TagToken, reader: Tokenizer): void {
    if (token.name === "for") this.#readLoop(token, reader);
    this.#open.push({ tag: token.name, hasElse: false });
    if (this.#open.length === NESTING_MAX + 1)
      this.fault(token.begin, `Tags are nested more than ${NESTING_MAX} levels deep.`);
    if (token.name !== "for") this.#add(scanExpression(reader, token.name === "case" ? "value" : "condition"));
  }

  /**
   * Reads `{% for item in things %}`: a name and one input. Nested loops are not allowed, since they would multiply.
   */
  #readLoop(token: TagToken, reader: Tokenizer): void {
    if (this.#isInLoop()) this.fault(token.begin, "Loops cannot be nested.");
    const name = reader.readIdentifier().getText();
    const word = reader.readIdentifier().getText();
    if (name === "" || word !== "in")
      return this.fault(token.begin, "A loop must have the form {% for item in things %}.");
    if (RESERVED_NAMES.has(name))
      this.fault(token.begin, `"${name}" is a reserved name and cannot be assigned.`, "SHADOWED");
    const facts = scanExpression(reader, "value");
    const [collection] = facts.reads;
    if (
      facts.faults.length === 0 &&
      (collection === undefined || facts.bare.length !== 1 || collection.kind === "step")
    )
      this.fault(token.begin, "A loop must iterate over one input of type list, without filters.");
    else if (collection !== undefined) this.loops.push(collection);
    this.#add({ ...facts, bare: [] });
    if (!this.locals.has(name)) this.locals.set(name, token.begin);
  }

  #countWork(parts: number): void {
    this.work += parts * (this.#isInLoop() ? LIST_ITEMS_MAX : 1);
  }

  #isInLoop(): boolean {
    return this.#open.some(({ tag }) => tag === "for");
  }

  /** Reads elsif, else, when, and end tags; false when this tag is not allowed here. */
  #readBranch(token: TagToken, reader: Tokenizer): boolean {
    const block = this.#open.at(-1);
    const shape = block === undefined ? undefined : BLOCKS[block.tag];
    if (block === undefined || shape === undefined) return false;
    if (token.name === shape.end) this.#open.pop();
    else if (!shape.branches.includes(token.name)) return false;
    else if (block.hasElse) this.fault(token.begin, `"${token.name}" comes after "else" and would never run.`);
    if (token.name === "elsif") this.#add(scanExpression(reader, "condition"));
    else if (token.name === "when") this.#add(scanWhen(reader));
    else if (token.args.trim() !== "") {
      const meant = meantTag(token.name, token.args);
      const hint = meant === null ? "" : ` Write {% ${meant} … %}.`;
      this.fault(token.begin, `"${token.name}" does not accept arguments, got "${token.args}".${hint}`);
    }
    if (token.name === "else") block.hasElse = true;
    return true;
  }

  #readAssign(reader: Tokenizer): void {
    const name = reader.readIdentifier();
    reader.skipBlank();
    if (name.size() === 0 || reader.peek() !== "=") {
      return this.fault(name.begin, "An assignment must have the form {% assign name = value %}.");
    }
    reader.advance();
    this.#add(scanExpression(reader, "value"));
    const key = name.getText();
    if (RESERVED_NAMES.has(key))
      this.fault(name.begin, `"${key}" is a reserved name and cannot be assigned.`, "SHADOWED");
    else if (!this.locals.has(key)) this.locals.set(key, name.begin);
  }

  #add(facts: ExpressionFacts): void {
    for (const fault of facts.faults) this.fault(fault.offset, fault.message, fault.code);
    for (const read of facts.reads) this.#addRead(read);
    this.truthTests.push(...facts.truthTests);
    this.bare.push(...facts.bare);
    for (const offset of this.#isInLoop() ? [] : facts.loopReads)
      this.fault(offset, '"forloop" is available only inside {% for %}.', "PATH_ACCESS");
    this.#comparisons += facts.comparisons;
    this.#countWork(facts.filters + facts.comparisons * COMPARISON_WORK);
  }

  #addRead(read: Read): void {
    if (read.kind === "name" && this.locals.has(read.key)) return;
    if (read.kind === "name" && RESERVED_NAMES.has(read.key)) {
      const message = `"${read.key}" is a reserved name. To read an input with this name, write input["${read.key}"].`;
      return this.fault(read.offset, message, "PATH_ACCESS");
    }
    const table = read.kind === "step" ? this.steps : this.inputs;
    if (!table.has(read.key)) table.set(read.key, read);
  }
}

/** Liquid's own errors have the token that they are about. */
function offsetOf(error: Error): number {
  return "token" in error && error.token !== null && typeof error.token === "object" && "begin" in error.token
    ? Number(error.token.begin)
    : 0;
}
