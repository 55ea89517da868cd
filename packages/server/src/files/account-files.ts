/** All files of one account: for its export, and for removal when the account is deleted. */
import type { Database } from "../platform/database/database.ts";
import type { BlobStore, OpenBlob } from "./blobs/blob-store.ts";
import { deleteFileRows, listFilesOf, type FileOfAccount } from "./files-store.ts";
import { FIRST_ID } from "../platform/ids.ts";

export interface AccountFiles {
  /** Files whose bytes exist, by id. */
  list(accountId: string, page: { readonly after: string; readonly limit: number }): Promise<FileOfAccount[]>;
  /** Null: the bytes are gone. */
  open(fileId: string): Promise<OpenBlob | null>;
  /** Removes bytes first, then rows, so an interrupted removal is picked up again. */
  removeAll(accountId: string, stop?: AbortSignal): Promise<void>;
}

const BATCH = 200;

export function createAccountFiles(db: Database, blobs: BlobStore): AccountFiles {
  return {
    list: (accountId, page) => listFilesOf(db, accountId, { ...page, withRemoved: false }),
    open: (fileId) => blobs.get(fileId, null),
    removeAll: async (accountId, stop) => {
      const next = () => listFilesOf(db, accountId, { after: FIRST_ID, limit: BATCH, withRemoved: true });
      for (let files = await next(); files.length > 0; files = await next()) {
        for (const { fileId } of files) {
          if (stop?.aborted === true) return;
          await blobs.delete(fileId);
        }
        await deleteFileRows(
          db,
          files.map(({ fileId }) => fileId),
        );
      }
    },
  };
}
