import { LRUCache } from "lru-cache";
import type { Database } from "../platform/database/database.ts";
import { createBatcher } from "../platform/resilience/batcher.ts";
import type { LiveVersion } from "./prompt-definition.ts";
import { findLiveTerms, loadVersion, type LiveTerms } from "./prompts-store.ts";

const VERSIONS_MAX = 1_000;
/**
 * UTF-16 units; a thousand versions with ten long steps would be a gigabyte. Publishing limits a version to far less
 * than this.
 */
export const CACHED_UNITS_MAX = 32_000_000;
const UNITS_BESIDE_TEXTS = 2_000;

/** One per database, garbage-collected with it. */
interface Reads {
  readonly versions: LRUCache<string, LiveVersion>;
  readonly terms: LRUCache<string, LiveTerms>;
  readonly findTerms: (versionId: string) => Promise<LiveTerms | null>;
}

const TERMS_MAX = 500;
const readsOf = new WeakMap<Database, Reads>();

export interface LivePrompt {
  readonly version: LiveVersion;
  /** Null: a frozen draft, which only its author can run. */
  readonly terms: LiveTerms | null;
}

/**
 * Finds a version that can be run now, with the terms of its prompt.
 * @returns null when it does not exist, is a draft, or its prompt is unpublished: callers must not be able to tell
 * these apart.
 */
export async function findLivePrompt(db: Database, promptVersionId: string): Promise<LivePrompt | null> {
  const id = promptVersionId.toLowerCase();
  const { findTerms, terms: remembered } = getReads(db);
  const [terms, version] = await Promise.all([findTerms(id), findVersion(db, id)]);
  if (terms === null) remembered.delete(id);
  else remembered.set(id, terms);
  return terms === null || version === null ? null : { version, terms };
}

/**
 * Returns the same as it was last read, without asking the database. Only for callers that compare the terms with the
 * current ones in the transaction that uses them, and reject nothing before that. Null: nothing is cached.
 */
export function recallLivePrompt(db: Database, promptVersionId: string): LivePrompt | null {
  const id = promptVersionId.toLowerCase();
  const reads = getReads(db);
  const [version, terms] = [reads.versions.get(id), reads.terms.get(id)];
  return version === undefined || terms === undefined ? null : { version, terms };
}

/**
 * Finds a version in any state, including a frozen draft, to execute existing runs. A version never changes, so a
 * cached one is never stale; whether it can be run now is read from the database each time.
 */
export async function findVersion(db: Database, promptVersionId: string): Promise<LiveVersion | null> {
  const id = promptVersionId.toLowerCase();
  const cache = getReads(db).versions;
  const known = cache.get(id);
  if (known !== undefined) return known;
  const loaded = await loadVersion(db, id);
  // Another request may have loaded it meanwhile. One object per version means its templates are parsed once.
  const meanwhile = cache.get(id);
  if (loaded !== null && meanwhile === undefined) cache.set(id, loaded);
  return meanwhile ?? loaded;
}

function getReads(db: Database): Reads {
  let reads = readsOf.get(db);
  if (reads === undefined) {
    const send = (ids: readonly string[]) => findLiveTerms(db, ids);
    reads = {
      versions: new LRUCache({ max: VERSIONS_MAX, maxSize: CACHED_UNITS_MAX, sizeCalculation: unitsOf }),
      terms: new LRUCache({ max: VERSIONS_MAX }),
      findTerms: createBatcher({ send, max: TERMS_MAX, inFlightMax: 3 }),
    };
    readsOf.set(db, reads);
  }
  return reads;
}

/** Everything in a version may be long: templates, messages, schemas, defaults, choices. */
export function unitsOf(version: LiveVersion): number {
  return UNITS_BESIDE_TEXTS + JSON.stringify(version).length;
}
