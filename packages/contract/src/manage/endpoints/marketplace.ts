import type { EndpointEntry } from "../../endpoints.ts";

const BOTH = ["token", "session"] as const;
const reading = { auth: BOTH, role: "member", scope: "prompts:read" } as const;
const operator = { auth: BOTH, role: "operator", scope: "operator" } as const;

/** Published prompts as everybody sees them, votes, and operators' decisions. */
export const marketplaceEndpoints = {
  searchMarketplace: {
    ...reading,
    method: "GET",
    path: "/manage/v1/marketplace",
    summary: "Search or list published prompts by modality, model, and tag",
    errors: ["VALIDATION_ERROR"],
  },
  getMarketplacePrompt: {
    ...reading,
    method: "GET",
    path: "/manage/v1/marketplace/:slug",
    summary: "Retrieve a published prompt by its slug, with everything its page shows",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
  },
  listMarketplaceVersions: {
    ...reading,
    method: "GET",
    path: "/manage/v1/marketplace/:slug/versions",
    summary: "List the versions of a published prompt, newest first, with notes and labels",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
  },
  voteForPrompt: {
    method: "PUT",
    path: "/manage/v1/marketplace/:slug/vote",
    summary: "Vote for a published prompt, or withdraw the vote; one vote per person and prompt",
    auth: "session",
    role: "member",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "slug",
  },
  listModeratedPrompts: {
    ...operator,
    method: "GET",
    path: "/manage/v1/system/prompts",
    summary: "List and search all prompts ever published, newest first, with operators' decisions",
    errors: ["VALIDATION_ERROR"],
  },
  moderatePrompt: {
    ...operator,
    method: "PUT",
    path: "/manage/v1/system/prompts/:promptId/moderation",
    summary: "Block a prompt for a reason (unpublish it so that its author cannot publish it again), or allow it again",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "promptId",
  },
  featurePrompt: {
    ...operator,
    method: "PUT",
    path: "/manage/v1/system/prompts/:promptId/feature",
    summary: "Feature a prompt in the marketplace, or stop featuring it",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "promptId",
  },
  setAuthorShare: {
    ...operator,
    method: "PUT",
    path: "/manage/v1/system/prompts/:promptId/author-share",
    summary:
      "Set the author's share of a prompt, in percent of the price of others' runs; null uses the installation's share",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "promptId",
  },
} as const satisfies Record<string, EndpointEntry>;
