import type { ManageClient } from "@promptd/client/manage";
import { ID_FORM, suggestName } from "@promptd/contract";
import type { OwnPrompt, OwnPromptRow, OwnVersionRow } from "@promptd/contract/manage";
import { CommandFailure, type CommandArgs, type CommandIo } from "../../command.ts";
import { printableLine } from "../../printable.ts";
import { readConnection } from "../../user-config.ts";

/** What every command says that works in both ways. */
export const WHERE = `With a management token ("promptd login") this works on your account at the server. Without one, or with --author, it works on the database of a server on this machine.`;

/** Whether a command speaks to a server: somebody has signed in with a token, and names no other author. */
export async function isRemote(args: CommandArgs, io: CommandIo): Promise<boolean> {
  return args.text("author") === undefined && (await readConnection(io.env)).token !== null;
}

export async function listAll(manage: ManageClient, io: CommandIo, q?: string): Promise<OwnPromptRow[]> {
  const rows: OwnPromptRow[] = [];
  for (let hasMore = true; hasMore;) {
    const query = { limit: 50, q, startingAfter: rows.at(-1)?.promptId };
    const page = await manage.send("listPrompts", { query, signal: io.signal });
    rows.push(...page.rows);
    hasMore = page.hasMore && page.rows.length > 0;
  }
  return rows;
}

/** @param name a promptId or a slug. @throws CommandFailure when the account has no such prompt. */
export async function findOwn(manage: ManageClient, name: string, io: CommandIo): Promise<OwnPrompt> {
  const { signal } = io;
  if (ID_FORM.test(name)) return manage.send("getPrompt", { params: { promptId: name }, signal });
  const found = (await listAll(manage, io, name)).find((row) => row.slug === name) ?? null;
  if (found !== null) return manage.send("getPrompt", { params: { promptId: found.promptId }, signal });
  const slugs = (await listAll(manage, io)).flatMap(({ slug }) => slug ?? []);
  const meant = suggestName(name, slugs);
  const question = meant === null ? "" : ` Did you mean "${meant}"?`;
  throw new CommandFailure(`Your account has no prompt with the slug "${printableLine(name)}".${question}`, {
    hint: 'List yours with "promptd prompt list".',
  });
}

/** @param name the number of a version, its id, or `latest`. */
export async function findOwnVersion(
  manage: ManageClient,
  promptId: string,
  { name, io }: { readonly name: string; readonly io: CommandIo },
): Promise<OwnVersionRow> {
  let startingAfter: string | undefined;
  for (let hasMore = true; hasMore;) {
    const call = { params: { promptId }, query: { limit: 50, startingAfter }, signal: io.signal };
    const page = await manage.send("listVersions", call);
    const found = page.rows.find(
      (row) => String(row.version) === name || row.promptVersionId === name || (name === "latest" && row.isLatest),
    );
    if (found !== undefined) return found;
    startingAfter = page.rows.at(-1)?.promptVersionId;
    hasMore = page.hasMore && startingAfter !== undefined;
  }
  throw new CommandFailure(`The prompt has no version ${printableLine(name)}.`, {
    hint: "Give the number of a version, its id, or latest.",
  });
}
