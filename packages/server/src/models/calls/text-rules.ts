/** What an author may ask of a model for text. */
export { featuresOf, wholeInstructions } from "../ai-sdk/call-settings.ts";
export type { TextSettings } from "../providers/text-features.ts";
export { schemaFault } from "./output-schema.ts";
