/** Queries for operators. Live figures are refreshed while they are on screen. */
import type { ListInstallationRunsQuery } from "@promptd/contract/manage";
import { queryOptions } from "@tanstack/react-query";
import { growingList, liveRuns, manage } from "../../api.ts";
import type { AuditSearch } from "../../search.ts";
import { spanOf, type TimeSearch } from "../../time-span.ts";

const NOW_MS = 10_000;

export const systemQuery = queryOptions({
  queryKey: ["operator", "system"],
  queryFn: ({ signal }) => manage.send("getSystem", { signal }),
  refetchInterval: NOW_MS,
});

export const healthQuery = queryOptions({
  queryKey: ["operator", "health"],
  queryFn: ({ signal }) => manage.send("listModelHealth", { signal }),
  refetchInterval: NOW_MS,
});

export type Readiness = Readonly<Record<string, unknown>> & { readonly ready: boolean };

/** The load balancer's check. A server that is not ready responds with 500 and the same details. */
export const readinessQuery = queryOptions({
  queryKey: ["operator", "readiness"],
  queryFn: async ({ signal }): Promise<Readiness> => {
    const answer = await fetch("/readyz", { signal });
    const { data } = (await answer.json()) as { readonly data: Readiness };
    return data;
  },
  refetchInterval: NOW_MS,
});

type RunFilter = Omit<ListInstallationRunsQuery, "limit" | "startingAfter" | "endingBefore" | "since" | "until">;

/** The time range counts from each request. */
export const installationRunsQuery = (filter: RunFilter, time: TimeSearch) =>
  liveRuns(["operator", "runs", filter, time], (page, signal) =>
    manage.send("listInstallationRuns", { query: { ...filter, ...spanOf(time, Date.now()), ...page }, signal }),
  );

export const installationRunQuery = (runId: string) =>
  queryOptions({
    queryKey: ["operator", "run", runId],
    queryFn: ({ signal }) => manage.send("getInstallationRun", { params: { runId }, signal }),
  });

const withText = (q: string | undefined) => (q === undefined ? {} : { q });

export const peopleQuery = (q: string | undefined) =>
  growingList(
    ["operator", "people", q],
    (page, signal) => manage.send("listPeople", { query: { ...withText(q), ...page }, signal }),
    ({ personId }) => personId,
  );

export const personInvitationsQuery = (q: string | undefined) =>
  growingList(
    ["operator", "invitations", q],
    (page, signal) => manage.send("listPersonInvitations", { query: { ...withText(q), ...page }, signal }),
    ({ invitationId }) => invitationId,
  );

export const accountsQuery = (q: string | undefined) =>
  growingList(
    ["operator", "accounts", q],
    (page, signal) => manage.send("listAccounts", { query: { ...withText(q), ...page }, signal }),
    ({ accountId }) => accountId,
  );

export const accountQuery = (accountId: string) =>
  queryOptions({
    queryKey: ["operator", "account", accountId],
    queryFn: ({ signal }) => manage.send("getAccount", { params: { accountId }, signal }),
  });

export const moderatedQuery = (q: string | undefined) =>
  growingList(
    ["operator", "prompts", q],
    (page, signal) => manage.send("listModeratedPrompts", { query: { ...withText(q), ...page }, signal }),
    ({ promptId }) => promptId,
  );

export const auditQuery = (filter: AuditSearch) =>
  growingList(
    ["operator", "audit", filter],
    (page, signal) =>
      manage.send("listAudit", { query: { ...filter, reads: filter.reads ?? "without", ...page }, signal }),
    ({ auditId }) => auditId,
  );
