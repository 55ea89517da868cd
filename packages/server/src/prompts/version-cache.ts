import type { Database } from "../platform/database/database.ts";
import type { LiveVersion } from "./prompt-definition.ts";
import { isVersionLive, loadVersion } from "./prompts-store.ts";

const VERSIONS_MAX = 1_000;
/** UTF-16 units of template text; a thousand versions of ten long steps would be a gigabyte. */
const UNITS_MAX = 32_000_000;

/**
 * Published versions by id, the least recently used leaving first. What was published does not change, so an entry
 * never gets old; whether it may be run now is asked of the database every time.
 */
class VersionCache {
  readonly #entries = new Map<string, { readonly version: LiveVersion; readonly units: number }>();
  #units = 0;

  find(id: string): LiveVersion | null {
    const entry = this.#entries.get(id);
    if (entry === undefined) return null;
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    return entry.version;
  }

  keep(id: string, version: LiveVersion): void {
    const units = unitsOf(version);
    this.#entries.set(id, { version, units });
    this.#units += units;
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= VERSIONS_MAX && this.#units <= UNITS_MAX) return;
      this.#entries.delete(oldest);
      this.#units -= entry.units;
    }
  }
}

/** One cache per database; it goes when the database does. */
const caches = new WeakMap<Database, VersionCache>();

/**
 * The version, if runs of it may be made now.
 * @returns null when it does not exist, is a draft, or its prompt is unpublished: callers must not tell these apart.
 */
export async function findLiveVersion(db: Database, promptVersionId: string): Promise<LiveVersion | null> {
  const id = promptVersionId.toLowerCase();
  const [isLive, version] = await Promise.all([isVersionLive(db, id), findVersion(db, id)]);
  return isLive ? version : null;
}

/** A version that was published, whatever has become of its prompt: for executing runs that exist. */
export async function findVersion(db: Database, promptVersionId: string): Promise<LiveVersion | null> {
  const id = promptVersionId.toLowerCase();
  const cache = cacheOf(db);
  const known = cache.find(id);
  if (known !== null) return known;
  const loaded = await loadVersion(db, id);
  // Another request may have loaded it meanwhile: one object per version keeps its parsed templates in one place.
  const meanwhile = cache.find(id);
  if (loaded !== null && meanwhile === null) cache.keep(id, loaded);
  return meanwhile ?? loaded;
}

function cacheOf(db: Database): VersionCache {
  let cache = caches.get(db);
  if (cache === undefined) {
    cache = new VersionCache();
    caches.set(db, cache);
  }
  return cache;
}

const UNITS_BESIDE_TEMPLATES = 2_000;

function unitsOf(version: LiveVersion): number {
  const texts = version.definition.steps.reduce(
    (sum, step) => sum + step.template.length + step.instructions.length,
    0,
  );
  const choices = version.definition.inputs.flatMap((input) => input.choices ?? []);
  return UNITS_BESIDE_TEMPLATES + texts + choices.reduce((sum, choice) => sum + choice.text.length, 0);
}
