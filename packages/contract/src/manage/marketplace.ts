import type { Modality, SearchRow } from "../prompts.ts";
import type { OwnPromptRow, PromptState } from "./prompts.ts";

export const MARKETPLACE_SORTS = ["popular", "newest", "featured", "price"] as const;

export interface MarketplaceQuery {
  readonly q?: string | undefined;
  /**
   * Without `q`: the most used first, the newest, those that operators feature and then the most used, or the cheapest.
   * With `q` the best match is first, whatever this says.
   */
  readonly sort?: (typeof MARKETPLACE_SORTS)[number] | undefined;
  readonly modality?: Modality | undefined;
  readonly model?: string | undefined;
  readonly tag?: string | undefined;
  /** 1 to 50; 50 when absent. */
  readonly limit?: number | undefined;
  /** The promptId of the last row of the page before. */
  readonly startingAfter?: string | undefined;
}

/** A prompt of the marketplace as a card shows it; its cover comes from its samples. */
export interface MarketplaceRow extends SearchRow {
  /** Shown name; null: the author has given none. */
  readonly author: string | null;
  readonly tags: readonly string[];
  readonly isFeatured: boolean;
}

/** With everything that its page shows. */
export interface MarketplacePrompt extends MarketplaceRow {
  readonly labels: OwnPromptRow["labels"];
  /** Of the person who asks. */
  readonly vote: Vote;
  /** True: the account has written it, and may edit it. */
  readonly isOwn: boolean;
}

/** A published version as everybody sees it. */
export interface MarketplaceVersion {
  readonly promptVersionId: string;
  readonly version: number;
  readonly title: string;
  readonly publishedAt: string;
  readonly note: string | null;
  readonly isLatest: boolean;
  readonly labels: readonly string[];
}

export const VOTES = ["up", "none"] as const;
export type Vote = (typeof VOTES)[number];

/** A prompt that was published, as operators see it. */
export interface ModeratedPrompt {
  readonly promptId: string;
  readonly slug: string;
  readonly title: string;
  readonly accountId: string;
  readonly accountEmail: string;
  readonly state: Exclude<PromptState, "draft">;
  readonly moderation: OwnPromptRow["moderation"];
  readonly isFeatured: boolean;
  readonly authorSharePercent: number | null;
  readonly uses: number;
  readonly upVotes: number;
  readonly publishedAt: string;
}

export interface ModerationBody {
  readonly isBlocked: boolean;
  /** The author reads it; required to block. */
  readonly reason?: string | undefined;
}
