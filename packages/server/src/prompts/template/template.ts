import type { Template } from "liquidjs";
import { engine } from "./template-language.ts";

/** UTF-16 units of one rendered text. */
export const RENDERED_LENGTH_MAX = 1_000_000;

export interface ParsedTemplate {
  readonly nodes: readonly Template[];
  /** Names the template assigns. They are empty text until assigned, so that a skipped branch leaves none undefined. */
  readonly locals: readonly string[];
}

export interface RenderScope {
  /** Every declared key with its final value. */
  readonly inputs: ReadonlyMap<string, InsertedValue>;
  /** Outputs of the earlier steps that the template reads. */
  readonly steps: ReadonlyMap<string, string>;
}

/** A text, or the value of a typed input. */
export type InsertedValue = string | number | boolean | readonly string[];

export type Rendered =
  | { readonly kind: "text"; readonly text: string }
  /** `length` is null if the text became too long to exist at all. */
  | { readonly kind: "too-long"; readonly length: number | null };

export function parseTemplate(text: string, locals: readonly string[]): ParsedTemplate {
  return { nodes: engine.parse(text), locals };
}

/**
 * Inserts the values as text; they are never parsed as template. Never throws for a template that passed the scan at
 * publishing and a scope with all its keys: an error is a bug.
 */
export function renderTemplate(template: ParsedTemplate, scope: RenderScope): Rendered {
  if (template.nodes.length === 0) return { kind: "text", text: "" }; // as most instructions are
  const context = contextOf(template, scope);
  let text: string;
  try {
    text = engine.renderSync([...template.nodes], context) as string;
  } catch (error) {
    if (isLimitError(error)) return { kind: "too-long", length: null };
    throw error;
  }
  // Check the length first: the text is a rope, and comparing or copying 500 MB would itself do the harm.
  if (text.length > RENDERED_LENGTH_MAX) return { kind: "too-long", length: text.length };
  return { kind: "text", text: text.toWellFormed() };
}

/** V8 reports a text over 512 MiB as `Invalid string length`. */
function isLimitError(error: unknown): boolean {
  return /limit exceeded|Invalid string length/.test(messageOf(error));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}

/** No object has a prototype, so `constructor` is an ordinary key or unknown. The two reserved names come last. */
function contextOf(template: ParsedTemplate, scope: RenderScope): object {
  const context = bare();
  for (const name of template.locals) context[name] = "";
  for (const [key, value] of scope.inputs) context[key] = value;
  context["input"] = bare(scope.inputs);
  context["steps"] = bare(scope.steps);
  return context;
}

function bare(entries: ReadonlyMap<string, InsertedValue> = new Map()): Record<string, unknown> {
  const object = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of entries) object[key] = value;
  return object;
}
