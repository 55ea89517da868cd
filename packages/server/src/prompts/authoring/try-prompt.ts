/** Tries a prompt, published or not: runs its steps in order and compares the last output. */
import { countOf } from "@promptd/contract";
import type { LoadedImage } from "../../files/index.ts";
import type { Catalogue, DirectAnswer, DirectRequest } from "../../models/index.ts";
import { Problem } from "../../platform/problem.ts";
import { checkInputs } from "../inputs/check-inputs.ts";
import { stepOptions } from "../inputs/step-plans.ts";
import type { Expectations, PromptSource, PromptTest } from "../prompt-definition.ts";
import { renderStep } from "../template/render-step.ts";
import { compareText, NO_TEXT } from "./expectations.ts";
import { versionOf } from "./preview-prompt.ts";

export interface TrialPorts {
  readonly catalogue: Catalogue;
  call(model: string, request: DirectRequest): Promise<DirectAnswer>;
  /** Loads images in a form that the model accepts. */
  loadImages(model: string, sources: readonly string[]): Promise<readonly LoadedImage[]>;
}

export interface TrialResult {
  readonly name: string;
  readonly passed: boolean;
  /** Expectations that were not met, or why there is no output. */
  readonly failures: readonly string[];
  /** Text of the last step; null: it failed, or its output is not text. */
  readonly output: string | null;
}

export async function tryPrompt(source: PromptSource, test: PromptTest, ports: TrialPorts): Promise<TrialResult> {
  const { name } = test;
  try {
    const answer = await runSteps(source, test, ports);
    if (answer.kind === "failed") return { name, passed: false, failures: [answer.message], output: null };
    const failures = await compare(answer, test.expect, { source, ports });
    return { name, passed: failures.length === 0, failures, output: answer.kind === "text" ? answer.text : null };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { name, passed: false, failures: [error.message], output: null };
  }
}

async function runSteps(source: PromptSource, test: PromptTest, ports: TrialPorts): Promise<DirectAnswer> {
  const { catalogue } = ports;
  const version = versionOf(source, catalogue);
  const body = { promptVersionId: "", inputs: { textInputs: test.textInputs }, runOptions: test.options };
  const checked = checkInputs(version, body, catalogue);
  const issue = checked.issues.find(({ code }) => code !== "image_count");
  if (issue !== undefined) return { kind: "failed", message: issue.message };
  const slots = version.definition.images.length;
  if (test.images.length !== slots)
    return {
      kind: "failed",
      message: `The prompt expects ${countOf(slots, "image")}; the test has ${test.images.length}.`,
    };
  const texts: Record<string, string> = {};
  let answer: DirectAnswer = { kind: "failed", message: "The prompt has no steps." };
  for (const [index, step] of version.definition.steps.entries()) {
    const sources = step.images.flatMap((slot) => test.images[slot] ?? []);
    const isMask = (at: number) => version.definition.images[step.images[at] ?? -1]?.mask === true;
    const loaded = sources.length === 0 ? [] : await ports.loadImages(step.model, sources);
    answer = await ports.call(step.model, {
      ...renderStep(version, index, checked.textInputs, texts),
      options: stepOptions(version, index, checked.options, catalogue),
      images: loaded.map((image, at) => (isMask(at) ? { ...image, isMask: true } : image)),
      settings: step.settings,
      outputSchema: step.outputSchema,
      webSearch: step.webSearch,
      maxOutputTokens: step.maxOutputTokens,
      item: 0,
    });
    if (answer.kind === "failed") return { kind: "failed", message: `Step ${step.id}: ${answer.message}` };
    if (answer.kind === "text") texts[step.id] = answer.text;
  }
  return answer;
}

interface Comparison {
  readonly source: PromptSource;
  readonly ports: TrialPorts;
}

async function compare(answer: DirectAnswer, expect: Expectations, comparison: Comparison): Promise<string[]> {
  const { judge = [] } = expect;
  if (answer.kind !== "text") {
    const kinds = Object.keys(expect).filter((kind) => kind !== "judgeModel");
    return kinds.length > 0 ? [NO_TEXT] : [];
  }
  const { text } = answer;
  const failures = await compareText(text, expect);
  for (const statement of judge) failures.push(...(await judged(statement, text, { ...comparison, expect })));
  return failures;
}

const VERDICT = {
  type: "object",
  properties: { reason: { type: "string" }, holds: { type: "boolean" } },
  required: ["reason", "holds"],
  additionalProperties: false,
};

/** Asks a model whether a statement about the output is true. */
async function judged(
  statement: string,
  text: string,
  { source, ports, expect }: Comparison & { readonly expect: Expectations },
): Promise<string[]> {
  const model = expect.judgeModel ?? source.model;
  const answer = await ports.call(model, {
    instructions:
      "You check the output of another model. Say whether the statement about it holds, and why in one sentence.",
    prompt: `Statement: ${statement}\n\nOutput:\n${text}`,
    options: {},
    images: [],
    outputSchema: VERDICT,
    maxOutputTokens: null,
    item: 0,
  });
  if (answer.kind !== "text")
    return [`judge: ${answer.kind === "failed" ? answer.message : `${model} does not output text.`}`];
  const verdict = JSON.parse(answer.text) as { holds: boolean; reason: string };
  return verdict.holds ? [] : [`judge: ${statement} (${verdict.reason})`];
}
