/** All kinds of faults that a prompt file can have. */
export type FaultCode =
  | "FILE_SYNTAX"
  | "FIELD"
  | "TEMPLATE_SYNTAX"
  | "PATH_ACCESS"
  | "INPUT_UNDECLARED"
  | "INPUT_UNUSED"
  | "SHADOWED"
  | "STEP_ORDER"
  | "MODEL"
  | "LIMITS"
  | "RENDER";

export interface PromptFault {
  /** Line of the file, from 1; null when the fault has no single line. */
  readonly line: number | null;
  /** Column in that line, from 1; absent when unknown. */
  readonly column?: number | undefined;
  /** Dotted path of the field, such as `inputs.topic.maxLength`; the body of a step is `body` or `steps.<id>`. */
  readonly field: string;
  readonly code: FaultCode;
  /** What is wrong and what was expected. */
  readonly message: string;
  /** The piece of the template with the fault, cut to one short line. */
  readonly excerpt?: string | undefined;
}

/** Importing thousands of prompts with the same mistake would otherwise print thousands of lines. */
const FAULTS_SHOWN = 100;

/** One mistake in each of the most prompts that a file may have. All 5,000 are a response of about a megabyte. */
const FAULTS_MAX = 5_000;

/** Collects the faults of a file. */
export class FaultList {
  readonly faults: PromptFault[];
  readonly #prefix: string;

  constructor(prefix = "", faults: PromptFault[] = []) {
    this.#prefix = prefix;
    this.faults = faults;
  }

  /** True: a further fault is only counted, so finding out what its author may have meant is not worth the time. */
  get isLong(): boolean {
    return this.faults.length >= FAULTS_SHOWN;
  }

  /** True: the rest of the file is not checked. */
  get isFull(): boolean {
    return this.faults.length >= FAULTS_MAX;
  }

  /** The same list for one of several prompts in a file: `field` paths are relative to that prompt. */
  within(prefix: string): FaultList {
    return new FaultList(this.#prefix + prefix, this.faults);
  }

  add(fault: PromptFault): void {
    this.faults.push({ ...fault, field: this.#prefix + fault.field });
  }

  addField(line: number | null, field: string, message: string): void {
    this.add({ line, field, code: "FIELD", message });
  }
}

/** All faults of one file. It is for the author, who owns the text, so it may quote the template. */
export class PromptFileError extends Error {
  override readonly name = "PromptFileError";
  readonly faults: readonly PromptFault[];

  constructor(faults: readonly PromptFault[]) {
    const sorted = faults.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
    const shown = sorted.slice(0, FAULTS_SHOWN).map(faultText);
    const more = sorted.length - shown.length;
    super([...shown, ...(more > 0 ? [`and ${more} more`] : [])].join("\n"));
    this.faults = sorted;
  }
}

/** `line 7, column 3, template: …  Here: {{ the topic }} [CODE]` */
export function faultText({ line, column, field, message, code, excerpt }: PromptFault): string {
  const location = `${line === null ? "" : `line ${line}, `}${column === undefined ? "" : `column ${column}, `}`;
  const here = excerpt === undefined ? "" : `${/[.!?]$/.test(message) ? "" : "."} Here: ${excerpt}`;
  return `${location}${field}: ${message}${here} [${code}]`;
}
