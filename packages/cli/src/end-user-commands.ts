import type { CommandTable } from "./command.ts";

/** Commands that speak to a server over HTTP through @promptd/client, and never load the server. */
export const END_USER_COMMANDS: CommandTable = {};
