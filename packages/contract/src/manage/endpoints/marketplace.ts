import type { EndpointEntry } from "../../endpoints.ts";

const BOTH = ["token", "session"] as const;
const reading = { auth: BOTH, role: "member", scope: "prompts:read" } as const;
const operator = { auth: BOTH, role: "operator", scope: "operator" } as const;

/** What everybody sees of published prompts, votes on them, and what operators decide about them. */
export const marketplaceEndpoints = {
  searchMarketplace: {
    ...reading,
    method: "GET",
    path: "/manage/v1/marketplace",
    summary: "Search published prompts, or list them, by modality, model and tag",
    errors: ["VALIDATION_ERROR"],
  },
  getMarketplacePrompt: {
    ...reading,
    method: "GET",
    path: "/manage/v1/marketplace/:slug",
    summary: "Retrieve a published prompt by its slug, with all that its page shows",
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
    summary: "Vote for a published prompt, or take the vote back; one vote a person and prompt",
    auth: "session",
    role: "member",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "slug",
  },
  listModeratedPrompts: {
    ...operator,
    method: "GET",
    path: "/manage/v1/system/prompts",
    summary: "List and search the prompts that were ever published, newest first, with what operators decided",
    errors: ["VALIDATION_ERROR"],
  },
  moderatePrompt: {
    ...operator,
    method: "PUT",
    path: "/manage/v1/system/prompts/:promptId/moderation",
    summary: "Unpublish a prompt for a reason, so that its author cannot publish it again, or allow it again",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "promptId",
  },
  featurePrompt: {
    ...operator,
    method: "PUT",
    path: "/manage/v1/system/prompts/:promptId/feature",
    summary: "Feature a prompt in the marketplace, or no longer",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "promptId",
  },
  setAuthorShare: {
    ...operator,
    method: "PUT",
    path: "/manage/v1/system/prompts/:promptId/author-share",
    summary: "Set what the author of a prompt earns of the price of others' runs, in percent; null: the installation's",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "promptId",
  },
} as const satisfies Record<string, EndpointEntry>;
