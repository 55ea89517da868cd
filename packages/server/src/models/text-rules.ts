/** What an author may ask of a model for text. */
export { featuresOf, wholeInstructions, wholePrompt } from "./ai-sdk/call-settings.ts";
export type { WebSearchChoice } from "./ai-sdk/model-adapter.ts";
export type { TextSettings } from "./providers/text-features.ts";
export { callDirectly, type DirectAnswer, type DirectRequest } from "./calls/direct-call.ts";
export { readJsonAnswer, schemaFault } from "./calls/output-schema.ts";
