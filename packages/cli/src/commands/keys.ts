import type { ManageClient } from "@promptd/client/manage";
import { countOf, ID_FORM, parsePromptName } from "@promptd/contract";
import type { CreatedKey, Key } from "@promptd/contract/manage";
import { CommandFailure, type Command, type CommandArgs, type CommandIo } from "../command.ts";
import { formatTable } from "../output.ts";
import { printableLine } from "../printable.ts";
import { readTime, readWholeNumber } from "../flag-values.ts";
import { withManagement } from "../session.ts";

export const keysList: Command = {
  summary: "List the API keys of your account",
  usage: "",
  session: `$ promptd keys list
KEY                                   DISPLAY        NAME    STATE  LAST USED   FROM          30 DAYS
01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a  pd_01234…6789  laptop  valid  2026-11-20  203.0.113.24  12 runs, 96 credits`,
  options: { all: { type: "boolean", summary: "include revoked and expired keys" } },
  async run(args, io) {
    const isWhole = args.flag("all");
    const all = await withManagement(io, (manage) => readKeys(manage, isWhole ? "with" : "without", io.signal));
    const rows = all.filter((key) => isWhole || key.state === "valid");
    const header = ["KEY", "DISPLAY", "NAME", "STATE", "LAST USED", "FROM", "30 DAYS"];
    io.result({ rows }, rows.length === 0 ? "No keys." : formatTable([header, ...rows.map(formatKey)]));
  },
};

/** Newest first. */
async function readKeys(manage: ManageClient, revoked: "with" | "without", signal: AbortSignal): Promise<Key[]> {
  const rows: Key[] = [];
  for (let hasMore = true; hasMore;) {
    const query = { limit: 50, startingAfter: rows.at(-1)?.keyId, revoked };
    const page = await manage.send("listKeys", { query, signal });
    rows.push(...page.rows);
    hasMore = page.hasMore && page.rows.length > 0;
  }
  return rows;
}

const NAME_HELP =
  "Name a key by its id, by its name if no other valid key has it, or by its display form (pd_01234…6789; three dots also work).";

export const keysCreate: Command = {
  summary: "Create an API key, which is shown only once",
  usage: "<name>",
  session: `$ promptd keys create laptop --cap 500
pd_0123456789abcdef0123456789abcdef
The key is shown only once.`,
  options: {
    expires: { type: "string", value: "TIME", summary: "when the key expires, ISO 8601 (default: never)" },
    cap: { type: "string", value: "N", summary: "the most credits its runs may use per calendar month (UTC)" },
    prompt: {
      type: "string",
      multiple: true,
      value: "SLUG|PROMPTID",
      summary: "a prompt that the key may run (default: all)",
    },
  },
  async run(args, io) {
    const prompts = args.list("prompt");
    const expiresAtMs = readTime(args.text("expires"), "--expires");
    const terms = {
      name: args.positionals[0] ?? "",
      expiresAt: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
      monthlyCap: readWholeNumber(args.text("cap"), "--cap") ?? null,
    };
    const created = await withManagement(io, async (manage) => {
      const ids = await Promise.all(prompts.map((name) => idOf(manage, name, io.signal)));
      const body = { ...terms, promptIds: ids.length === 0 ? null : ids };
      return manage.send("createKey", { body, signal: io.signal });
    });
    showKey(created, io);
  },
};

/** People know slugs, but a key is bound to the prompt, even if its slug changes later. */
async function idOf(manage: ManageClient, name: string, signal: AbortSignal): Promise<string> {
  if (parsePromptName(name).isId) return name;
  return (await manage.send("getMarketplacePrompt", { params: { slug: name }, signal })).promptId;
}

export const keysRoll: Command = {
  summary: "Replace an API key with a new one, shown only once; the old key stays valid for a while",
  usage: "<keyId|name|display>",
  details: NAME_HELP,
  session: `$ promptd keys roll laptop --overlap 1
pd_fedcba9876543210fedcba9876543210
The key is shown only once. The old key stays valid until 2026-11-23T10:15:00.000Z.`,
  options: {
    overlap: {
      type: "string",
      value: "HOURS",
      summary: "how long the old key stays valid; 0 ends it at once (default: 24)",
    },
  },
  async run(args, io) {
    const overlapHours = readWholeNumber(args.text("overlap"), "--overlap");
    const rolled = await withManagement(io, async (manage) => {
      const params = await findKey(manage, args, io.signal);
      return manage.send("rollKey", { params, body: { overlapHours }, signal: io.signal });
    });
    showKey(rolled, io, ` The old key stays valid until ${rolled.oldKeyExpiresAt}.`);
  },
};

export const keysRevoke: Command = {
  summary: "Revoke an API key; requests with it then return 401",
  usage: "<keyId|name|display>",
  details: NAME_HELP,
  session: `$ promptd keys revoke laptop
Revoked laptop (pd_01234…6789).`,
  options: {},
  async run(args, io) {
    const revoked = await withManagement(io, async (manage) => {
      const call = { params: await findKey(manage, args, io.signal), signal: io.signal };
      const key = await manage.send("getKey", call);
      await manage.send("revokeKey", call);
      return key;
    });
    const { keyId, name, display } = revoked;
    io.result({ keyId, name, display }, `Revoked ${printableLine(name)} (${display}).`);
  },
};

/** @throws CommandFailure unless exactly one valid key has the name or the display form. */
async function findKey(manage: ManageClient, args: CommandArgs, signal: AbortSignal): Promise<{ keyId: string }> {
  const [given = ""] = args.positionals;
  if (ID_FORM.test(given)) return { keyId: given };
  const display = given.replace("...", "…");
  const valid = (await readKeys(manage, "without", signal)).filter(({ state }) => state === "valid");
  const [found, ...others] = valid.filter((key) => key.name === given || key.display === display);
  const shown = printableLine(given);
  if (found === undefined) {
    throw new CommandFailure(`No valid API key has the name or the display form "${shown}".`, {
      hint: "To see your keys: promptd keys list",
    });
  }
  if (others.length === 0) return { keyId: found.keyId };
  const lines = [found, ...others].map((key) => `${key.keyId}  ${key.display}  last used ${lastUseOf(key)}`);
  throw new CommandFailure(`${lines.length} valid API keys have the name "${shown}". Give the id of one of them:`, {
    hint: lines.join("\n"),
  });
}

/** Only the key goes to standard output, so that a script can store it. */
function showKey(created: CreatedKey, io: CommandIo, more = ""): void {
  io.result(created, created.apiKey);
  io.note(`The key is shown only once.${more}`);
}

function formatKey(key: Key): string[] {
  const { runs, credits } = key.last30Days;
  const use = `${countOf(runs, "run")}, ${countOf(credits, "credit")}`;
  return [key.keyId, key.display, printableLine(key.name), key.state, lastUseOf(key), key.lastUsedFrom ?? "", use];
}

function lastUseOf({ lastUsedAt }: Key): string {
  return lastUsedAt?.slice(0, 10) ?? "never";
}
