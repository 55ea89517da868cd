/** The console's only access to the server: the management API client, and one query per resource. */
import { createManageClient, PromptdConnectionError, PromptdError, PromptdProtocolError } from "@promptd/client/manage";
import type { CreateRunBody, RunStatus, Unauthorized } from "@promptd/contract";
import {
  ACCOUNT_HEADER,
  type DiffQuery,
  type ListManagedRunsQuery,
  type ListPromptsQuery,
  type ManagedRun,
  type ManagedRunRow,
  type MarketplaceQuery,
  type Page,
  type PageQuery,
  type PreviewBody,
} from "@promptd/contract/manage";
import { infiniteQueryOptions, queryOptions, type InfiniteData, type QueryState } from "@tanstack/react-query";
import { chosenAccount } from "./account.ts";
import type { MarketplaceSearch } from "./search.ts";
import { SignedOutError } from "./sign-in.ts";
import { spanOf, type TimeSearch } from "./time-span.ts";

export const manage = createManageClient({
  baseUrl: location.origin,
  account: chosenAccount,
  maxRetries: 1,
});

/** Requested without an account, because the person may have left the chosen one. */
export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: () => manage.send("getSession", { headers: { [ACCOUNT_HEADER]: null } }),
  staleTime: 60_000,
});

/** The server extends a session older than a day to thirty days again, and renews its cookie. */
export function renewSession(): void {
  void fetch("/manage/auth/get-session").catch(() => {}); // the next page that opens asks again
}

/** For people who are not signed in yet. */
export const featuresQuery = queryOptions({
  queryKey: ["features"],
  queryFn: () => manage.send("getFeatures"),
  staleTime: Infinity,
});

export function isSignedOut(error: unknown): boolean {
  if (!(error instanceof PromptdError)) return error instanceof SignedOutError;
  // A missing role or scope has the same code.
  return error.code === "UNAUTHORIZED_ERROR" && (error.data as Unauthorized | null)?.reason === "SIGN_IN_REQUIRED";
}

/** Also true if the address does not contain a valid id, which cannot exist either. */
export function isMissing(error: unknown): boolean {
  if (!(error instanceof PromptdError)) return false;
  return error.code === "NOT_FOUND_ERROR" || error.issues.some(({ path }) => path[0] === "path");
}

/** True if the same request may succeed later, unchanged. */
export function mayPass(error: unknown): boolean {
  if (error instanceof PromptdError) return error.httpStatus === 429 || error.httpStatus >= 500;
  return error instanceof PromptdConnectionError || error instanceof PromptdProtocolError;
}

const UNREACHABLE = "The server could not be reached. Check the connection, then try again.";

/** Replaces the server's message, which is written for programs too. */
const SIGNED_OUT = "You are signed out. Sign in again. What you typed here stays.";

export interface Fault {
  readonly message: string;
  readonly requestId: string | null;
  /** True if the person must sign in again. */
  readonly isSignedOut: boolean;
}

/** What a page says about a failure: the server's message, or that the server could not be reached. */
export function faultOf(error: unknown): Fault {
  if (isSignedOut(error)) return { message: SIGNED_OUT, requestId: null, isSignedOut: true };
  const requestId = error instanceof PromptdError ? error.requestId : null;
  return { message: messageOf(error), requestId, isSignedOut: false };
}

function messageOf(error: unknown): string {
  if (error instanceof PromptdConnectionError) return UNREACHABLE;
  if (error instanceof PromptdProtocolError) {
    return `The response did not come from promptd but from something in between, such as a proxy (HTTP ${error.httpStatus}). Try again.`;
  }
  return error instanceof Error ? error.message : String(error);
}

export const marketplaceQuery = (search: { readonly q?: string | undefined; readonly sort?: "popular" | "newest" }) =>
  queryOptions({
    queryKey: ["marketplace", search],
    queryFn: ({ signal }) => manage.send("searchMarketplace", { query: search, signal }),
    staleTime: 30_000,
  });

type Browse = Omit<MarketplaceQuery, "limit" | "startingAfter">;

/** Two screens of cards, so that the first page loads fast. */
const CARDS = 24;

/** The marketplace query for an address. A text search has its own order. */
export const browseOf = ({ q, sort, modality, model, tag }: MarketplaceSearch): Browse => ({
  q,
  sort: q === undefined ? sort : undefined,
  modality,
  model,
  tag,
});

/** The same, page by page. */
export const marketplacePages = (browse: Browse) => ({
  ...growingList(
    ["marketplace", "pages", browse],
    (page, signal) => manage.send("searchMarketplace", { query: { ...browse, ...page, limit: CARDS }, signal }),
    ({ promptId }) => promptId,
  ),
  staleTime: 30_000,
});

export const versionsQuery = (slug: string) =>
  growingList(
    ["prompt", slug, "versions"],
    (page, signal) => manage.send("listMarketplaceVersions", { params: { slug }, query: page, signal }),
    ({ promptVersionId }) => promptVersionId,
  );

export const promptQuery = (slug: string) =>
  queryOptions({
    queryKey: ["prompt", slug],
    queryFn: ({ signal }) => manage.send("getMarketplacePrompt", { params: { slug }, signal }),
    staleTime: 30_000,
  });

/** How often a run that is not final is polled. */
const RUN_POLL_MS = 1_000;
/** How soon a poll is retried after a temporary failure. */
const RETRY_MS = 3_000;
export const isFinal = (status: RunStatus | undefined) => status === "succeeded" || status === "failed";

/** For `refetchInterval`: retries after an outage, but not after a refusal. */
const retryAfter = (error: unknown): number | false => error !== null && mayPass(error) && RETRY_MS;

/** For `refetchInterval` of data that changes on its own. */
export function followEvery(ms: number, isLive: boolean, error: unknown): number | false {
  return error === null ? isLive && ms : retryAfter(error);
}

/** The end of a model call, with its tokens, may be recorded this long after the end of its run. */
const CALL_END_MS_MAX = 10_000;

/** True until the run is final and its calls are recorded. */
function isChanging(run: ManagedRun | undefined): boolean {
  if (run === undefined || run.finishedAt === null) return true;
  const isOpen = run.timeline.some(({ event, outcome }) => event === "call" && outcome === null);
  return isOpen && Date.now() - Date.parse(run.finishedAt) < CALL_END_MS_MAX;
}

export const runQuery = (runId: string) =>
  queryOptions({
    queryKey: ["run", runId],
    queryFn: ({ signal }) => manage.send("getRun", { params: { runId }, signal }),
    refetchInterval: ({ state }) => followEvery(RUN_POLL_MS, isChanging(state.data), state.error),
  });

/** A paginated list, newest first. `idOf` gives the cursor after which the next page starts. */
export function growingList<Row>(
  queryKey: readonly unknown[],
  load: (page: PageQuery, signal: AbortSignal) => Promise<Page<Row>>,
  idOf: (row: Row) => string,
) {
  return infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      load({ limit: 50, ...(pageParam === null ? {} : { startingAfter: pageParam }) }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ rows, hasMore }) => {
      const last = rows.at(-1);
      return hasMore && last !== undefined ? idOf(last) : null;
    },
  });
}

/** How often a list with live runs is refreshed. */
const LIVE_MS = 2_000;

/** A list of runs, refreshed while any run it shows is not final. */
export const liveRuns = <Row extends ManagedRunRow>(
  queryKey: readonly unknown[],
  load: Parameters<typeof growingList<Row>>[1],
) => ({
  ...growingList(queryKey, load, ({ runId }) => runId),
  refetchInterval: ({ state }: { readonly state: QueryState<InfiniteData<Page<Row>>> }) => {
    const isLive = state.data?.pages.some(({ rows }) => rows.some(({ runStatus }) => !isFinal(runStatus))) === true;
    return followEvery(LIVE_MS, isLive, state.error);
  },
});

type RunFilter = Omit<ListManagedRunsQuery, "startingAfter" | "endingBefore" | "since" | "until">;

/** The time range counts from each request. */
export const runsQuery = (query: RunFilter, time: TimeSearch) =>
  liveRuns(["runs", query, time], (page, signal) =>
    manage.send("listRuns", { query: { ...query, ...spanOf(time, Date.now()), ...page }, signal }),
  );

export const creditsQuery = queryOptions({
  queryKey: ["credits"],
  queryFn: ({ signal }) => manage.send("getCredits", { signal }),
});

export const journalQuery = growingList(
  ["journal"],
  (query, signal) => manage.send("listJournal", { query, signal }),
  ({ entryId }) => entryId,
);

/** All lists of keys, to reload them. */
export const KEYS = ["keys"] as const;

export const keysQuery = (revoked: "with" | "without") =>
  growingList(
    [...KEYS, revoked],
    (query, signal) => manage.send("listKeys", { query: { ...query, revoked }, signal }),
    ({ keyId }) => keyId,
  );

/** Creates a run without waiting for it. The same `key` never creates two runs. */
export async function createRun(body: CreateRunBody, key: string): Promise<string> {
  const headers = { prefer: "respond-async, stream", "idempotency-key": key };
  const { data } = await manage.call("createRun", { body, headers });
  return data.runId;
}

interface Refusal {
  readonly message: string;
  readonly data: Unauthorized | null;
}

/**
 * Downloads a file from the server, such as the account's export.
 * @throws Error with a message to show.
 */
export async function download(path: "/manage/v1/account/export" | `/manage/v1/runs/export?${string}`): Promise<Blob> {
  const account = chosenAccount();
  const headers = account === null ? {} : { [ACCOUNT_HEADER]: account };
  // Fetched here because the client reads only text.
  const answer = await fetch(path, { headers }).catch(() => null);
  if (answer === null) throw new Error(UNREACHABLE);
  if (answer.ok) return answer.blob();
  const refusal = (await answer.json().catch(() => null)) as Refusal | null;
  if (refusal?.data?.reason === "SIGN_IN_REQUIRED") throw new SignedOutError();
  throw new Error(refusal?.message ?? `The server responded with HTTP ${answer.status}.`);
}

/** The account's prompts, including drafts. */
export const ownPromptsQuery = (query: Pick<ListPromptsQuery, "q" | "state">) =>
  growingList(
    ["own-prompts", query],
    (page, signal) => manage.send("listPrompts", { query: { ...query, ...page }, signal }),
    ({ promptId }) => promptId,
  );

export const ownPromptQuery = (promptId: string) =>
  queryOptions({
    queryKey: ["own-prompt", promptId],
    queryFn: ({ signal }) => manage.send("getPrompt", { params: { promptId }, signal }),
  });

export const ownVersionsQuery = (promptId: string) =>
  growingList(
    ["own-versions", promptId],
    (query, signal) => manage.send("listVersions", { params: { promptId }, query, signal }),
    ({ promptVersionId }) => promptVersionId,
  );

/** `stamp` identifies the saved draft, so that saving refreshes the comparison. */
export const diffQuery = (promptId: string, query: DiffQuery, stamp: string) =>
  queryOptions({
    queryKey: ["diff", promptId, query, stamp],
    queryFn: ({ signal }) => manage.send("diffPrompt", { params: { promptId }, query, signal }),
  });

/** The server's own validator; nothing is stored. */
export const checkQuery = (source: string) =>
  queryOptions({
    queryKey: ["check", source],
    queryFn: ({ signal }) => manage.send("checkPromptFile", { body: { source }, signal }),
    refetchInterval: ({ state }) => retryAfter(state.error),
    staleTime: Infinity,
    gcTime: 60_000,
    retry: false,
  });

export const previewQuery = (body: PreviewBody) =>
  queryOptions({
    queryKey: ["preview", body],
    queryFn: ({ signal }) => manage.send("previewPromptFile", { body, signal }),
    refetchInterval: ({ state }) => retryAfter(state.error),
    gcTime: 60_000,
    retry: false,
  });

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: ({ signal }) => manage.send("listModels", { signal }),
  staleTime: 300_000,
});
