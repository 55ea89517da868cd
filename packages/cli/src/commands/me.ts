import { USER_FLAGS } from "@promptd/contract";
import type { Command } from "../command.ts";
import { formatTable } from "../output.ts";
import { printableLine } from "../printable.ts";
import { withSession } from "../session.ts";

const FLAG_WORDS: Readonly<Record<keyof typeof USER_FLAGS, string>> = {
  planActive: "active plan",
  author: "author",
};

export const me: Command = {
  summary: "Show whose key is used, and the credits left",
  usage: "",
  options: {},
  async run(_args, io) {
    const { profile, credits } = await withSession(io, async ({ client }) => ({
      profile: await client.me.get({ signal: io.signal }),
      credits: (await client.me.credits({ signal: io.signal })).credits,
    }));
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
