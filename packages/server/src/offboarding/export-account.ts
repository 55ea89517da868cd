/**
 * Everything of an account as one archive, written while it is read: no part of it is ever held as a whole. Lists are JSON
 * lines in numbered files. It is not one snapshot: what is made meanwhile may be missing.
 */
import { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { describeKey, findAccount, listKeys } from "../accounts/index.ts";
import { findStanding, listJournal } from "../credits/index.ts";
import type { AccountFiles } from "../files/index.ts";
import { describeAccess } from "../people/index.ts";
import { isoTime, type Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database/database.ts";
import { notFound } from "../platform/problem.ts";
import { writeTar, type TarEntry } from "../platform/tar.ts";
import { promptsOfAccount } from "../prompts/index.ts";
import { runsOfAccount } from "../runs/index.ts";
import { webhooksOfAccount } from "../webhooks/index.ts";

export interface ExportPorts {
  readonly db: Database;
  readonly files: AccountFiles;
  readonly clock: Clock;
}

const FIRST_ID = "00000000-0000-0000-0000-000000000000";
const PAGE = 500;
/** Inputs and outputs of a run may be megabytes. */
const PAGE_BYTES_MAX = 8 * 1024 * 1024;
const ENDINGS: Readonly<Record<string, string>> = {
  "image/png": ".png",
  "image/jpeg": ".jpg",
  "image/webp": ".webp",
  "image/gif": ".gif",
  "video/mp4": ".mp4",
  "video/webm": ".webm",
};
const README = `Everything that promptd has stored of this account.

account.json          the account, its members, tokens and invitations, webhooks, and what its keys may do; no secrets
prompts/<slug>/       every version of every prompt, with its text as it was published; draft.prompt.md is a draft
runs/*.jsonl          runs with inputs and outputs, one a line, oldest first
batches/*.jsonl       items of batches with the runs they got, one a line; inputs are those of items without a run
journal/*.jsonl       the journal of credits, one row a line, newest first
usage/*.jsonl         what was used by day, key, prompt and model
deliveries/*.jsonl    which events were sent to webhooks in the last 30 days, and what was answered
files/                images and videos that are still stored; files/list.jsonl says which run each belongs to

All moments are UTC.
`;

/** A .tar.gz as a stream. @throws Problem NOT_FOUND_ERROR. */
export async function exportAccount(accountId: string, ports: ExportPorts): Promise<Readable> {
  if ((await findAccount(ports.db, accountId)) === null) throw notFound("account", accountId);
  const tar = Readable.from(writeTar(entriesOf(accountId, ports), ports.clock.nowMs() / 1_000), { objectMode: false });
  const gzip = createGzip();
  tar.once("error", (error) => gzip.destroy(error));
  gzip.once("close", () => tar.destroy());
  return tar.pipe(gzip);
}

async function* entriesOf(accountId: string, ports: ExportPorts): AsyncGenerator<TarEntry> {
  yield entry("README.txt", README);
  yield entry("account.json", JSON.stringify(await describeAccount(accountId, ports), null, 2));
  yield* promptEntries(accountId, ports);
  yield* numbered("runs", pagesOfRuns(accountId, ports));
  yield* numbered("batches", pagesOfItems(accountId, ports));
  yield* numbered("journal", pagesOfJournal(accountId, ports));
  yield* numbered("usage", pagesOfUsage(accountId, ports));
  yield* numbered("deliveries", pagesOfDeliveries(accountId, ports));
  yield* fileEntries(accountId, ports);
}

async function describeAccount(accountId: string, { db }: ExportPorts): Promise<object> {
  const [account, access, keys, credits, webhooks] = await Promise.all([
    findAccount(db, accountId),
    describeAccess(db, accountId),
    listKeys(db, accountId),
    findStanding(db, accountId),
    webhooksOfAccount.listWebhooks(db, accountId),
  ]);
  if (account === null) throw notFound("account", accountId);
  const { proUntil, isPro, userFlags: _flags, ...names } = account;
  const plan = {
    plan: isPro ? "pro" : "none",
    planUntil: proUntil instanceof Date ? isoTime(proUntil.getTime()) : null,
  };
  return { account: { ...names, ...plan }, ...access, keys: keys.map(describeKey), credits, webhooks };
}

async function* promptEntries(accountId: string, { db }: ExportPorts): AsyncGenerator<TarEntry> {
  for (const { slug, source } of await promptsOfAccount.listDraftsOf(db, accountId)) {
    yield entry(`prompts/${slug}/draft.prompt.md`, source);
  }
  const next = (after: string) => promptsOfAccount.listVersionsOf(db, accountId, { after, limit: PAGE });
  for (let page = await next(FIRST_ID); page.length > 0; page = await next(page.at(-1)?.id ?? FIRST_ID)) {
    for (const { source, ...version } of page) {
      const name = `prompts/${version.slug}/${version.number === null ? version.id : `v${version.number}`}`;
      yield entry(`${name}.json`, JSON.stringify(version, null, 2));
      if (source !== null) yield entry(`${name}.prompt.md`, source);
    }
  }
}

async function* pagesOfRuns(accountId: string, { db }: ExportPorts): AsyncGenerator<readonly object[]> {
  const bounds = { limit: PAGE, bytesMax: PAGE_BYTES_MAX };
  const next = (after: string) => runsOfAccount.listRunsOf(db, accountId, { after, ...bounds });
  for (let page = await next(FIRST_ID); page.length > 0; page = await next(page.at(-1)?.runId ?? FIRST_ID)) yield page;
}

async function* pagesOfItems(accountId: string, { db }: ExportPorts): AsyncGenerator<readonly object[]> {
  const first = { batchId: FIRST_ID, index: -1 };
  const bounds = { limit: PAGE, bytesMax: PAGE_BYTES_MAX };
  const next = (after: typeof first) => runsOfAccount.listItemsOf(db, accountId, { after, ...bounds });
  for (let page = await next(first); page.length > 0; page = await next(page.at(-1) ?? first)) yield page;
}

async function* pagesOfJournal(accountId: string, { db }: ExportPorts): AsyncGenerator<readonly object[]> {
  const next = async (startingAfter?: string) =>
    (await listJournal(db, accountId, { limit: PAGE, startingAfter })).rows;
  for (let page = await next(); page.length > 0; page = await next(page.at(-1)?.entryId)) yield page;
}

async function* pagesOfUsage(accountId: string, { db }: ExportPorts): AsyncGenerator<readonly object[]> {
  const next = (offset: number) => runsOfAccount.listUsageOf(db, accountId, { offset, limit: PAGE });
  let offset = 0;
  for (let page = await next(offset); page.length > 0; page = await next(offset)) {
    yield page;
    offset += page.length;
  }
}

async function* pagesOfDeliveries(accountId: string, { db }: ExportPorts): AsyncGenerator<readonly object[]> {
  const next = (after: string) => webhooksOfAccount.listDeliveries(db, accountId, { after, limit: PAGE });
  for (let page = await next(FIRST_ID); page.length > 0; page = await next(page.at(-1)?.deliveryId ?? FIRST_ID)) {
    yield page;
  }
}

async function* fileEntries(accountId: string, { files }: ExportPorts): AsyncGenerator<TarEntry> {
  const listed: object[] = [];
  const next = (after: string) => files.list(accountId, { after, limit: PAGE });
  for (let page = await next(FIRST_ID); page.length > 0; page = await next(page.at(-1)?.fileId ?? FIRST_ID)) {
    for (const file of page) {
      const blob = await files.open(file.fileId);
      if (blob === null) continue; // removed since it was listed
      const name = `files/${file.fileId}${ENDINGS[file.mediaType] ?? ""}`;
      listed.push({ name, ...file });
      yield { name, size: blob.size, content: blob.body };
    }
  }
  if (listed.length > 0) yield entry("files/list.jsonl", jsonLines(listed));
}

async function* numbered(folder: string, pages: AsyncIterable<readonly object[]>): AsyncGenerator<TarEntry> {
  let number = 0;
  for await (const page of pages) {
    number += 1;
    yield entry(`${folder}/${String(number).padStart(4, "0")}.jsonl`, jsonLines(page));
  }
}

function jsonLines(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

function entry(name: string, text: string): TarEntry {
  const bytes = Buffer.from(text);
  return { name, size: bytes.length, content: [bytes] };
}
