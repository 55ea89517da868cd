import type { ManageClient } from "@promptd/client/manage";
import { ID_FORM, suggestName } from "@promptd/contract";
import type { OwnPrompt, OwnPromptRow, OwnVersionRow } from "@promptd/contract/manage";
import type { Operator } from "@promptd/server/operator";
import { CommandFailure, type CommandArgs, type CommandIo } from "../../command.ts";
import { printableLine } from "../../printable.ts";
import { withManagement } from "../../session.ts";
import { readConnection } from "../../user-config.ts";
import { runOnServer } from "../operator/run-operator.ts";

/** Shown by every command that works both ways. */
export const WHERE = `With a management token ("promptd login"), this works on your account on the server. Without one, or with --author, it works on the database of a server on this machine.`;

/** The --author option of commands that read the database. */
export const AUTHOR_OPTION = {
  author: { type: "string", value: "EMAIL|USERID", summary: "the author's account (default: all)" },
} as const;

/** The two ways in which an author command can work. */
export interface ServerOrLocal<Result> {
  readonly onServer: (manage: ManageClient) => Promise<Result>;
  readonly locally: () => Promise<Result>;
}

/** Works on the server if there is a management token, unless --here or --author asks for this machine. */
export async function runOnServerOrLocally<Result>(
  args: CommandArgs,
  io: CommandIo,
  { onServer, locally }: ServerOrLocal<Result>,
): Promise<Result> {
  if (args.flag("here") || args.text("author") !== undefined) return locally();
  const { token, unused } = await readConnection(io.env);
  return (token ?? unused.token) === null ? locally() : withManagement(io, onServer);
}

/**
 * Works without HTTP, on the database on this machine. @param work gets the --author; null: all authors.
 * @throws CommandFailure that explains both ways when there is no database and none was asked for.
 */
export function workOnDatabase<Result>(
  args: CommandArgs,
  io: CommandIo,
  work: (operator: Operator, author: string | null) => Promise<Result>,
): Promise<Result> {
  const author = args.text("author")?.trim() ?? null;
  return runOnServer(async ({ withOperator, NoDatabaseFailure }) => {
    try {
      return await withOperator(io.env, (operator) => work(operator, author), io.command);
    } catch (error) {
      if (author !== null || !(error instanceof NoDatabaseFailure)) throw error;
      throw noTokenFailure("this machine has no server database", error);
    }
  });
}

/** @param instead why the other way does not work either. */
export function noTokenFailure(instead: string, cause?: unknown): CommandFailure {
  return new CommandFailure(`No management token is set (an API key is only for runs), and ${instead}.`, {
    hint: `For your account on a server: sign in with "promptd login", or set PROMPTD_TOKEN.
For the database of a server on this machine: set PROMPTD_DATA_DIR or DATABASE_URL to the server's value, and name the author with --author.`,
    cause,
  });
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

/** @param name a version number, a version id, or `latest`. */
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
    hint: "Use a version number, a version id, or latest.",
  });
}
