import type { Modality, SearchRow } from "../prompts.ts";
import type { OwnPromptRow, PromptState } from "./prompts.ts";

export const MARKETPLACE_SORTS = ["popular", "newest", "featured", "price"] as const;

export interface MarketplaceQuery {
  readonly q?: string | undefined;
  /**
   * Order without `q`: most used, newest, featured (then most used), or cheapest first.
   * With `q`, the best match always comes first.
   */
  readonly sort?: (typeof MARKETPLACE_SORTS)[number] | undefined;
  readonly modality?: Modality | undefined;
  readonly model?: string | undefined;
  readonly tag?: string | undefined;
  /** 1 to 50; default 50. */
  readonly limit?: number | undefined;
  /** The promptId of the previous page's last row. */
  readonly startingAfter?: string | undefined;
}

/** A marketplace prompt as its card shows it. The cover comes from its samples. */
export interface MarketplaceRow extends SearchRow {
  /** The author's display name; null: the author has none. */
  readonly author: string | null;
  readonly tags: readonly string[];
  readonly isFeatured: boolean;
}

/** A prompt with everything that its page shows. */
export interface MarketplacePrompt extends MarketplaceRow {
  readonly labels: OwnPromptRow["labels"];
  /** The requesting person's vote. */
  readonly vote: Vote;
  /** True: the account owns the prompt and can edit it. */
  readonly isOwn: boolean;
}

/** A published version, as everybody sees it. */
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
  /** Shown to the author; required to block. */
  readonly reason?: string | undefined;
}
