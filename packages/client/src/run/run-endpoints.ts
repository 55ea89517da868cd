import { ENDPOINTS, type EndpointShapes } from "@promptd/contract";

const { createRun, getRun, followRun, getPrompt, resolveSlug } = ENDPOINTS;

/** What `client.run` calls. The table of all endpoints is loaded on demand. */
export const RUN_ENDPOINTS = { createRun, getRun, followRun, getPrompt, resolveSlug };

export type RunShapes = Pick<EndpointShapes, keyof typeof RUN_ENDPOINTS>;
