/** The only way to the server: the client of the management API, and one query for each resource that pages read. */
import { createManageClient, PromptdConnectionError, PromptdError, PromptdProtocolError } from "@promptd/client/manage";
import type { CreateRunBody, RunStatus, Unauthorized } from "@promptd/contract";
import {
  ACCOUNT_HEADER,
  type DiffQuery,
  type ListManagedRunsQuery,
  type ListPromptsQuery,
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

export const manage = createManageClient({
  baseUrl: location.origin,
  account: chosenAccount,
  maxRetries: 1,
});

/** Asked without an account: the chosen one may be an account that the person has left. */
export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: () => manage.send("getSession", { headers: { [ACCOUNT_HEADER]: null } }),
  staleTime: 60_000,
});

/** The server gives a session that is a day old its thirty days again, and its cookie too. */
export function renewSession(): void {
  void fetch("/manage/auth/get-session").catch(() => {}); // the next page that is opened asks again
}

/** For who is not signed in yet. */
export const featuresQuery = queryOptions({
  queryKey: ["features"],
  queryFn: () => manage.send("getFeatures"),
  staleTime: Infinity,
});

export function isSignedOut(error: unknown): boolean {
  if (!(error instanceof PromptdError)) return error instanceof SignedOutError;
  // The same code says that a role or a scope is missing.
  return error.code === "UNAUTHORIZED_ERROR" && (error.data as Unauthorized | null)?.reason === "SIGN_IN_REQUIRED";
}

/** Also where the address holds what no id can be: that leads to nothing as well. */
export function isMissing(error: unknown): boolean {
  if (!(error instanceof PromptdError)) return false;
  return error.code === "NOT_FOUND_ERROR" || error.issues.some(({ path }) => path[0] === "path");
}

/** True: the same request may go well later, without anybody changing it. */
export function mayPass(error: unknown): boolean {
  if (error instanceof PromptdError) return error.httpStatus === 429 || error.httpStatus >= 500;
  return error instanceof PromptdConnectionError || error instanceof PromptdProtocolError;
}

const UNREACHABLE = "The server could not be reached. Check the connection, then try again.";

/** In place of the server's sentence, which speaks to programs as well. */
const SIGNED_OUT = "You are signed out. Sign in again. What you typed here stays.";

export interface Fault {
  readonly message: string;
  readonly requestId: string | null;
  /** True: the way on is a new sign-in. */
  readonly isSignedOut: boolean;
}

/** What a page says of a failure: the server's own sentence, or that it could not be reached. */
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

/** Two screens of cards: the first page waits for no more. */
const CARDS = 24;

/** What the address of the marketplace asks for: words have an order of their own. */
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

/** How soon a run that is not final is asked for again. */
const RUN_POLL_MS = 1_000;
/** How soon what is followed is asked for again after a failure that may pass. */
const RETRY_MS = 3_000;
export const isFinal = (status: RunStatus | undefined) => status === "succeeded" || status === "failed";

/** For `refetchInterval`: an outage ends, a refusal does not. */
const retryAfter = (error: unknown): number | false => error !== null && mayPass(error) && RETRY_MS;

/** For `refetchInterval` of what changes by itself. */
export function followEvery(ms: number, isLive: boolean, error: unknown): number | false {
  return error === null ? isLive && ms : retryAfter(error);
}

export const runQuery = (runId: string) =>
  queryOptions({
    queryKey: ["run", runId],
    queryFn: ({ signal }) => manage.send("getRun", { params: { runId }, signal }),
    refetchInterval: ({ state }) => followEvery(RUN_POLL_MS, !isFinal(state.data?.runStatus), state.error),
  });

/** A list, newest first, that is read page by page. `idOf`: what the next page begins after. */
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

/** How often a list with live runs is read again. */
const LIVE_MS = 2_000;

/** A list of runs: read again while one of those that are shown is not final. */
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

export const runsQuery = (query: Omit<ListManagedRunsQuery, "startingAfter" | "endingBefore">) =>
  liveRuns(["runs", query], (page, signal) => manage.send("listRuns", { query: { ...query, ...page }, signal }));

export const creditsQuery = queryOptions({
  queryKey: ["credits"],
  queryFn: ({ signal }) => manage.send("getCredits", { signal }),
});

export const journalQuery = growingList(
  ["journal"],
  (query, signal) => manage.send("listJournal", { query, signal }),
  ({ entryId }) => entryId,
);

export const keysQuery = growingList(
  ["keys"],
  (query, signal) => manage.send("listKeys", { query, signal }),
  ({ keyId }) => keyId,
);

/** Creates a run and does not wait for it. The same `key` never makes two. */
export async function createRun(body: CreateRunBody, key: string): Promise<string> {
  const headers = { prefer: "respond-async, stream", "idempotency-key": key };
  const { data } = await manage.call("createRun", { params: {}, query: {}, body, headers });
  return data.runId;
}

interface Refusal {
  readonly message: string;
  readonly data: Unauthorized | null;
}

/**
 * A file that the server answers, such as everything of the account as one archive.
 * @throws Error with a sentence for the page.
 */
export async function download(path: "/manage/v1/account/export" | `/manage/v1/runs/export?${string}`): Promise<Blob> {
  const account = chosenAccount();
  const headers = account === null ? {} : { [ACCOUNT_HEADER]: account };
  // Bytes: the client reads text.
  const answer = await fetch(path, { headers }).catch(() => null);
  if (answer === null) throw new Error(UNREACHABLE);
  if (answer.ok) return answer.blob();
  const refusal = (await answer.json().catch(() => null)) as Refusal | null;
  if (refusal?.data?.reason === "SIGN_IN_REQUIRED") throw new SignedOutError();
  throw new Error(refusal?.message ?? `The server responded with HTTP ${answer.status}.`);
}

/** The prompts of the account, drafts too. */
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

/** `stamp`: of the draft; the comparison is made again when it was saved. */
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
