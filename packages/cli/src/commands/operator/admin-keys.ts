import { countOf } from "@promptd/contract";
import type { ApiKeyReport } from "@promptd/server/operator";
import { CommandFailure, type Command, type CommandIo } from "../../command.ts";
import { readTime } from "../../flag-values.ts";
import { readAmount, readText, runAsOperator } from "./run-operator.ts";

const NAME_HELP =
  "Name a key by its id, by its display form (pd_01234…6789; three dots also work), or by the key itself. - reads it from standard input, which keeps it out of the shell history.";
/** The same limit as over HTTP. */
const NAME_LENGTH_MAX = 100;

export const keyCreate: Command = {
  summary: "Create an API key, which is shown only once",
  usage: "",
  session: `$ promptd admin key create --user ada@example.org --name laptop --cap 100
pd_0123456789abcdefghijklmnopqrstuvwxyz
(key id 01a206a8-ad26-773b-947f-5a06a0e43c4e; the key is not shown again)`,
  options: {
    user: { type: "string", value: "EMAIL|USERID", isRequired: true, summary: "the account that owns the key" },
    name: { type: "string", value: "N", summary: 'what the key is for (default: "default")' },
    expires: { type: "string", value: "ISO8601", summary: "when the key expires (default: never)" },
    cap: {
      type: "string",
      value: "N",
      summary: "the most credits its runs may use per calendar month (UTC; default: no cap)",
    },
    prompt: {
      type: "string",
      multiple: true,
      value: "PROMPTID",
      summary: "a prompt that the key may run (default: all)",
    },
  },
  run: async (args, io) => {
    const cap = args.text("cap");
    const key = {
      user: args.required("user"),
      name: readText(args.text("name"), "--name", NAME_LENGTH_MAX) ?? "default",
      expiresAtMs: readTime(args.text("expires"), "--expires"),
      monthlyCap: cap === undefined ? null : readAmount(cap, "--cap", 0),
      promptIds: args.list("prompt"),
    };
    const created = await runAsOperator(io, (operator) => operator.keys.create(key));
    io.result(created, `${created.apiKey}\n(key id ${created.keyId}; the key is not shown again)`);
  },
};

export const keyList: Command = {
  summary: "List the API keys of an account",
  usage: "<EMAIL|USERID>",
  session: `$ promptd admin key list ada@example.org
01a206a8-ad26-773b-947f-5a06a0e43c4e  pd_01234…wxyz  laptop: valid, last used never, 0 of 100 credits this month`,
  options: {},
  run: async (args, io) => {
    const [user = ""] = args.positionals;
    const keys = await runAsOperator(io, (operator) => operator.keys.list(user));
    io.result({ keys }, keys.length === 0 ? `${user} has no API keys.` : keys.map(lineOf).join("\n"));
  },
};

function lineOf(key: ApiKeyReport): string {
  const { usedThisMonth: paid, monthlyCap: cap } = key;
  const credits = cap === null ? countOf(paid, "credit") : `${paid} of ${countOf(cap, "credit")}`;
  const prompts = key.promptIds === null ? "" : `, ${countOf(key.promptIds.length, "allowed prompt")}`;
  const end = key.revokedAt ?? key.expiresAt;
  const from = key.lastUsedFrom === null ? "" : ` from ${key.lastUsedFrom}`;
  const used = `last used ${key.lastUsedAt ?? "never"}${from}, ${credits} this month`;
  return `${key.keyId}  ${key.display}  ${key.name}: ${key.state}${end === null ? "" : ` (${end})`}, ${used}${prompts}`;
}

export const keyShow: Command = {
  summary: "Show an API key of any account, and its owner",
  usage: "<keyId|display|key|->",
  details: NAME_HELP,
  session: `$ promptd admin key show pd_01234...wxyz
01a206a8-ad26-773b-947f-5a06a0e43c4e  pd_01234…wxyz  laptop: valid, last used never, 0 of 100 credits this month
account 01a206a8-a793-77b3-8286-96323e8a6ed0, ada@example.org`,
  options: {},
  run: async (args, io) => {
    const name = await readKeyName(args.positionals[0], io);
    const key = await runAsOperator(io, (operator) => operator.keys.show(name));
    io.result(key, `${lineOf(key)}\naccount ${key.userId}, ${key.email}`);
  },
};

export const keyRoll: Command = {
  summary: "Replace an API key with a new one, shown only once; the old key stays valid for a while",
  usage: "<keyId|display|key|->",
  details: `${NAME_HELP}\n\nThe new key has the same name, cap, prompts, and expiry as the old key, and both share one budget.`,
  session: `$ promptd admin key roll pd_01234...wxyz --overlap 1
pd_zyxwvutsrqponmlkjihgfedcba9876543210
(key id 01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a; the key is not shown again; 01a206a8-ad26-773b-947f-5a06a0e43c4e is valid until 2026-11-23T05:28:40.057Z)`,
  options: {
    overlap: {
      type: "string",
      value: "HOURS",
      summary: "how long the old key stays valid; 0 ends it at once (default: 24)",
    },
  },
  run: async (args, io) => {
    const hours = readAmount(args.text("overlap") ?? "24", "--overlap", 0);
    if (hours > OVERLAP_HOURS_MAX)
      throw new CommandFailure(`--overlap must be at most ${OVERLAP_HOURS_MAX} hours, got ${hours}.`);
    const name = await readKeyName(args.positionals[0], io);
    const rolled = await runAsOperator(io, (operator) => operator.keys.roll(name, hours * 3_600));
    io.result(
      rolled,
      `${rolled.apiKey}\n(key id ${rolled.keyId}; the key is not shown again; ${rolled.oldKeyId} is valid until ${rolled.oldKeyExpiresAt})`,
    );
  },
};

/** 90 days. */
const OVERLAP_HOURS_MAX = 24 * 90;

export const keyRevoke: Command = {
  summary: "Revoke an API key; requests with it then return 401",
  usage: "<keyId|display|key|->",
  details: NAME_HELP,
  session: `$ promptd admin key revoke pd_01234...wxyz
Revoked 01a206a8-ad26-773b-947f-5a06a0e43c4e at 2026-11-23T04:28:41.503Z.`,
  options: {},
  run: async (args, io) => {
    const name = await readKeyName(args.positionals[0], io);
    const revoked = await runAsOperator(io, (operator) => operator.keys.revoke(name));
    io.result(revoked, `Revoked ${revoked.keyId} at ${revoked.revokedAt}.`);
  },
};

export const tokenRevoke: Command = {
  summary: "Revoke a management token of any person; requests with it then return 401",
  usage: "<tokenId|token|->",
  details:
    "Name a token by its id or by the token itself (pdm_…). - reads it from standard input, which keeps it out of the shell history.",
  session: `$ promptd admin token revoke 01a20ba7-1a37-7a2e-a8a4-7d5f9a2f1b6c
Revoked 01a20ba7-1a37-7a2e-a8a4-7d5f9a2f1b6c ("deploy") of ada@example.org, with runs:read, prompts:write, at 2026-11-23T04:28:41.503Z.`,
  options: {},
  run: async (args, io) => {
    const given = await readKeyName(args.positionals[0], io);
    const revoked = await runAsOperator(io, (operator) => operator.keys.revokeToken(given));
    const { tokenId, name, person, scopes, revokedAt } = revoked;
    io.result(revoked, `Revoked ${tokenId} ("${name}") of ${person}, with ${scopes.join(", ")}, at ${revokedAt}.`);
  },
};

async function readKeyName(given: string | undefined, io: CommandIo): Promise<string> {
  return (given === "-" ? await io.readStdin() : (given ?? "")).trim();
}
