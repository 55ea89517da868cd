import type { Command } from "../../command.ts";

export const promptSchema: Command = {
  summary: "Print the JSON Schema of prompt files, for editors",
  usage: "",
  details: `Save it next to your prompts, and begin each *.prompt.yaml file with this line:
# yaml-language-server: $schema=./prompt-file.schema.json`,
  session: `$ promptd prompt schema > prompt-file.schema.json`,
  options: {},
  run: async (_args, io) => {
    const { promptFileSchema } = await import("@promptd/server/authoring");
    const schema = promptFileSchema();
    io.result(schema, JSON.stringify(schema, null, 2));
  },
};
