import type { Credits, Me } from "./accounts.ts";
import type { Resources } from "./models.ts";
import type { PromptVersion, SearchResult } from "./prompts.ts";
import type { CreateRunBody, ListRunsQuery, Run, RunList } from "./runs.ts";

interface Shape {
  params: object;
  query: object;
  body: unknown;
  data: unknown;
}

/** What each endpoint takes and gives; the keys are those of ENDPOINTS. */
export interface EndpointShapes extends Record<string, Shape> {
  createRun: { params: object; query: object; body: CreateRunBody; data: Run };
  getRun: { params: { runId: string }; query: object; body: undefined; data: Run };
  cancelRun: { params: { runId: string }; query: object; body: undefined; data: Run };
  listRuns: { params: object; query: ListRunsQuery; body: undefined; data: RunList };
  searchPrompts: { params: object; query: { q: string }; body: undefined; data: SearchResult };
  getPrompt: {
    params: { promptId: string };
    query: { versionId?: string | undefined };
    body: undefined;
    data: PromptVersion;
  };
  getPromptVersion: { params: { promptVersionId: string }; query: object; body: undefined; data: PromptVersion };
  getResources: { params: object; query: object; body: undefined; data: Resources };
  getMe: { params: object; query: object; body: undefined; data: Me };
  getCredits: { params: object; query: object; body: undefined; data: Credits };
}

/**
 * Every endpoint of the interface: the server mounts this table, the client calls it, the docs and the OpenAPI
 * document print it. `/v1/prompts/publish` stands before `/v1/prompts/:promptId`, since it would match both.
 */
export const ENDPOINTS = {
  createRun: {
    method: "POST",
    path: "/v1/runs",
    summary: "Create a run of a published prompt version and wait for it",
  },
  getRun: { method: "GET", path: "/v1/runs/:runId", summary: "Retrieve a run" },
  cancelRun: { method: "POST", path: "/v1/runs/:runId/cancel", summary: "Cancel a run that is not final" },
  listRuns: { method: "GET", path: "/v1/runs", summary: "List the caller's runs, newest first" },
  searchPrompts: { method: "GET", path: "/v1/prompts/publish", summary: "Search published prompts" },
  getPrompt: {
    method: "GET",
    path: "/v1/prompts/:promptId",
    summary: "Retrieve a prompt with its input configuration",
  },
  getPromptVersion: {
    method: "GET",
    path: "/v1/prompt-versions/:promptVersionId",
    summary: "Retrieve a prompt version with its input configuration",
  },
  getResources: { method: "GET", path: "/v1/resources", summary: "List the available models and their run options" },
  getMe: { method: "GET", path: "/v1/me", summary: "Profile of the key's user" },
  getCredits: { method: "GET", path: "/v1/me/credits", summary: "Credits that can be spent now" },
} as const satisfies Record<string, { method: "GET" | "POST"; path: `/v1/${string}`; summary: string }>;

export type EndpointName = keyof typeof ENDPOINTS;
