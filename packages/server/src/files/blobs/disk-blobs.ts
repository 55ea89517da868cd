import { randomBytes } from "node:crypto";
import { constants, type Dirent } from "node:fs";
import { mkdir, open, readdir, readFile, realpath, rename, stat, unlink, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { faultPoint } from "../../platform/fault-injection.ts";
import { syncPath } from "../../platform/make-folder.ts";
import {
  checkBlobKey,
  isBlobKey,
  MARK_NAME,
  resolveRange,
  type BlobEntry,
  type BlobStore,
  type ByteRange,
  type OnSkipped,
  type OpenBlob,
  type OpenBody,
  type SpooledFile,
} from "./blob-store.ts";
import { ignoreMissing, isMissing, PRIVATE_DIRECTORY, PRIVATE_FILE, removeOlder } from "./spool.ts";

const PARTIAL = "partial";
const SHARD = /^[0-9a-f]{2}$/;

/**
 * Stores blobs as files under `root`, in two levels of directories named by the last four digits of the id. The first
 * digits are a timestamp and would put all files of seven weeks into one directory.
 * All processes that serve or generate files must share this directory.
 */
export async function createDiskBlobs(root: string): Promise<BlobStore> {
  await mkdir(join(root, PARTIAL), { recursive: true, mode: PRIVATE_DIRECTORY });
  return new DiskBlobs(await realpath(root));
}

class DiskBlobs implements BlobStore {
  /** Without symbolic links, so that a path under it can be compared with where it really leads. */
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async put(key: string, openBody: OpenBody, bytes: number): Promise<void> {
    const path = this.#pathOf(key);
    await this.#replace(path, openBody, bytes);
    await faultPoint("blob.after_rename");
  }

  /** The spool is on the same file system, so the file is made durable and renamed. */
  async putFile(key: string, file: SpooledFile): Promise<void> {
    const path = this.#pathOf(key);
    await syncPath(file.path);
    await this.#makeShard(path);
    await rename(file.path, path);
    await syncPath(dirname(path));
    await faultPoint("blob.after_rename");
  }

  async get(key: string, range: ByteRange | null): Promise<OpenBlob | null> {
    const opened = await this.#open(key);
    if (opened === null) return null;
    const part = range === null ? null : resolveRange(range, opened.size);
    return { body: opened.file.createReadStream(part ?? {}), size: opened.size, part };
  }

  async size(key: string): Promise<number | null> {
    const opened = await this.#open(key);
    await opened?.file.close();
    return opened?.size ?? null;
  }

  async delete(key: string): Promise<void> {
    await unlink(this.#pathOf(key)).catch(ignoreMissing);
  }

  async *list(prefix: string, onSkipped: OnSkipped): AsyncGenerator<BlobEntry> {
    for (const shard of await listShards(this.#root)) {
      for (const inner of await listShards(shard).catch(skipping(onSkipped))) {
        yield* this.#listShard(inner, prefix, onSkipped);
      }
    }
  }

  async discardPartial(beforeMs: number, onSkipped: OnSkipped): Promise<void> {
    await removeOlder(join(this.#root, PARTIAL), beforeMs, onSkipped);
  }

  get markLocation(): string {
    return join(this.#root, MARK_NAME);
  }

  async readMark(): Promise<string | null> {
    const text = await readFile(this.markLocation, "utf8").catch(ignoreMissing);
    return text?.trim() || null;
  }

  async writeMark(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    await this.#replace(this.markLocation, () => [bytes], bytes.byteLength);
  }

  #pathOf(key: string): string {
    checkBlobKey(key);
    return join(this.#root, key.slice(-4, -2), key.slice(-2), key);
  }

  /** A symbolic link in the store, as a file or directory, counts as absent: it could lead anywhere. */
  async #open(key: string): Promise<{ file: FileHandle; size: number } | null> {
    const path = this.#pathOf(key);
    let file: FileHandle | null = null;
    try {
      if ((await realpath(path)) !== path) return null;
      file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
      const found = await file.stat();
      if (found.isFile() && found.size > 0) return { file, size: found.size };
    } catch (error) {
      await file?.close();
      if (isMissing(error)) return null;
      throw error;
    }
    await file.close();
    return null;
  }

  /** Written completely or not at all, whatever happens meanwhile. */
  async #replace(path: string, openBody: OpenBody, bytes: number): Promise<void> {
    const partial = join(this.#root, PARTIAL, `${basename(path)}.${randomBytes(8).toString("hex")}`);
    try {
      await writeDurably(partial, openBody(), bytes);
      await this.#makeShard(path);
      await rename(partial, path);
    } catch (error) {
      await unlink(partial).catch(ignoreMissing);
      throw error;
    }
    await syncPath(dirname(path));
  }

  async #makeShard(path: string): Promise<void> {
    const made = await mkdir(dirname(path), { recursive: true, mode: PRIVATE_DIRECTORY });
    if (made === undefined) return;
    await syncPath(dirname(dirname(path))); // a new directory is durable only once its parent is
    await syncPath(this.#root);
  }

  async *#listShard(shard: string, prefix: string, onSkipped: OnSkipped): AsyncGenerator<BlobEntry> {
    for (const entry of await entriesOf(shard).catch(skipping(onSkipped))) {
      if (!entry.isFile() || !isBlobKey(entry.name) || !entry.name.startsWith(prefix)) continue;
      const modifiedAtMs = await modifiedAt(join(shard, entry.name)).catch(skipping(onSkipped));
      if (typeof modifiedAtMs === "number") yield { key: entry.name, modifiedAtMs };
    }
  }
}

async function writeDurably(path: string, body: ReturnType<OpenBody>, bytes: number): Promise<void> {
  const file = await open(path, "wx", PRIVATE_FILE);
  try {
    let written = 0;
    for await (const piece of body) {
      await file.writeFile(piece);
      written += piece.byteLength;
    }
    if (written !== bytes) throw new Error(`Expected a blob of ${bytes} bytes, got ${written}.`);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function listShards(path: string): Promise<string[]> {
  const entries = await entriesOf(path);
  return entries
    .filter((entry) => entry.isDirectory() && SHARD.test(entry.name))
    .map((entry) => join(path, entry.name));
}

async function entriesOf(path: string): Promise<Dirent[]> {
  return readdir(path, { withFileTypes: true });
}

/** Null if the file was removed meanwhile. */
async function modifiedAt(path: string): Promise<number | null> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    ignoreMissing(error);
    return null;
  }
}

/** Skips what cannot be read, such as another user's directory. */
function skipping(onSkipped: OnSkipped): (cause: unknown) => never[] {
  return (cause) => {
    onSkipped(cause);
    return [];
  };
}
