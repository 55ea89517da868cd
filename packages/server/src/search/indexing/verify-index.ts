/**
 * Once a week, compares the index with the published prompts, and its counts with its own postings and words.
 * Differences are repaired and logged; there should never be any.
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

/** What search should find, according to the prompts slice. */
export interface PublishedPrompts {
  /** Lists the version that search should find of each prompt, in order of prompt id. */
  readonly listVersions: (db: Queryable, afterPromptId: string, limit: number) => Promise<IndexedVersion[]>;
  /** Lists what search should find of these prompts. Prompts that it should not find are left out. */
  readonly listDocuments: (db: Queryable, promptIds: readonly string[]) => Promise<SearchDocument[]>;
}

const PAGE = 500;
const GREATEST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Compares pages without the index lock. Prompts that seem wrong are checked again under the lock, and repaired. */
export async function verifyDocuments(db: Database, published: PublishedPrompts, log: Log): Promise<void> {
  let removed = 0;
  let written = 0;
  for (let after = FIRST_ID; after < GREATEST_ID;) {
    const wanted = await published.listVersions(db, after, PAGE);
    const last = wanted.length < PAGE ? GREATEST_ID : (wanted.at(-1)?.promptId ?? GREATEST_ID);
    const indexed = await listVersionsBetween(db, after, last);
    const suspects = differingPrompts(wanted, indexed);
    for (let i = 0; i < suspects.length; i += PAGE) {
      const repaired = await repairPrompts(db, published, suspects.slice(i, i + PAGE));
      removed += repaired.removed;
      written += repaired.written;
    }
    after = last;
  }
  if (removed + written > 0)
    log.error({ removed, written }, "the search index differed from the published prompts and was repaired");
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

/** While the lock is held, no publisher can commit, so prompts and index are read in a consistent state. */
function repairPrompts(db: Database, published: PublishedPrompts, promptIds: readonly string[]) {
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

/** Checks the counts, which change by adding and subtracting. Every process is notified of wrong ones. */
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
  log.error({ terms, words }, "the search index counts differed from its documents and were corrected");
}
