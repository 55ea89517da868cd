/** Finds and describes prompts, for code that does not use MCP. */
export { readChoice, type PromptChoice } from "./prompts/choice.ts";
export { describeField, describeInputs, describeOption, describePrice, oneLine } from "./prompts/describe-prompt.ts";
export { findById, findChosen, findPrompt, type ShownPrompt } from "./prompts/find-prompts.ts";
