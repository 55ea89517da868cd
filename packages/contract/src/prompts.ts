import type { ImageInput, OutputItem } from "./runs.ts";

export const MODALITIES = ["text", "image", "video"] as const;
export type Modality = (typeof MODALITIES)[number];

/** One text input, as a form needs it. The text behind a choice is part of the template and is never returned. */
export interface TextInputField {
  /** Display order, from 0. JSON objects do not preserve it. */
  readonly position: number;
  /** Values of every type are sent as strings. */
  readonly type: "text" | "select" | "number" | "boolean" | "date" | "list";
  readonly label: string;
  readonly description: string;
  /** True exactly when `default` is null. */
  readonly required: boolean;
  /** True: the empty string and white space are valid values. */
  readonly allowEmpty: boolean;
  readonly default: string | null;
  /** In code points; null: only the general limit of 100 KiB applies. */
  readonly maxLength: number | null;
  readonly options: readonly string[] | null;
  /** How many choices or list items a value can have. */
  readonly multiple: { readonly min: number; readonly max: number } | null;
  /** Bounds of a number; absent: no bound. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

export interface ImageInputSlot {
  readonly position: number;
  readonly label: string;
  readonly description: string;
}

/** Input configuration of a prompt version: everything needed to build a form and a run, never the template. */
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
  /** `schema`: JSON Schema 2020-12 of the last output's text, which is JSON; absent: any text. */
  readonly output: { readonly type: Modality; readonly schema?: Readonly<Record<string, unknown>> | undefined };
  /**
   * Present: the models may search the web, with words from the inputs. `creditsRequired` includes the cost of
   * searches.
   */
  readonly webSearch?:
    | {
        /** Maximum number of searches that one run pays for. */
        readonly searchesMax: number;
      }
    | undefined;
  /** JSON Schema 2020-12 of the `inputs` member of a run. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Typical cost of one run with default options, rounded up; 0 when free. */
  readonly estimatedCredits: number;
  /**
   * Credits that must be available to create such a run with texts of up to 500 characters each: its maximum cost.
   * Unused credits become available again when the run ends.
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
  /** The model's index in the catalogue: stable, never reused. */
  readonly model: number;
  /** 0 = text, 1 = image. */
  readonly modality: number;
  /** Typical cost of one run with default options, rounded up; 0 when free. */
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

/** GET /v1/prompt-slugs: several prompts at once, by slug or label. */
export interface NamedPrompts {
  /** In the order of the request; prompts found by label are ordered by slug. */
  readonly rows: readonly NamedPrompt[];
  /** Names that do not match a published prompt. */
  readonly missing: readonly string[];
}

/** GET /v1/prompt-slugs/:slug: the version that a slug or label refers to. */
export interface SlugVersion extends PromptVersion {
  readonly slug: string;
  /** The label in the request; null: the latest version. */
  readonly label: string | null;
}

/** A prompt's text inputs with their keys, in display order. */
export function orderedInputs({ textInputs }: Pick<PromptConfig, "textInputs">): [string, TextInputField][] {
  return Object.entries(textInputs).toSorted(([, a], [, b]) => a.position - b.position);
}
