import type { AccountDeletion, DeletedAccount } from "@promptd/contract/manage";
import { open, rm, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { getAccountByName, getAccountEvenDeleted } from "../accounts/index.ts";
import { systemClock } from "../platform/clock.ts";
import type { CommandContext } from "../read-catalogue.ts";
import { Problem } from "../platform/problem.ts";

/** Loaded on use: offboarding reaches across all slices, and other commands need not wait for them. */
const load = () => import("../offboarding/index.ts");

/** Operator actions that export and delete accounts. Users are named by email address or id. */
export function offboardingActions({ db, config }: CommandContext) {
  return {
    /** @param file must not exist, so that a typo never overwrites a file. */
    async export(user: string, file: string): Promise<{ userId: string; file: string; bytes: number }> {
      const { accountId } = await getAccountEvenDeleted(db, user);
      const [{ exportAccount }, { createAccountFiles, chooseBlobStore, readBucket }] = await Promise.all([
        load(),
        import("../files/index.ts"),
      ]);
      const bucket = readBucket(config);
      const blobs = await chooseBlobStore({ dataDir: config.dataDir, bucket, clock: systemClock });
      const ports = { db, files: createAccountFiles(db, blobs), clock: systemClock };
      const handle = await open(file, "wx", 0o600);
      try {
        await pipeline(await exportAccount(accountId, ports), handle.createWriteStream());
      } catch (error) {
        await rm(file); // a partial archive could be mistaken for a complete one
        throw error;
      }
      return { userId: accountId, file, bytes: (await stat(file)).size };
    },
    /** @throws Problem when `confirm` is not the account's email address. */
    async delete(user: string, { confirm, prompts }: AccountDeletion): Promise<DeletedAccount> {
      const { accountId, email } = await getAccountByName(db, user);
      if (confirm.toLowerCase() !== email) {
        const message = `--confirm must be the account's email address, got "${confirm}". Nothing was deleted.`;
        throw new Problem("VALIDATION_ERROR", message);
      }
      const { beginDeletion } = await load();
      return beginDeletion(db, { accountId, prompts, actorId: null });
    },
  };
}
