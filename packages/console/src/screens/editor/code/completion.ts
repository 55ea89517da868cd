/** Completion for fields, models, options, inputs, and filters. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { PromptConfig } from "@promptd/contract";
import type { ManagedModel } from "@promptd/contract/manage";

/** What is known about the file and the server. */
export interface Known {
  /** From the last check without faults; null if there was none yet. */
  readonly config: PromptConfig | null;
  readonly models: readonly ManagedModel[];
}

/** docs/prompt-files.md, "Fields". */
const FIELDS =
  "id title slug description tags model inputs images instructions options maxOutputTokens count reasoningEffort temperature topP seed stop messages output webSearch steps samples tests fallback promptd";
/** Tags filter the marketplace. Nothing else in the editor mentions them. */
const TAGS = "[gift, travel], to be found by";
const INPUT_FIELDS = "type label description default allowEmpty maxLength options multiple min max";
/** docs/prompt-files.md, "Roles". */
const ROLES = "text-default image-default image-edit-default video-default video-from-image-default";
/** docs/prompt-files.md, "Templates"; a test compares this list with the server's. */
export const FILTERS =
  "default upcase downcase capitalize strip lstrip rstrip strip_newlines append prepend replace remove truncate truncatewords split join first last size json plus minus times divided_by modulo round number_of_words".split(
    " ",
  );
const LIQUID_TAGS =
  "if elsif else endif unless endunless case when endcase for endfor assign comment endcomment raw endraw";

const words = (text: string, type: string, suffix = ""): Completion[] =>
  text.split(" ").map((label) => ({ label, type, apply: label + suffix }));

export function completePrompt(known: () => Known): (context: CompletionContext) => CompletionResult | null {
  return (context) => {
    const { state, pos } = context;
    const line = state.doc.lineAt(pos);
    const before = line.text.slice(0, pos - line.from);
    const word = context.matchBefore(/[\w./-]*/);
    const from = word?.from ?? pos;
    const typed = word?.text ?? "";
    if (typed === "" && !context.explicit && !/(\{\{-?|\{%-?|\||:)\s+$/.test(before)) return null;
    const fences = state.doc.sliceString(0, line.from).match(/^---\s*$/gm)?.length ?? 0;
    const options =
      fences === 1 ? ofHead(before, blockOf(state.doc.sliceString(0, line.from)), known()) : ofBody(before, known());
    return options.length === 0 ? null : { from, options, validFor: /^[\w./-]*$/ };
  };
}

/** The head's field that the next line belongs to. */
function blockOf(text: string): string {
  return [...text.matchAll(/^([A-Za-z]+):/gm)].at(-1)?.[1] ?? "";
}

function ofHead(before: string, block: string, { config, models }: Known): Completion[] {
  if (/^\s*(- )?model:\s*\S*$/.test(before)) {
    const enabled = models.filter(({ enabled: isEnabled }) => isEnabled);
    return [
      ...enabled.map(({ model, modality, price }) => ({
        label: model,
        type: "type",
        detail: `${modality} ${price}`.trim(),
      })),
      ...words(ROLES, "type").map((role) => ({ ...role, detail: "role" })),
    ];
  }
  const runOptions = config?.runOptions ?? {};
  const isOptions = /^options:\s*\{?/.test(before) || (block === "options" && /^\s/.test(before));
  if (isOptions) {
    const named = /([A-Za-z]+):\s*"?[\w.-]*$/.exec(before)?.[1] ?? "";
    const values = runOptions[named]?.options;
    if (values !== undefined) return values.map((label) => ({ label, type: "enum" }));
    return Object.keys(runOptions).map((label) => ({ label, type: "property", apply: `${label}: ` }));
  }
  if (/^[A-Za-z]*$/.test(before))
    return words(FIELDS, "property", ": ").map((field) =>
      field.label === "tags" ? { ...field, detail: TAGS } : field,
    );
  return block === "inputs" && /^\s{3,}[A-Za-z]*$/.test(before) ? words(INPUT_FIELDS, "property", ": ") : [];
}

function ofBody(before: string, { config }: Known): Completion[] {
  const open = /(\{\{-?|\{%-?)([^}]*)$/.exec(before);
  if (open === null) return [];
  const [, bracket = "", inside = ""] = open;
  if (/\|\s*\w*$/.test(inside)) return FILTERS.map((label) => ({ label, type: "function" }));
  if (bracket.startsWith("{%") && /^\s*\w*$/.test(inside)) return words(LIQUID_TAGS, "keyword");
  return Object.entries(config?.textInputs ?? {}).map(([name, { label }]) => ({
    label: /^[A-Za-z_]\w*$/.test(name) ? name : `input["${name}"]`,
    type: "variable",
    detail: label === name ? "" : label,
  }));
}
