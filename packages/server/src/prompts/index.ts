export { checkInputs, type CheckedInputs } from "./check-inputs.ts";
export type { LiveVersion, PromptDefinition, PromptSource, StepDefinition } from "./prompt-definition.ts";
export { PromptFileError, type PromptFault } from "./prompt-fault.ts";
export { parsePromptFile } from "./prompt-file.ts";
export { renderStep } from "./render-step.ts";
export { planSteps, stepOptions } from "./step-plans.ts";
