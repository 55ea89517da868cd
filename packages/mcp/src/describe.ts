/** Finding and describing prompts, for what does not speak the protocol itself. */
export { readChoice, type PromptChoice } from "./prompts/choice.ts";
export { describeField, describeOption, describePrice, oneLine } from "./prompts/describe-prompt.ts";
export { findChosen, findPrompt, type ShownPrompt } from "./prompts/find-prompts.ts";
