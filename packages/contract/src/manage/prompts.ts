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
  /** Number of the version. */
  readonly version: number;
}

/** A version that names a model with a known end. */
export interface ModelEnding {
  readonly promptVersionId: string;
  readonly version: number;
  readonly isLatest: boolean;
  readonly model: string;
  /** The day on which it ends, or has ended, `YYYY-MM-DD`. */
  readonly retiresAt: string;
  readonly successor: string | null;
}

export interface DraftState {
  /** Rises by one with every save. Send it back, so that nobody overwrites what somebody else has saved. */
  readonly revision: number;
  readonly savedAt: string;
  /** Name of the person who saved it last; null: not known any more. */
  readonly savedBy: string | null;
  /** The latest version when the draft was begun; null: there was none. */
  readonly baseVersionId: string | null;
}

/** A prompt of the account, as a list shows it. */
export interface OwnPromptRow {
  readonly promptId: string;
  /** Of the latest version, or of the draft where there is no version. */
  readonly title: string;
  readonly state: PromptState;
  /** Null until it is published. */
  readonly slug: string | null;
  /** Null: there is no draft, so the latest version says all. */
  readonly draft: DraftState | null;
  /** Null: it was never published. */
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
  /** How many versions were published. */
  readonly versions: number;
  readonly labels: readonly PromptLabel[];
  readonly uses: number;
  readonly upVotes: number;
  readonly last30Days: RecentUseOfPrompt;
  /** Why an operator has unpublished it, and when; null: none has. */
  readonly moderation: { readonly at: string; readonly reason: string } | null;
  readonly isFeatured: boolean;
  /** The newest 20 of its versions that name a model with a known end, newest first. */
  readonly endingModels: readonly ModelEnding[];
}

export interface OwnPrompt extends OwnPromptRow {
  /** The text of the draft, or where there is none of the latest version: what an editor shows. */
  readonly source: string;
  /** In percent of what others pay for a run; null: the installation's. */
  readonly authorSharePercent: number | null;
  /** The run that callers see as what the prompt makes; null: they see the first sample of its file. */
  readonly sample: PromptSample | null;
}

export interface PromptSample {
  readonly runId: string;
  readonly takenAt: string;
  readonly textInputs: Readonly<Record<string, string>>;
  /** A text, or the address of a picture or a video that is stored with the prompt. */
  readonly output: OutputItem;
}

export interface PromptSampleBody {
  /** A run of this prompt or of its draft that has succeeded, of the same account. */
  readonly runId: string;
}

export interface ListPromptsQuery extends PageQuery {
  readonly state?: PromptState | undefined;
  /** Part of the title or of the slug, in any case. */
  readonly q?: string | undefined;
}

export interface DraftSave {
  /** The text of a prompt file, finished or not. */
  readonly source: string;
  /** Of the draft that was edited; 0: there was none. */
  readonly revision: number;
}

/** One thing wrong with a prompt file. */
export interface PromptFileFault {
  /** From 1; null: it has no single line. */
  readonly line: number | null;
  /** From 1; null: not known. */
  readonly column: number | null;
  /** Dotted path of the field, such as `inputs.topic.maxLength`. */
  readonly field: string;
  readonly code: string;
  /** What is wrong and what was expected. */
  readonly message: string;
  /** The piece of the file that is meant. */
  readonly excerpt: string | null;
}

/** In credits. */
export interface PriceOfPrompt {
  /** With default options and inputs of usual length. */
  readonly typical: number;
  /** What must be available to create a run: the most it can cost. */
  readonly most: number;
}

export interface CheckedPrompt {
  readonly title: string;
  readonly slug: string;
  /** The prompt that it would change: the one it names, else yours of its slug, else your only unpublished draft of its title. */
  readonly promptId: string | null;
  /** What callers will see. */
  readonly config: PromptConfig;
  readonly price: PriceOfPrompt;
  /** Sentences; they do not stop publishing. */
  readonly warnings: readonly string[];
  /** What is good to know and asks for nothing, such as what a role stands for now. */
  readonly notes: readonly string[];
  readonly tests: readonly PromptTestCase[];
}

/** A sample or a test of the file: inputs, and whether something is expected of the output. */
export interface PromptTestCase {
  readonly name: string;
  readonly textInputs: Readonly<Record<string, string>>;
  readonly runOptions: Readonly<Record<string, string>>;
  /** How many images it takes; a test run must bring them. */
  readonly images: number;
  /** Kinds of what is expected, such as `contains`. */
  readonly expects: readonly string[];
}

export interface PromptFileCheck {
  /** Prompts without a fault, in the order of the file. */
  readonly prompts: readonly CheckedPrompt[];
  /** By line. Empty: the file can be published. */
  readonly faults: readonly PromptFileFault[];
  /** The faults as an author reads them, one a line. */
  readonly message: string;
  /** Whether the account pays for test runs, and for runs of its own prompts, on this server. */
  readonly testRuns: "free" | "charged";
}

export interface PreviewBody {
  readonly source: string;
  /** Title or slug of the prompt; needed where the file has several. */
  readonly title?: string | undefined;
  readonly textInputs?: Readonly<Record<string, string>> | null | undefined;
  readonly runOptions?: Readonly<Record<string, string>> | null | undefined;
  /** Texts of earlier steps by id; one that is absent stands as `[output of step "id"]`. */
  readonly stepOutputs?: Readonly<Record<string, string>> | null | undefined;
}

export interface PromptPreview {
  readonly title: string;
  /** What is wrong with the inputs; a run would be refused with these, and there are no steps. */
  readonly issues: readonly Issue[];
  /** Keys without effect. */
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
      /** Labels of the images that go with it, in order. */
      readonly images: readonly string[];
    }[];
  }[];
  readonly price: PriceOfPrompt | null;
}

export interface PublishBody {
  /** Of the draft that is meant. */
  readonly revision: number;
  /** The latest version that the author has seen; null: there is none. */
  readonly baseVersionId: string | null;
  /** What changed; callers see it beside the version. */
  readonly note?: string | undefined;
}

export interface PromptPublication {
  readonly promptId: string;
  readonly promptVersionId: string;
  readonly version: number;
  readonly slug: string;
  readonly title: string;
  /** `unchanged`: its latest version says the same, so no new one was made. */
  readonly outcome: "created" | "changed" | "unchanged";
  /** Sentences an author should read. */
  readonly warnings: readonly string[];
}

export interface OwnVersionRow {
  readonly promptVersionId: string;
  /** 1 for the first. */
  readonly version: number;
  readonly title: string;
  readonly model: string;
  readonly publishedAt: string;
  /** Name of the person; null: not known, or it was published at the operator's terminal. */
  readonly publishedBy: string | null;
  readonly note: string | null;
  readonly isLatest: boolean;
  readonly labels: readonly string[];
  readonly estimatedCredits: number;
  readonly last30Days: RecentUseOfPrompt;
  readonly endingModels: readonly ModelEnding[];
}

export interface OwnVersion extends OwnVersionRow {
  /** The prompt file, as it was published, or one that publishes the same. */
  readonly source: string;
  readonly config: PromptConfig;
}

export interface DiffQuery {
  /** A promptVersionId; the latest version when absent. */
  readonly from?: string | undefined;
  /** A promptVersionId; the draft when absent. */
  readonly to?: string | undefined;
}

export interface FieldChange {
  /** Dotted path, such as `inputs.topic.default`. */
  readonly field: string;
  /** Null: it was not there. */
  readonly before: unknown;
  readonly after: unknown;
}

export const FIT_KINDS = ["input_required", "input_unknown", "value_refused", "images", "option_refused"] as const;

/** A way in which inputs that fitted before would no longer fit, or would have no effect. */
export interface BreakingChange {
  readonly kind: (typeof FIT_KINDS)[number];
  /** The input or the run option; empty for images. */
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
  /** Null where a model of that version is not in the catalogue. */
  readonly price: { readonly before: PriceOfPrompt | null; readonly after: PriceOfPrompt | null };
  /** Empty: what callers send now still fits. */
  readonly conflicts: readonly BreakingChange[];
}

export const PROMPT_USE_DIMENSIONS = ["day", "version"] as const;

/** Runs of a prompt that ended, today's included, whoever made them; test runs are not among them. */
export type PromptUsageReport = Report<PromptUsageRow>;

/** A dimension that was not asked by is null. */
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
  /** Of the draft that is meant. */
  readonly revision: number;
  /** Name of a test or a sample of the draft: its inputs are taken where none are sent. */
  readonly test?: string | undefined;
  /** Executes the draft in place of its own model; options that it does not have are left out. */
  readonly model?: string | undefined;
  readonly inputs?: CreateRunBody["inputs"] | undefined;
  readonly runOptions?: CreateRunBody["runOptions"] | undefined;
}

/** What became of a test run, and of what its test expects. */
export interface TestRunResult {
  readonly run: Run;
  /** What callers would pay for runs of this text with the model of this run. */
  readonly price: PriceOfPrompt;
  /** Null: no test was named, or the run is not final. */
  readonly test: {
    readonly name: string;
    readonly passed: boolean;
    /** What was expected and did not hold. */
    readonly failures: readonly string[];
    /** What only `promptd prompt test` checks, with a model. */
    readonly unchecked: readonly string[];
  } | null;
}
