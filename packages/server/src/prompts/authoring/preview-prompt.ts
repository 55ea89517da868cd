/** Shows the exact messages that a run of a prompt would send. The prompt need not be published. */
import type { PromptPreview } from "@promptd/contract/manage";
import type { CreateRunBody } from "@promptd/contract";
import {
  requireEntry,
  wholeInstructions,
  wholePrompt,
  type Catalogue,
  type CatalogueEntry,
} from "../../models/index.ts";
import { checkInputs } from "../inputs/check-inputs.ts";
import { stepOptions } from "../inputs/step-plans.ts";
import type { LiveVersion, PromptSource, StepDefinition } from "../prompt-definition.ts";
import { buildConfig } from "../publishing/prompt-config.ts";
import { renderStep, type RenderedStep } from "../template/render-step.ts";
import { priceWith } from "./prompt-price.ts";
import type { JsonObject } from "../../platform/json.ts";

type PreviewStep = PromptPreview["steps"][number];

/** Turns a source into what a run sees of a published version, with empty ids. */
export function versionOf(source: PromptSource, catalogue: Catalogue): LiveVersion {
  const { title, model, modality, definition } = source;
  const config = buildConfig(definition, catalogue, model);
  return { promptId: "", promptVersionId: "", authorId: "", title, model, modality, config, definition };
}

export interface PreviewRequest {
  readonly textInputs: Readonly<Record<string, string>>;
  readonly runOptions: Readonly<Record<string, string>>;
  /** Texts of earlier steps by id; a missing one becomes `[output of step "id"]`. */
  readonly stepOutputs?: Readonly<Record<string, string>>;
}

/** @throws Problem VALIDATION_ERROR when a rendered text is too long. */
export function previewPrompt(source: PromptSource, request: PreviewRequest, catalogue: Catalogue): PromptPreview {
  const version = versionOf(source, catalogue);
  const { textInputs, runOptions } = request;
  const body: CreateRunBody = { promptVersionId: "", inputs: { textInputs }, runOptions };
  const checked = checkInputs(version, body, catalogue);
  const issues = checked.issues.filter((issue) => issue.code !== "image_count"); // nothing is sent, so no image is needed
  const { title } = source;
  const head = { title, issues, ignored: checked.ignored };
  if (issues.length > 0) return { ...head, steps: [], price: null };
  const outputs = { ...placeholderOutputs(version.definition.steps), ...request.stepOutputs };
  const steps = version.definition.steps.map((step, index): PreviewStep => {
    const rendered = renderStep(version, index, checked.textInputs, outputs);
    return {
      id: step.id,
      model: step.model,
      options: stepOptions(version, index, checked.options, catalogue),
      maxOutputTokens: step.maxOutputTokens,
      count: step.count,
      settings: { ...step.settings, ...(step.webSearch === undefined ? {} : { webSearch: step.webSearch }) },
      outputSchema: step.outputSchema ?? null,
      messages: messagesOf(rendered, {
        images: step.images.map((slot) => version.definition.images[slot]?.label ?? `Image ${slot + 1}`),
        outputSchema: step.outputSchema,
        entry: requireEntry(catalogue, step.model),
      }),
    };
  });
  return {
    ...head,
    steps,
    price: priceWith(version, { textInputs: checked.textInputs, runOptions: checked.options }, catalogue),
  };
}

function placeholderOutputs(steps: readonly StepDefinition[]): Record<string, string> {
  return Object.fromEntries(steps.map(({ id }) => [id, `[output of step "${id}"]`]));
}

/** Builds the messages that models/ai-sdk sends: image and video models get a single text. */
function messagesOf(
  { instructions, prompt, messages = [] }: RenderedStep,
  {
    images,
    ...call
  }: {
    readonly images: readonly string[];
    readonly entry: CatalogueEntry;
    readonly outputSchema: JsonObject | undefined;
  },
): PreviewStep["messages"] {
  if (call.entry.modality !== "text") return [{ role: "user", text: wholePrompt({ instructions, prompt }), images }];
  const whole = wholeInstructions({ instructions, ...call });
  const system = whole === "" ? [] : [{ role: "system" as const, text: whole, images: [] }];
  const earlier = messages.map(({ role, text }) => ({ role, text, images: [] }));
  return [...system, ...earlier, { role: "user", text: prompt, images }];
}
