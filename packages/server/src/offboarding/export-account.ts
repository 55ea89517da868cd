/**
 * Exports everything of an account as one archive, written while it is read: no part of it is ever held in memory as a
 * whole. Lists are JSON lines in numbered files. The export is not one snapshot: data created meanwhile may be missing.
 */
import { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { describeKey, findAccount, listKeys } from "../accounts/index.ts";
import { findStanding, listJournal } from "../credits/index.ts";
import type { AccountFiles } from "../files/index.ts";
import { describeAccess } from "../people/index.ts";
import { isoTime, type Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database/database.ts";
import { walkPages } from "../platform/database/pages.ts";
import { FIRST_ID } from "../platform/ids.ts";
import { notFound, orNotFound } from "../platform/problem.ts";
import { writeTar, type TarEntry } from "./tar.ts";
import { promptsOfAccount } from "../prompts/index.ts";
import { runsOfAccount } from "../runs/index.ts";
import { webhooksOfAccount } from "../webhooks/index.ts";

export interface ExportPorts {
  readonly db: Database;
  readonly files: AccountFiles;
  readonly clock: Clock;
}

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
const README = `Everything that promptd stores for this account.

account.json          the account, its members, tokens and invitations, webhooks, and what its keys may do; no secrets
prompts/<slug>/       every version of every prompt, with its text as published; draft.prompt.md is the draft
runs/*.jsonl          runs with inputs and outputs, one per line, oldest first
batches/*.jsonl       batch items with their runs, one per line; inputs are included only for items without a run
journal/*.jsonl       the credit journal, one row per line, newest first
usage/*.jsonl         usage by day, key, prompt, and model
deliveries/*.jsonl    events sent to webhooks in the last 30 days, and how the receivers responded
files/                images and videos that are still stored; files/list.jsonl says which run each belongs to

All times are in UTC.
`;

/** Exports an account as a .tar.gz stream. @throws Problem NOT_FOUND_ERROR. */
export async function exportAccount(accountId: string, ports: ExportPorts): Promise<Readable> {
  orNotFound(await findAccount(ports.db, accountId), "account", accountId);
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
  yield* listEntries(accountId, ports);
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
  const pages = walkPages((last?: { readonly id: string }) =>
    promptsOfAccount.listVersionsOf(db, accountId, { after: last?.id ?? FIRST_ID, limit: PAGE }),
  );
  for await (const page of pages) {
    for (const { source, ...version } of page) {
      const name = `prompts/${version.slug}/${version.number === null ? version.id : `v${version.number}`}`;
      yield entry(`${name}.json`, JSON.stringify(version, null, 2));
      if (source !== null) yield entry(`${name}.prompt.md`, source);
    }
  }
}

/** Lists as numbered files, one page each. */
async function* listEntries(accountId: string, { db }: ExportPorts): AsyncGenerator<TarEntry> {
  const bounds = { limit: PAGE, bytesMax: PAGE_BYTES_MAX };
  yield* numbered("runs", (last?: { readonly runId: string }) =>
    runsOfAccount.listRunsOf(db, accountId, { after: last?.runId ?? FIRST_ID, ...bounds }),
  );
  yield* numbered("batches", (last: typeof FIRST_ITEM = FIRST_ITEM) =>
    runsOfAccount.listItemsOf(db, accountId, { after: last, ...bounds }),
  );
  yield* numbered(
    "journal",
    async (last?: { readonly entryId: string }) =>
      (await listJournal(db, accountId, { limit: PAGE, startingAfter: last?.entryId })).rows,
  );
  let offset = 0;
  yield* numbered("usage", async () => {
    const page = await runsOfAccount.listUsageOf(db, accountId, { offset, limit: PAGE });
    offset += page.length;
    return page;
  });
  yield* numbered("deliveries", (last?: { readonly deliveryId: string }) =>
    webhooksOfAccount.listDeliveries(db, accountId, { after: last?.deliveryId ?? FIRST_ID, limit: PAGE }),
  );
}

const FIRST_ITEM = { batchId: FIRST_ID, index: -1 };

async function* fileEntries(accountId: string, { files }: ExportPorts): AsyncGenerator<TarEntry> {
  const listed: object[] = [];
  const pages = walkPages((last?: { readonly fileId: string }) =>
    files.list(accountId, { after: last?.fileId ?? FIRST_ID, limit: PAGE }),
  );
  for await (const page of pages) {
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

async function* numbered<Row extends object>(
  folder: string,
  next: (last: Row | undefined) => Promise<readonly Row[]>,
): AsyncGenerator<TarEntry> {
  let number = 0;
  for await (const page of walkPages(next)) {
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
