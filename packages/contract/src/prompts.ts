import type { ImageInput, OutputItem } from "./runs.ts";

export const MODALITIES = ["text", "image", "video"] as const;
export type Modality = (typeof MODALITIES)[number];

/** One text input as a form needs it. The text behind a choice name is template and is never sent. */
export interface TextInputField {
  /** Display order from 0; JSON objects cannot carry it. */
  readonly position: number;
  /** Values of every type are texts on the wire. */
  readonly type: "text" | "select" | "number" | "boolean" | "date" | "list";
  readonly label: string;
  readonly description: string;
  /** True exactly when `default` is null. */
  readonly required: boolean;
  /** True: the empty string and blanks are real values. */
  readonly allowEmpty: boolean;
  readonly default: string | null;
  /** Code points; null: only the general limit of 100 KiB. */
  readonly maxLength: number | null;
  readonly options: readonly string[] | null;
  /** How many choices, or items of a list. */
  readonly multiple: { readonly min: number; readonly max: number } | null;
  /** Bounds of a number; absent: none. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

export interface ImageInputSlot {
  readonly position: number;
  readonly label: string;
  readonly description: string;
}

/** Input configuration of a prompt version: enough to build a form and a run, never the template. */
export interface PromptConfig {
  readonly textInputs: Readonly<Record<string, TextInputField>>;
  /** The i-th image of a run fills the i-th slot. */
  readonly imageInputs: readonly ImageInputSlot[];
  readonly imageCount: number;
  readonly model: string;
  readonly modality: Modality;
  readonly runOptions: Readonly<
    Record<string, { readonly default: string | null; readonly options: readonly string[] }>
  >;
  /** `schema`: JSON Schema 2020-12 of the JSON that the text of the last output is; absent: any text. */
  readonly output: { readonly type: Modality; readonly schema?: Readonly<Record<string, unknown>> | undefined };
  /** Present: its models may search the web, with words of the inputs. `creditsRequired` holds what searches may cost. */
  readonly webSearch?:
    | {
        /** The most searches that one run pays for. */
        readonly searchesMax: number;
      }
    | undefined;
  /** JSON Schema 2020-12 of the `inputs` member of a run. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** What one run with default options usually costs, rounded up; 0 when free. */
  readonly estimatedCredits: number;
  /**
   * Credits that must be available to create such a run with texts of up to 500 characters each: the most it can cost.
   * What it did not cost is available again when it ends.
   */
  readonly creditsRequired: number;
}

/** GET /v1/prompts/:promptId and GET /v1/prompt-versions/:promptVersionId. */
export interface PromptVersion {
  readonly promptVersionId: string;
  readonly promptId: string;
  readonly title: string;
  readonly publishedAt: string;
  readonly config: PromptConfig;
}

export interface PromptSamples {
  readonly inputs: {
    readonly textInputs: Readonly<Record<string, string>>;
    readonly imageInputs: readonly ImageInput[];
  };
  readonly outputs: readonly OutputItem[];
}

/** One row of GET /v1/prompts/publish. */
export interface SearchRow {
  readonly promptId: string;
  readonly promptVersionId: string;
  readonly title: string;
  readonly description: string;
  readonly slug: string;
  /** Model index of the catalogue: stable, never reused. */
  readonly model: number;
  /** 0 = text, 1 = image. */
  readonly modality: number;
  /** Credits of one run with default options, rounded up; 0 when free. */
  readonly estimatedCredits: number;
  readonly uses: number;
  readonly upVotes: number;
  readonly publishedAt: string;
  readonly samples: PromptSamples;
  readonly configs: PromptConfig;
}

export interface SearchResult {
  readonly rows: readonly SearchRow[];
}

/** One row of GET /v1/prompt-slugs. */
export interface NamedPrompt extends SlugVersion {
  readonly description: string;
}

/** GET /v1/prompt-slugs: several prompts at once, by their slugs or by a label. */
export interface NamedPrompts {
  /** In the order in which they were asked for; those of a label by slug. */
  readonly rows: readonly NamedPrompt[];
  /** Names that lead to no published prompt. */
  readonly missing: readonly string[];
}

/** GET /v1/prompt-slugs/:slug: the version that a slug, or a label of it, leads to. */
export interface SlugVersion extends PromptVersion {
  readonly slug: string;
  /** As it was asked for; null: the latest version. */
  readonly label: string | null;
}

/** The text inputs of a prompt with their keys, in the order of its form. */
export function orderedInputs({ textInputs }: Pick<PromptConfig, "textInputs">): [string, TextInputField][] {
  return Object.entries(textInputs).toSorted(([, a], [, b]) => a.position - b.position);
}
