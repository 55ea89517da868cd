/** Formats the outcomes of checks for a person. */
import { countOf } from "@promptd/contract";
import { printable, printableLine } from "../printable.ts";
import { shade, type Terminal } from "../terminal/terminal.ts";
import type { Exchange, Outcome } from "./check.ts";

const MARKS = { passed: "✓", failed: "✗", skipped: "–" } as const;
const SHADES = { passed: "green", failed: "red", skipped: "dim" } as const;

/** One line per check. Below a failed check: the request, the response, and what the specification says. */
export function describeOutcome(outcome: Outcome, terminal: Terminal): string {
  const { name, result, detail, section, exchange } = outcome;
  const line = `  ${shade(terminal, SHADES[result], MARKS[result])} ${printableLine(name)}`;
  if (result === "passed" || detail === null) return line;
  if (result === "skipped") return `${line} (${printableLine(detail)})`;
  return [
    line,
    ...describeExchange(exchange),
    `      expected  ${printableLine(detail)} (specification: ${section})`,
  ].join("\n");
}

const BODY_LENGTH_MAX = 400;

function describeExchange(exchange: Exchange | null): string[] {
  if (exchange === null) return [];
  const { request, response } = exchange;
  const body = request.body === null ? "" : ` ${cut(request.body)}`;
  const retryAfter = response.headers.get("retry-after");
  const headers = [response.headers.get("content-type"), retryAfter === null ? null : `Retry-After: ${retryAfter}`];
  const shown = headers.filter((header) => header !== null).join("; ");
  return [
    `      request   ${request.method} ${printableLine(request.path)}${body}`,
    `      response  HTTP ${response.httpStatus} (${shown}) ${cut(response.text)}`,
  ];
}

function cut(text: string): string {
  const line = printable(text).replaceAll(/\s+/g, " ");
  return line.length > BODY_LENGTH_MAX ? `${line.slice(0, BODY_LENGTH_MAX).toWellFormed()}…` : line;
}

export function countResults(outcomes: readonly Outcome[]): Record<Outcome["result"], number> {
  const count = (result: Outcome["result"]) => outcomes.filter((one) => one.result === result).length;
  return { passed: count("passed"), failed: count("failed"), skipped: count("skipped") };
}

export function describeCounts(outcomes: readonly Outcome[]): string {
  const { passed, failed, skipped } = countResults(outcomes);
  return `${countOf(outcomes.length, "check")}: ${passed} passed, ${failed} failed, ${skipped} skipped.`;
}
