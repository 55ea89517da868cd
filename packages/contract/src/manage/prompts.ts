import type { Issue } from "../errors.ts";
import type { PageQuery } from "../pages.ts";
import type { Modality, PromptConfig } from "../prompts.ts";
import type { CreateRunBody, OutputItem, Run } from "../runs.ts";
import type { RecentUseOfPrompt, Report } from "./usage.ts";

/** `draft`: never published; `blocked`: unpublished by an operator. */
export const PROMPT_STATES = ["draft", "published", "unpublished", "blocked"] as const;
export type PromptState = (typeof PROMPT_STATES)[number];

export interface PromptLabel {
  readonly label: string;
  readonly promptVersionId: string;
  /** Version number. */
  readonly version: number;
}

/** A version that uses a model with a known end date. */
export interface ModelEnding {
  readonly promptVersionId: string;
  readonly version: number;
  readonly isLatest: boolean;
  readonly model: string;
  /** The model's end date, `YYYY-MM-DD`. */
  readonly retiresAt: string;
  readonly successor: string | null;
}

export interface DraftState {
  /** Increases by one with every save. Send it back, so that nobody overwrites another person's changes. */
  readonly revision: number;
  readonly savedAt: string;
  /** Name of the person who saved it last; null: no longer known. */
  readonly savedBy: string | null;
  /** The latest version when the draft was started; null: there was none. */
  readonly baseVersionId: string | null;
}

/** One of the account's prompts, in a list. */
export interface OwnPromptRow {
  readonly promptId: string;
  /** From the latest version, or from the draft if there is no version. */
  readonly title: string;
  readonly state: PromptState;
  /** Null until it is published. */
  readonly slug: string | null;
  /** Null: there is no draft; the latest version is current. */
  readonly draft: DraftState | null;
  /** Null: never published. */
  readonly latest: {
    readonly promptVersionId: string;
    readonly version: number;
    readonly publishedAt: string;
    readonly note: string | null;
    readonly model: string;
    readonly modality: Modality;
    readonly estimatedCredits: number;
    readonly creditsRequired: number;
  } | null;
  /** Number of published versions. */
  readonly versions: number;
  readonly labels: readonly PromptLabel[];
  readonly uses: number;
  readonly upVotes: number;
  readonly last30Days: RecentUseOfPrompt;
  /** Why and when an operator blocked it; null: it is not blocked. */
  readonly moderation: { readonly at: string; readonly reason: string } | null;
  readonly isFeatured: boolean;
  /** The newest 20 versions that use a model with a known end date, newest first. */
  readonly endingModels: readonly ModelEnding[];
}

export interface OwnPrompt extends OwnPromptRow {
  /** The text that an editor shows: the draft's, or the latest version's if there is no draft. */
  readonly source: string;
  /** In percent of what others pay for a run; null: the installation's share. */
  readonly authorSharePercent: number | null;
  /** The run that callers see as the prompt's sample; null: they see the first sample of the prompt file. */
  readonly sample: PromptSample | null;
}

export interface PromptSample {
  readonly runId: string;
  readonly takenAt: string;
  readonly textInputs: Readonly<Record<string, string>>;
  /** Text, or the address of a picture or video stored with the prompt. */
  readonly output: OutputItem;
}

export interface PromptSampleBody {
  /** A succeeded run of this prompt or its draft, from the same account. */
  readonly runId: string;
}

export interface ListPromptsQuery extends PageQuery {
  readonly state?: PromptState | undefined;
  /** Part of the title or slug, case-insensitive. */
  readonly q?: string | undefined;
}

export interface DraftSave {
  /** A prompt file's text, complete or not. */
  readonly source: string;
  /** The revision that was edited; 0: there was no draft. */
  readonly revision: number;
}

/** One thing wrong with a prompt file. */
export interface PromptFileFault {
  /** From 1; null: the fault has no single line. */
  readonly line: number | null;
  /** From 1; null: unknown. */
  readonly column: number | null;
  /** Dotted path of the field, such as `inputs.topic.maxLength`. */
  readonly field: string;
  readonly code: string;
  /** What is wrong and what was expected. */
  readonly message: string;
  /** The part of the file that is at fault. */
  readonly excerpt: string | null;
}

/** In credits. */
export interface PriceOfPrompt {
  /** With default options and inputs of typical length. */
  readonly typical: number;
  /** Credits that must be available to create a run: its maximum cost. */
  readonly most: number;
}

export interface CheckedPrompt {
  readonly title: string;
  readonly slug: string;
  /**
   * The prompt that the file would change: the prompt it names, else your prompt with its slug, else your only
   * unpublished draft with its title.
   */
  readonly promptId: string | null;
  /** What callers will see. */
  readonly config: PromptConfig;
  readonly price: PriceOfPrompt;
  /** Warnings do not prevent publishing. */
  readonly warnings: readonly string[];
  /** Information that needs no action, such as the model a role currently stands for. */
  readonly notes: readonly string[];
  readonly tests: readonly PromptTestCase[];
}

/** A sample or test in the file: its inputs, and whether it has expectations of the output. */
export interface PromptTestCase {
  readonly name: string;
  readonly textInputs: Readonly<Record<string, string>>;
  readonly runOptions: Readonly<Record<string, string>>;
  /** Number of images; a test run must send them. */
  readonly images: number;
  /** Kinds of expectations, such as `contains`. */
  readonly expects: readonly string[];
}

export interface PromptFileCheck {
  /** Prompts without faults, in file order. */
  readonly prompts: readonly CheckedPrompt[];
  /** Ordered by line. Empty: the file can be published. */
  readonly faults: readonly PromptFileFault[];
  /** The faults as text for the author, one per line. */
  readonly message: string;
  /** Whether the account pays for test runs and runs of its own prompts on this server. */
  readonly testRuns: "free" | "charged";
}

export interface PreviewBody {
  readonly source: string;
  /** Title or slug of the prompt; required if the file has several. */
  readonly title?: string | undefined;
  readonly textInputs?: Readonly<Record<string, string>> | null | undefined;
  readonly runOptions?: Readonly<Record<string, string>> | null | undefined;
  /** Outputs of earlier steps by id; a missing one appears as `[output of step "id"]`. */
  readonly stepOutputs?: Readonly<Record<string, string>> | null | undefined;
}

export interface PromptPreview {
  readonly title: string;
  /** What is wrong with the inputs. A run with these inputs would be rejected, and there are no steps. */
  readonly issues: readonly Issue[];
  /** Keys that have no effect. */
  readonly ignored: readonly string[];
  readonly steps: readonly {
    readonly id: string;
    readonly model: string;
    readonly options: Readonly<Record<string, string>>;
    readonly maxOutputTokens: number | null;
    readonly count: number;
    readonly settings: Readonly<Record<string, unknown>>;
    readonly outputSchema: Readonly<Record<string, unknown>> | null;
    readonly messages: readonly {
      readonly role: "system" | "user" | "assistant";
      readonly text: string;
      /** Labels of the message's images, in order. */
      readonly images: readonly string[];
    }[];
  }[];
  readonly price: PriceOfPrompt | null;
}

export interface PublishBody {
  /** The draft's revision. */
  readonly revision: number;
  /** The latest version that the author saw; null: there was none. */
  readonly baseVersionId: string | null;
  /** What changed. Callers see it next to the version. */
  readonly note?: string | undefined;
}

export interface PromptPublication {
  readonly promptId: string;
  readonly promptVersionId: string;
  readonly version: number;
  readonly slug: string;
  readonly title: string;
  /** `unchanged`: the latest version is identical, so no new version was created. */
  readonly outcome: "created" | "changed" | "unchanged";
  /** Warnings for the author. */
  readonly warnings: readonly string[];
}

export interface OwnVersionRow {
  readonly promptVersionId: string;
  /** Starts at 1. */
  readonly version: number;
  readonly title: string;
  readonly model: string;
  readonly publishedAt: string;
  /** Name of the person; null: unknown, or published from the operator's terminal. */
  readonly publishedBy: string | null;
  readonly note: string | null;
  readonly isLatest: boolean;
  readonly labels: readonly string[];
  readonly estimatedCredits: number;
  readonly last30Days: RecentUseOfPrompt;
  readonly endingModels: readonly ModelEnding[];
}

export interface OwnVersion extends OwnVersionRow {
  /** The prompt file as published, or an equivalent file. */
  readonly source: string;
  readonly config: PromptConfig;
}

export interface DiffQuery {
  /** A promptVersionId; default: the latest version. */
  readonly from?: string | undefined;
  /** A promptVersionId; default: the draft. */
  readonly to?: string | undefined;
}

export interface FieldChange {
  /** Dotted path, such as `inputs.topic.default`. */
  readonly field: string;
  /** Null: the field did not exist. */
  readonly before: unknown;
  readonly after: unknown;
}

export const FIT_KINDS = ["input_required", "input_unknown", "value_refused", "images", "option_refused"] as const;

/** A change that makes previously valid inputs invalid or ineffective. */
export interface BreakingChange {
  readonly kind: (typeof FIT_KINDS)[number];
  /** The input or run option; empty for images. */
  readonly name: string;
  readonly message: string;
}

export interface TextChange {
  readonly field: string;
  readonly lines: readonly LineChange[];
}

export interface LineChange {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

export interface OwnPromptDiff {
  readonly isSame: boolean;
  readonly fields: readonly FieldChange[];
  readonly inputs: readonly FieldChange[];
  readonly options: readonly FieldChange[];
  readonly texts: readonly TextChange[];
  /** Null if one of the version's models is not in the catalogue. */
  readonly price: { readonly before: PriceOfPrompt | null; readonly after: PriceOfPrompt | null };
  /** Empty: requests that callers send today stay valid. */
  readonly conflicts: readonly BreakingChange[];
}

export const PROMPT_USE_DIMENSIONS = ["day", "version"] as const;

/** All callers' finished runs of a prompt, including today's. Test runs are excluded. */
export type PromptUsageReport = Report<PromptUsageRow>;

/** Dimensions that were not requested are null. */
export interface PromptUsageRow {
  readonly day: string | null;
  readonly promptVersionId: string | null;
  readonly version: number | null;
  readonly runs: number;
  readonly succeeded: number;
  /** As in `RecentUseOfPrompt`. */
  readonly failed: number;
  readonly credits: number;
}

export interface TestRunBody {
  /** The draft's revision. */
  readonly revision: number;
  /** Name of one of the draft's tests or samples. Its inputs are used for inputs that are not sent. */
  readonly test?: string | undefined;
  /** Runs the draft instead of the draft's own model. Options that this model does not support are dropped. */
  readonly model?: string | undefined;
  readonly inputs?: CreateRunBody["inputs"] | undefined;
  readonly runOptions?: CreateRunBody["runOptions"] | undefined;
}

/** The result of a test run and of its test's expectations. */
export interface TestRunResult {
  readonly run: Run;
  /** What callers would pay for a run of this text with this model. */
  readonly price: PriceOfPrompt;
  /** Null: no test was named, or the run is not final. */
  readonly test: {
    readonly name: string;
    readonly passed: boolean;
    /** The expectations that were not met. */
    readonly failures: readonly string[];
    /** Expectations that only `promptd prompt test` checks, with a model. */
    readonly unchecked: readonly string[];
  } | null;
}
