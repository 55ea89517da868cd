import { ENDPOINT_EXAMPLES, type ExamplesOf } from "../../examples/endpoint-examples.ts";
import type { ShapesOf } from "../../endpoints.ts";
import type { marketplaceSchemas } from "../schemas/marketplace.ts";

const { searchPrompts } = ENDPOINT_EXAMPLES;
const [prompt] = searchPrompts.data.rows;
if (prompt === undefined) throw new Error("The example of a search has no row.");

const row = {
  ...prompt,
  author: "Ada Lovelace",
  tags: ["poem", "tea"],
  isFeatured: true,
} as const;
const moderated = {
  promptId: prompt.promptId,
  slug: prompt.slug,
  title: prompt.title,
  accountId: "019a0b90-1f00-7b3e-9a41-7c2d5e8f1a60",
  accountEmail: "ada@example.org",
  state: "published",
  moderation: null,
  isFeatured: false,
  authorSharePercent: null,
  uses: prompt.uses,
  upVotes: prompt.upVotes,
  publishedAt: prompt.publishedAt,
} as const;
const parameters = { promptId: prompt.promptId };
const reason = "The samples show people without their consent.";

export const marketplaceExamples: ExamplesOf<ShapesOf<typeof marketplaceSchemas>> = {
  searchMarketplace: {
    parameters: { q: "tea poem", modality: "text", tag: "tea", limit: 50 },
    data: { rows: [row], hasMore: false },
  },
  getMarketplacePrompt: {
    parameters: { slug: prompt.slug },
    data: {
      ...row,
      labels: [{ label: "production", promptVersionId: prompt.promptVersionId, version: 3 }],
      vote: "up",
      isOwn: false,
    },
  },
  listMarketplaceVersions: {
    parameters: { slug: prompt.slug, limit: 10 },
    data: {
      rows: [
        {
          promptVersionId: prompt.promptVersionId,
          version: 3,
          title: prompt.title,
          publishedAt: prompt.publishedAt,
          note: "Four lines instead of two.",
          isLatest: true,
          labels: ["production"],
        },
      ],
      hasMore: true,
    },
  },
  voteForPrompt: {
    parameters: { slug: prompt.slug },
    bodies: { up: { vote: "up" }, back: { vote: "none" } },
    data: { slug: prompt.slug, vote: "up", upVotes: 10 },
  },
  listModeratedPrompts: {
    parameters: { state: "published", q: "tea", limit: 10 },
    data: { rows: [moderated], hasMore: false },
  },
  moderatePrompt: {
    parameters,
    bodies: { block: { isBlocked: true, reason }, allow: { isBlocked: false } },
    data: { ...moderated, state: "blocked", moderation: { at: "2026-11-23T09:00:00.000Z", reason } },
  },
  featurePrompt: { parameters, bodies: { feature: { isFeatured: true } }, data: { ...moderated, isFeatured: true } },
  setAuthorShare: {
    parameters,
    bodies: { share: { percent: 30 }, installations: { percent: null } },
    data: { ...moderated, authorSharePercent: 30 },
  },
};
