import { countOf, USER_FLAGS } from "@promptd/contract";
import { CommandFailure, type Command, type CommandIo } from "../command.ts";
import { formatTable } from "../output.ts";
import { printableLine } from "../printable.ts";
import { withManagement, withSession } from "../session.ts";
import { readConnection } from "../user-config.ts";

const FLAG_WORDS: Readonly<Record<keyof typeof USER_FLAGS, string>> = {
  planActive: "active plan",
  author: "author",
};

export const me: Command = {
  summary: "Show the account of your API key and its credits",
  usage: "",
  session: `$ promptd me
username  ada
name      Ada Lovelace
credits   480
flags     active plan, author`,
  options: {},
  async run(_args, io) {
    const { credits, ...profile } = await readAccount(io);
    const flags = (Object.keys(USER_FLAGS) as (keyof typeof USER_FLAGS)[])
      .filter((name) => (profile.userFlags & USER_FLAGS[name]) !== 0)
      .map((name) => FLAG_WORDS[name]);
    const text = formatTable([
      ["username", printableLine(profile.username ?? "-")],
      ["name", printableLine(profile.displayName ?? "-")],
      ["credits", String(credits)],
      ["flags", flags.join(", ") || "-"],
    ]);
    io.result({ ...profile, credits }, text);
  },
};

export const whoami: Command = {
  summary: "Show the server, who you are, and what your key and token may do",
  usage: "",
  session: `$ promptd whoami
server   https://promptd.example.org
API key  of ada, 480 credits
token    of ada@example.org; prompts:read, prompts:write`,
  options: {},
  async run(_args, io) {
    const { url, apiKey, token } = await readConnection(io.env);
    if (apiKey === null && token === null) {
      throw new CommandFailure(`You are not signed in to ${url}.`, { hint: 'Sign in with "promptd login".' });
    }
    const key = apiKey === null ? null : await readAccount(io);
    const { signal } = io;
    const session = token === null ? null : await withManagement(io, (manage) => manage.send("getSession", { signal }));
    const rows = [
      ["server", url],
      [
        "API key",
        key === null
          ? "-"
          : `of ${printableLine(key.username ?? "an account without a name")}, ${countOf(key.credits, "credit")}`,
      ],
      [
        "token",
        session === null ? "-" : `of ${printableLine(session.person.email)}; ${session.scopes?.join(", ") ?? "all"}`,
      ],
    ];
    io.result({ url, apiKey: key, token: session }, formatTable(rows));
  },
};

function readAccount(io: CommandIo) {
  return withSession(io, async ({ client }) => ({
    ...(await client.me.get({ signal: io.signal })),
    credits: (await client.me.credits({ signal: io.signal })).credits,
  }));
}
