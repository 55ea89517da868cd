/** The search parameters of each page: all state that a reload or a shared link should restore. */
import type { RunStatus } from "@promptd/contract";
import type { DeliveryState } from "@promptd/contract/manage";
import type { TimeSearch } from "./time-span.ts";

export interface MarketplaceSearch {
  readonly q?: string | undefined;
  readonly modality?: "text" | "image" | "video" | undefined;
  readonly model?: string | undefined;
  readonly sort?: "popular" | "newest" | "price" | "featured" | undefined;
  readonly tag?: string | undefined;
}
export interface PromptSearch {
  readonly version?: string | undefined;
  /** The run whose inputs fill the form. */
  readonly run?: string | undefined;
  readonly tab?: "curl" | "typescript" | "python" | "cli" | "mcp" | undefined;
}
export interface RunsSearch extends TimeSearch {
  readonly status?: RunStatus | undefined;
  /** The id of a request, or part of an error. */
  readonly q?: string | undefined;
  readonly promptId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
}
export interface KeysSearch {
  /** Set while the dialog for a new key is open. */
  readonly new?: 1 | undefined;
  /** Set while revoked keys are shown too. */
  readonly revoked?: "with" | undefined;
}
/** Runs of all accounts. */
export interface InstallationRunsSearch extends TimeSearch {
  readonly id?: string | undefined;
  readonly status?: RunsSearch["status"];
  readonly cause?: string | undefined;
  readonly model?: string | undefined;
  readonly accountId?: string | undefined;
}
/** A list with a text search. */
export interface WordsSearch {
  readonly q?: string | undefined;
}
/** The deliveries of a webhook. */
export interface WebhookSearch {
  readonly state?: DeliveryState | undefined;
}
export interface AuditSearch {
  readonly q?: string | undefined;
  /** If absent, entries for operators' reads are excluded. */
  readonly reads?: "with" | undefined;
  readonly action?: string | undefined;
  readonly outcome?: "success" | "failure" | undefined;
  readonly accountId?: string | undefined;
  readonly personId?: string | undefined;
}
export interface CreditsSearch {
  /** How the chart is stacked. */
  readonly by?: "prompt" | "key" | "model" | undefined;
  readonly days?: "7" | "30" | "90" | "365" | undefined;
}
export interface SignInSearch {
  /** Where the person was going. */
  readonly from?: string | undefined;
  /** The error a sign-in service returned with. */
  readonly error?: string | undefined;
}
/** How linking a sign-in service ended. */
export interface SecuritySearch {
  /** The service that was linked. */
  readonly linked?: string | undefined;
  /** The service that was not, and why. */
  readonly service?: string | undefined;
  readonly error?: string | undefined;
}
/** The prompts of an author. */
export interface AuthorSearch {
  readonly q?: string | undefined;
  readonly state?: "draft" | "published" | "unpublished" | "blocked" | undefined;
}
export interface EditorSearch {
  readonly tab?: "test" | "rendered" | "history" | undefined;
  /** The run shown beside the form. */
  readonly run?: string | undefined;
  /** The run of another model or version, shown next to it. */
  readonly beside?: string | undefined;
  /** What the history compares: two versions, or a version and the draft. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}
