import type { Modality, PromptConfig, PromptSamples } from "@promptd/contract";
import type { TextSettings, WebSearchChoice } from "../models/index.ts";
import type { JsonObject } from "../platform/json.ts";

/** One choice of a select. Callers see only `name`; `text` is part of the template and never leaves the server. */
export interface Choice {
  readonly name: string;
  readonly text: string;
}

/** The type of a value. Callers send all values as text. */
export type InputType = "number" | "boolean" | "date" | "list";

export interface InputField {
  /** 1-100 code points, NFC: the author's own words, such as "Child's Age". */
  readonly key: string;
  readonly label: string;
  readonly description: string;
  /** Null: the input is required. For a select: a choice name, or several joined by commas. */
  readonly default: string | null;
  /** True: empty and blank text are valid values. */
  readonly allowEmpty: boolean;
  /** Code points; null: only the general limit. */
  readonly maxLength: number | null;
  readonly choices: readonly Choice[] | null;
  /** How many choices or list items a value must have. */
  readonly multiple: { readonly min: number; readonly max: number } | null;
  /** Absent: a text, or with choices a select. */
  readonly type?: InputType;
  /** Of a number input. */
  readonly min?: number;
  readonly max?: number;
}

/** An example message before the prompt: a question or an answer. */
export interface StepMessage {
  readonly role: "user" | "assistant";
  readonly template: string;
}

export interface StepDefinition {
  /** `main` in a file without steps. */
  readonly id: string;
  readonly model: string;
  readonly template: string;
  readonly instructions: string;
  /** The author's choices for this step. If `model` is the prompt's own, the caller's run options override them. */
  readonly options: Readonly<Record<string, string>>;
  /** Image slots sent with this step, from 0. */
  readonly images: readonly number[];
  /** Null: the limit of the model. */
  readonly maxOutputTokens: number | null;
  /** Images to make, 1-4; 1 for every other modality. */
  readonly count: number;
  /** Ids of the earlier text steps whose output this one inserts. */
  readonly reads: readonly string[];
  /** The role that the author named instead of a model; absent: the author named the model. */
  readonly role?: StepRole | undefined;
  /** The members below are absent unless the author sets them, so that older versions stay unchanged. */
  readonly settings?: TextSettings;
  readonly messages?: readonly StepMessage[];
  /** JSON Schema of the text. */
  readonly outputSchema?: JsonObject;
  /** The model may search the web. */
  readonly webSearch?: WebSearchChoice;
  /** Models that answer in place of `model` when it cannot, best first. */
  readonly fallback?: readonly string[];
}

/** A role, and the author's choices before a model was bound to it: the next model may accept more of them. */
export interface StepRole extends Pick<StepDefinition, "options" | "maxOutputTokens"> {
  readonly name: string;
}

/** The part of a prompt version that callers do not see, stored as is, in this order. */
export interface PromptDefinition {
  readonly inputs: readonly InputField[];
  readonly images: readonly ImageSlot[];
  readonly steps: readonly StepDefinition[];
}

/** One image that a run must provide. */
export interface ImageSlot {
  readonly label: string;
  readonly description: string;
  /** The image is a mask: it shows which part of the other images may change. */
  readonly mask?: true;
}

/**
 * Prices of one run with default options, both 0 if it is free: the typical price with texts of usual length, and the
 * most it can cost with texts of up to 500 characters, which must be available to create it.
 */
export type PriceEstimates = Pick<PromptConfig, "estimatedCredits" | "creditsRequired">;

/** The stored part of a version's config. Prices change with the catalogue, so they have their own columns. */
export type StoredConfig = Omit<PromptConfig, keyof PriceEstimates>;

/** What a run needs of a published version. A cache shares the object: never change it. */
export interface LiveVersion {
  readonly promptId: string;
  readonly promptVersionId: string;
  readonly authorId: string;
  readonly title: string;
  readonly model: string;
  readonly modality: Modality;
  readonly config: StoredConfig;
  readonly definition: PromptDefinition;
}

/** A rewritten placeholder of another language, such as `{{Child's Age}}`, to show to the author. */
export interface Conversion {
  readonly line: number;
  readonly from: string;
  readonly to: string;
}

/** What a test expects of the last output. All expectations must be met. */
export interface Expectations {
  readonly contains?: readonly string[];
  readonly notContains?: readonly string[];
  /** A regular expression. */
  readonly matches?: string;
  readonly schema?: JsonObject;
  /** Characters. */
  readonly shorterThan?: number;
  /** Statements that a model checks. */
  readonly judge?: readonly string[];
  /** Absent: the prompt's own model. */
  readonly judgeModel?: string;
}

/** One test of a prompt. It stays in the author's file. */
export interface PromptTest {
  readonly name: string;
  readonly textInputs: Readonly<Record<string, string>>;
  readonly options: Readonly<Record<string, string>>;
  /** Paths relative to the file's folder. */
  readonly images: readonly string[];
  readonly expect: Expectations;
}

/** The content of a version, both in a file and in the database. */
export interface PromptContent {
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly model: string;
  readonly definition: PromptDefinition;
  readonly samples: PromptSamples;
}

/** One prompt from a file, fully checked and ready to be published. */
export interface PromptSource extends PromptContent {
  /** The promptId in the file, or null. */
  readonly promptId: string | null;
  readonly slug: string;
  /** True: the file names the slug; false: it was made from the title. */
  readonly slugGiven: boolean;
  readonly modality: Modality;
  /** The samples, which have no expectations, and the tests. */
  readonly tests: readonly PromptTest[];
  /** The text of the file; null: it has several prompts. */
  readonly text: string | null;
  /** Line of the file where the prompt starts, from 1. */
  readonly line: number;
  readonly conversions: readonly Conversion[];
  /** Warnings for the author, as sentences. They do not prevent publishing. */
  readonly warnings: readonly string[];
  /** What its roles mean now, for information. */
  readonly notes: readonly string[];
}
