import { z } from "zod";
import { searchRowMembers, searchTextField } from "../../schemas/search-prompts.ts";
import { countSchema, idSchema, timeSchema } from "../../schemas/answer-fields.ts";
import { checkPageQuery, uuidField } from "../../schemas/request-fields.ts";
import type { EndpointSchemas } from "../../schemas/endpoint-schemas.ts";
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
import { booleanField, integerField, none, pageOf, pageQuery, textField, wordField } from "./request-fields.ts";
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
  isOwn: z.boolean(),
});

const rowSchema: z.ZodType<MarketplaceRow> = z.strictObject(rowMembers);

const marketplaceQuery = z.object({
  q: searchTextField.optional(),
  sort: wordField("sort", MARKETPLACE_SORTS).optional(),
  modality: wordField("modality", MODALITIES).optional(),
  model: textField("model", 200).optional(),
  tag: textField("tag", 100).optional(),
  limit: pageQuery.shape.limit,
  startingAfter: uuidField("startingAfter").optional(),
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
const slug = z.object({ slug: textField("slug", SLUG_MAX) });
const promptId = z.object({ promptId: uuidField("promptId") });

const moderationBody = z.object({
  isBlocked: booleanField("isBlocked"),
  reason: textField("reason", 500).optional(),
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
    body: z.object({ vote: wordField("vote", VOTES) }),
    data: z.strictObject({ slug: z.string(), vote: z.enum(VOTES), upVotes: countSchema }),
  },
  listModeratedPrompts: {
    params: none,
    query: z
      .object({
        ...pageQuery.shape,
        state: wordField("state", moderatedStates).optional(),
        q: textField("q", 200).optional(),
      })
      .check(checkPageQuery),
    body: null,
    data: pageOf(moderatedSchema),
  },
  moderatePrompt: { params: promptId, query: none, body: moderationBody, data: moderatedSchema },
  featurePrompt: {
    params: promptId,
    query: none,
    body: z.object({ isFeatured: booleanField("isFeatured") }),
    data: moderatedSchema,
  },
  setAuthorShare: {
    params: promptId,
    query: none,
    body: z.object({ percent: integerField("percent", [0, 100]).nullable() }),
    data: moderatedSchema,
  },
} satisfies Record<string, EndpointSchemas>;
