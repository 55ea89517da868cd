import { CommandFailure, type CommandArgs } from "../../command.ts";

export function webhookOf(args: CommandArgs): { webhookId: string } {
  return { webhookId: args.positionals[0] ?? "" };
}

export function wordOf<Word extends string>(flag: string, given: string, words: readonly Word[]): Word {
  const found = words.find((word) => word === given);
  if (found !== undefined) return found;
  throw new CommandFailure(`${flag} must be one of: ${words.join(", ")}. Got "${given}".`);
}
