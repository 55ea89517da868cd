/** What authors do with prompts beside publishing them: functions with plain results, for commands and for HTTP alike. */
export { diffPrompts, type PromptDiff } from "./diff-prompts.ts";
export { previewPrompt, type PreviewRequest } from "./preview-prompt.ts";
export { tryPrompt, type TrialResult } from "./try-prompt.ts";
export { describePublication } from "./describe-publication.ts";
export { validatePrompts, type Validation } from "./validate-prompts.ts";
export { promptFileSchema } from "../format/field-schema.ts";
export { FOREIGN_FORMATS, type ForeignFormat } from "../format/foreign-format.ts";
export { importChecked, type CheckedImport } from "./import-checked.ts";
export { addSample, fileOfPrompt } from "../format/write-prompt-file.ts";
export { findLatestContent, listLatestPrompts } from "../publishing/publish-store.ts";
export type { ListedPrompt } from "../publishing/publish-store.ts";
