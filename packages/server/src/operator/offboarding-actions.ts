import type { AccountDeletion, DeletedAccount } from "@promptd/contract/manage";
import { open, rm, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { getAccountByName, getAccountEvenDeleted } from "../accounts/index.ts";
import { systemClock } from "../platform/clock.ts";
import type { CommandContext } from "../read-catalogue.ts";
import { Problem } from "../platform/problem.ts";

/** Loaded when they are used: they reach over all slices, which no other command has to wait for. */
const load = () => import("../offboarding/index.ts");

/** What an operator does with an account that leaves. Users are named by email address or id. */
export function offboardingActions({ db, config }: CommandContext) {
  return {
    /** @param file must not exist: an archive is worth more than what a typing error replaces. */
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
        await rm(file); // half an archive would pass for a whole one
        throw error;
      }
      return { userId: accountId, file, bytes: (await stat(file)).size };
    },
    /** @throws Problem when `confirm` is not the address of the account. */
    async delete(user: string, { confirm, prompts }: AccountDeletion): Promise<DeletedAccount> {
      const { accountId, email } = await getAccountByName(db, user);
      if (confirm.toLowerCase() !== email) {
        const message = `--confirm must be the email address of the account, which is not "${confirm}". Nothing was deleted.`;
        throw new Problem("VALIDATION_ERROR", message);
      }
      const { beginDeletion } = await load();
      return beginDeletion(db, { accountId, prompts, actorId: null });
    },
  };
}
