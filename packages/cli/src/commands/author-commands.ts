import type { CommandTable } from "../command.ts";

/** Commands for prompt authors. They work on a server with a management token, else in this process, mostly without a database. */
export const AUTHOR_COMMANDS: CommandTable = {
  "prompt check": async () => (await import("./prompt/check.ts")).promptCheck,
  "prompt preview": async () => (await import("./prompt/preview.ts")).promptPreview,
  "prompt test": async () => (await import("./prompt/test.ts")).promptTest,
  "prompt push": async () => (await import("./prompt/push.ts")).promptPush,
  "prompt publish": async () => (await import("./prompt/publish.ts")).promptPublish,
  "prompt label": async () => (await import("./prompt/versions.ts")).promptLabel,
  "prompt rollback": async () => (await import("./prompt/versions.ts")).promptRollback,
  "prompt export": async () => (await import("./prompt/export.ts")).promptExport,
  "prompt diff": async () => (await import("./prompt/diff.ts")).promptDiff,
  "prompt schema": async () => (await import("./prompt/schema.ts")).promptSchema,
  "prompt import": async () => (await import("./prompt/import.ts")).promptImport,
  "prompt pull": async () => (await import("./prompt/library.ts")).promptPull,
  "prompt list": async () => (await import("./prompt/library.ts")).promptList,
};
