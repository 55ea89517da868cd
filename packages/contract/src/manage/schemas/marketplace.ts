import { z } from "zod";
import { searchTextLeaf } from "../../query-schemas.ts";
import { countSchema, idSchema, searchRowMembers, timeSchema } from "../../response-schemas.ts";
import { uuidLeaf } from "../../schema-leaves.ts";
import type { EndpointSchemas } from "../../schemas.ts";
import {
  MARKETPLACE_SORTS,
  VOTES,
  type MarketplacePrompt,
  type MarketplaceQuery,
  type MarketplaceRow,
  type MarketplaceVersion,
  type ModeratedPrompt,
  type ModerationBody,
} from "../marketplace.ts";
import { MODALITIES } from "../../prompts.ts";
import { PROMPT_STATES } from "../prompts.ts";
import { booleanLeaf, checkPageQuery, integerLeaf, none, pageOf, pageQuery, textLeaf, wordLeaf } from "./leaves.ts";
import { labelsSchema, moderationSchema } from "./prompts.ts";

const rowMembers = {
  ...searchRowMembers,
  modality: z.int().min(0).max(2),
  author: z.string().nullable(),
  tags: z.array(z.string()),
  isFeatured: z.boolean(),
} as const;

const marketplacePromptSchema: z.ZodType<MarketplacePrompt> = z.strictObject({
  ...rowMembers,
  labels: labelsSchema,
  vote: z.enum(VOTES),
});

const rowSchema: z.ZodType<MarketplaceRow> = z.strictObject(rowMembers);

const marketplaceQuery = z.object({
  q: searchTextLeaf.optional(),
  sort: wordLeaf("sort", MARKETPLACE_SORTS).optional(),
  modality: wordLeaf("modality", MODALITIES).optional(),
  model: textLeaf("model", 200).optional(),
  tag: textLeaf("tag", 100).optional(),
  limit: pageQuery.shape.limit,
  startingAfter: uuidLeaf("startingAfter").optional(),
}) satisfies z.ZodType<MarketplaceQuery>;

const versionSchema: z.ZodType<MarketplaceVersion> = z.strictObject({
  promptVersionId: idSchema,
  version: countSchema,
  title: z.string(),
  publishedAt: timeSchema,
  note: z.string().nullable(),
  isLatest: z.boolean(),
  labels: z.array(z.string()),
});

const moderatedStates = PROMPT_STATES.filter((state) => state !== "draft");

const moderatedSchema: z.ZodType<ModeratedPrompt> = z.strictObject({
  promptId: idSchema,
  slug: z.string(),
  title: z.string(),
  accountId: idSchema,
  accountEmail: z.string(),
  state: z.enum(moderatedStates),
  moderation: moderationSchema,
  isFeatured: z.boolean(),
  authorSharePercent: countSchema.nullable(),
  uses: countSchema,
  upVotes: countSchema,
  publishedAt: timeSchema,
});

const SLUG_MAX = 200;
const slug = z.object({ slug: textLeaf("slug", SLUG_MAX) });
const promptId = z.object({ promptId: uuidLeaf("promptId") });

const moderationBody = z.object({
  isBlocked: booleanLeaf("isBlocked"),
  reason: textLeaf("reason", 500).optional(),
}) satisfies z.ZodType<ModerationBody>;

export const marketplaceSchemas = {
  searchMarketplace: {
    params: none,
    query: marketplaceQuery,
    body: null,
    data: pageOf(rowSchema),
  },
  getMarketplacePrompt: { params: slug, query: none, body: null, data: marketplacePromptSchema },
  listMarketplaceVersions: {
    params: slug,
    query: pageQuery.check(checkPageQuery),
    body: null,
    data: pageOf(versionSchema),
  },
  voteForPrompt: {
    params: slug,
    query: none,
    body: z.object({ vote: wordLeaf("vote", VOTES) }),
    data: z.strictObject({ slug: z.string(), vote: z.enum(VOTES), upVotes: countSchema }),
  },
  listModeratedPrompts: {
    params: none,
    query: z
      .object({
        ...pageQuery.shape,
        state: wordLeaf("state", moderatedStates).optional(),
        q: textLeaf("q", 200).optional(),
      })
      .check(checkPageQuery),
    body: null,
    data: pageOf(moderatedSchema),
  },
  moderatePrompt: { params: promptId, query: none, body: moderationBody, data: moderatedSchema },
  featurePrompt: {
    params: promptId,
    query: none,
    body: z.object({ isFeatured: booleanLeaf("isFeatured") }),
    data: moderatedSchema,
  },
  setAuthorShare: {
    params: promptId,
    query: none,
    body: z.object({ percent: integerLeaf("percent", [0, 100]).nullable() }),
    data: moderatedSchema,
  },
} satisfies Record<string, EndpointSchemas>;
