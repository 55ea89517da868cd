/** The parts of a conformance check. */

export interface SentRequest {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** As sent; null: no body. */
  readonly body: string | null;
}

export interface ReceivedResponse {
  readonly httpStatus: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed JSON body; undefined when it is not JSON. */
  readonly json: unknown;
}

export interface Exchange {
  readonly request: SentRequest;
  readonly response: ReceivedResponse;
}

/** A check that failed: what was expected, with the request and the response. */
export class Mismatch extends Error {
  override readonly name = "Mismatch";
  readonly exchange: Exchange | null;
  constructor(expected: string, exchange: Exchange | null) {
    super(expected);
    this.exchange = exchange;
  }
}

/** The server did not respond. */
export class NoAnswer extends Mismatch {
  /** Method and path. */
  readonly request: string;
  readonly reason: string;
  constructor(request: string, reason: string) {
    super(`a response to ${request}, not: ${reason}`, null);
    this.request = request;
    this.reason = reason;
  }
}

/** The check cannot run here, such as for lack of a second key. */
export class Skipped extends Error {
  override readonly name = "Skipped";
}

export interface Check<Context> {
  /** A sentence that says what a server does. */
  readonly name: string;
  /** The section of the specification. */
  readonly section: string;
  /** @throws Mismatch, Skipped, or an unexpected error. */
  readonly run: (context: Context) => Promise<void> | void;
}

export interface Group<Context> {
  readonly title: string;
  readonly checks: readonly Check<Context>[];
}

export interface Outcome {
  readonly group: string;
  readonly name: string;
  readonly section: string;
  readonly result: "passed" | "failed" | "skipped";
  /** What was expected, or why the check was skipped; null for a check that passed. */
  readonly detail: string | null;
  readonly exchange: Exchange | null;
}

/** Runs the checks one after another. `patterns`: only checks whose group or name contains one of them. */
export async function runChecks<Context>(
  groups: readonly Group<Context>[],
  context: Context,
  { patterns, onOutcome }: { readonly patterns: readonly string[]; readonly onOutcome: (outcome: Outcome) => void },
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { title, checks } of groups) {
    for (const check of checks.filter(({ name }) => isWanted(`${title}: ${name}`, patterns))) {
      const outcome = { group: title, name: check.name, section: check.section, ...(await runCheck(check, context)) };
      outcomes.push(outcome);
      onOutcome(outcome);
    }
  }
  return outcomes;
}

function isWanted(text: string, patterns: readonly string[]): boolean {
  return patterns.length === 0 || patterns.some((pattern) => text.toLowerCase().includes(pattern.toLowerCase()));
}

async function runCheck<Context>(
  check: Check<Context>,
  context: Context,
): Promise<Pick<Outcome, "result" | "detail" | "exchange">> {
  try {
    await check.run(context);
    return { result: "passed", detail: null, exchange: null };
  } catch (error) {
    if (error instanceof Skipped) return { result: "skipped", detail: error.message, exchange: null };
    if (error instanceof Mismatch) return { result: "failed", detail: error.message, exchange: error.exchange };
    if (error instanceof Error && error.name === "CommandFailure") throw error;
    return { result: "failed", detail: error instanceof Error ? error.message : String(error), exchange: null };
  }
}
