import type { Modality, PromptConfig, PromptSamples } from "@promptd/contract";
import type { TextSettings, WebSearchChoice } from "../models/index.ts";
import type { JsonObject } from "../platform/json.ts";

/** One choice of a select. Callers know `name` only; `text` is template and never leaves the server. */
export interface Choice {
  readonly name: string;
  readonly text: string;
}

/** What a value is; callers write all of them as texts. */
export type InputType = "number" | "boolean" | "date" | "list";

export interface InputField {
  /** 1-100 code points, NFC: the author's own words, such as "Child's Age". */
  readonly key: string;
  readonly label: string;
  readonly description: string;
  /** Null: the input is required. For a select a choice name, or several joined by commas. */
  readonly default: string | null;
  /** True: the empty string and blanks are real values. */
  readonly allowEmpty: boolean;
  /** Code points; null: only the general limit. */
  readonly maxLength: number | null;
  readonly choices: readonly Choice[] | null;
  /** How many choices, or items of a list. */
  readonly multiple: { readonly min: number; readonly max: number } | null;
  /** Absent: a text, or with choices a select. */
  readonly type?: InputType;
  /** Of a number. */
  readonly min?: number;
  readonly max?: number;
}

/** What is said before the prompt: an example of a question, or of an answer. */
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
  /** What the author chose for this step; run options of the caller override it where `model` is the prompt's own. */
  readonly options: Readonly<Record<string, string>>;
  /** 0-based image slots that are sent with this step. */
  readonly images: readonly number[];
  /** Null: the limit of the model. */
  readonly maxOutputTokens: number | null;
  /** Images to make, 1-4; 1 for every other modality. */
  readonly count: number;
  /** Ids of the earlier text steps whose output this one inserts. */
  readonly reads: readonly string[];
  /** What the author named in place of `model`; absent: the model itself. */
  readonly role?: StepRole | undefined;
  /** The members below are absent where the author says nothing, so that older versions stay what they are. */
  readonly settings?: TextSettings;
  readonly messages?: readonly StepMessage[];
  /** JSON Schema of the text. */
  readonly outputSchema?: JsonObject;
  /** The model may search the web. */
  readonly webSearch?: WebSearchChoice;
  /** Models that answer in place of `model` when it cannot, best first. */
  readonly fallback?: readonly string[];
}

/** A role, and what the author chose before a model was found for it: the next model may take more of it. */
export interface StepRole extends Pick<StepDefinition, "options" | "maxOutputTokens"> {
  readonly name: string;
}

/** Everything behind a prompt version that is not shown: stored as it is, in this order. */
export interface PromptDefinition {
  readonly inputs: readonly InputField[];
  readonly images: readonly ImageSlot[];
  readonly steps: readonly StepDefinition[];
}

/** One image that a run must bring. */
export interface ImageSlot {
  readonly label: string;
  readonly description: string;
  /** It says which part of the others may change. */
  readonly mask?: true;
}

/**
 * Of one run with default options, both 0 when it is free: what it costs with texts of usual length, and the most it can
 * cost with texts of up to 500 characters, which must be available to create it.
 */
export type PriceEstimates = Pick<PromptConfig, "estimatedCredits" | "creditsRequired">;

/** What is stored of a version's config; its prices follow the catalogue, and stand in columns of their own. */
export type StoredConfig = Omit<PromptConfig, keyof PriceEstimates>;

/** A published version as a run needs it. The object is shared by a cache: never change it. */
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

/** A foreign placeholder that was rewritten, such as `{{Child's Age}}`, to show to the author. */
export interface Conversion {
  readonly line: number;
  readonly from: string;
  readonly to: string;
}

/** What is expected of the last output of a test; all of it must hold. */
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
  /** Absent: the prompt's own. */
  readonly judgeModel?: string;
}

/** One try of a prompt. It stays in the author's file. */
export interface PromptTest {
  readonly name: string;
  readonly textInputs: Readonly<Record<string, string>>;
  readonly options: Readonly<Record<string, string>>;
  /** Paths, from the file's folder. */
  readonly images: readonly string[];
  readonly expect: Expectations;
}

/** What a version says, as a file and the database have it. */
export interface PromptContent {
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly model: string;
  readonly definition: PromptDefinition;
  readonly samples: PromptSamples;
}

/** One prompt out of a file, checked completely: ready to be published. */
export interface PromptSource extends PromptContent {
  /** The promptId the file names, or null. */
  readonly promptId: string | null;
  readonly slug: string;
  /** True when the file names the slug itself; false when it was made from the title. */
  readonly slugGiven: boolean;
  readonly modality: Modality;
  /** The samples, of which nothing is expected, and the tests. */
  readonly tests: readonly PromptTest[];
  /** The text of the file; null: it holds several prompts. */
  readonly text: string | null;
  /** Line of the file where the prompt begins, from 1. */
  readonly line: number;
  readonly conversions: readonly Conversion[];
  /** Sentences an author should read; they do not stop publishing. */
  readonly warnings: readonly string[];
  /** What its roles stand for now: nothing is wrong with them. */
  readonly notes: readonly string[];
}
