/**
 * Once a week the index is compared with what it was made from: with the published prompts, and its counts with its
 * own postings and words. Differences are repaired and logged; there should never be any.
 */
import type { Database, Queryable } from "../../platform/database/database.ts";
import { FIRST_ID } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import {
  listVersionsBetween,
  noteCounts,
  recountTerms,
  recountWords,
  type IndexedVersion,
} from "./verify-index-store.ts";
import type { SearchDocument } from "./document-terms.ts";
import { indexDocuments, removeDocuments } from "./index-document.ts";
import { listIndexed, underIndexLock } from "./index-store.ts";

/** The truth about what may be found, which the slice of prompts keeps. */
export interface PublishedPrompts {
  /** The version to be found of each prompt that may be, in order of the prompts' ids. */
  readonly listVersions: (db: Queryable, afterPromptId: string, limit: number) => Promise<IndexedVersion[]>;
  /** What is to be found of these prompts; those that may not be found are left out. */
  readonly listDocuments: (db: Queryable, promptIds: readonly string[]) => Promise<SearchDocument[]>;
}

const PAGE = 500;
const GREATEST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Pages are compared without the index's lock; what looks wrong is looked at again under it, and mended. */
export async function verifyDocuments(db: Database, published: PublishedPrompts, log: Log): Promise<void> {
  let removed = 0;
  let written = 0;
  for (let after = FIRST_ID; after < GREATEST_ID;) {
    const wanted = await published.listVersions(db, after, PAGE);
    const last = wanted.length < PAGE ? GREATEST_ID : (wanted.at(-1)?.promptId ?? GREATEST_ID);
    const indexed = await listVersionsBetween(db, after, last);
    const suspects = differingPrompts(wanted, indexed);
    for (let i = 0; i < suspects.length; i += PAGE) {
      const mended = await mendPrompts(db, published, suspects.slice(i, i + PAGE));
      removed += mended.removed;
      written += mended.written;
    }
    after = last;
  }
  if (removed + written > 0)
    log.error({ removed, written }, "the search index differed from what is published; mended");
}

function differingPrompts(some: readonly IndexedVersion[], others: readonly IndexedVersion[]): string[] {
  const keysOf = (versions: readonly IndexedVersion[]) => new Set(versions.map(keyOf));
  const [someKeys, otherKeys] = [keysOf(some), keysOf(others)];
  const differing = [
    ...some.filter((version) => !otherKeys.has(keyOf(version))),
    ...others.filter((version) => !someKeys.has(keyOf(version))),
  ];
  return [...new Set(differing.map(({ promptId }) => promptId))];
}

const keyOf = ({ promptId, promptVersionId }: IndexedVersion) => `${promptId} ${promptVersionId}`;

/** Under the lock nobody who publishes can commit, so what is read here of prompts and index belongs together. */
function mendPrompts(db: Database, published: PublishedPrompts, promptIds: readonly string[]) {
  return underIndexLock(db, async (tx) => {
    const wanted = await published.listDocuments(tx, promptIds);
    const indexed = await listIndexed(tx, promptIds);
    const suspects = new Set(differingPrompts(wanted, indexed));
    const wantedIds = new Set(wanted.map(({ promptId }) => promptId));
    const outdated = wanted.filter(({ promptId }) => suspects.has(promptId));
    const gone = indexed.filter(({ promptId }) => !wantedIds.has(promptId));
    await removeDocuments(
      tx,
      gone.map(({ promptId }) => promptId),
    );
    await indexDocuments(tx, outdated);
    return { removed: gone.length, written: outdated.length };
  });
}

/** Counts change by adding and subtracting. Every process is notified of those that were wrong. */
export async function verifyCounts(db: Database, log: Log): Promise<void> {
  const terms = await underIndexLock(db, async (tx) => {
    const wrong = await recountTerms(tx);
    await noteCounts(tx, { terms: wrong, words: [] });
    return wrong.length;
  });
  const words = await underIndexLock(db, async (tx) => {
    const wrong = await recountWords(tx);
    await noteCounts(tx, { terms: [], words: wrong });
    return wrong.length;
  });
  if (terms + words === 0) return;
  log.error({ terms, words }, "counts of the search index had drifted from its documents; corrected");
}
