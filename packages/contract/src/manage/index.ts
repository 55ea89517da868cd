export type * from "../pages.ts";
export * from "./accounts.ts";
export * from "./credits.ts";
export * from "./endpoints.ts";
export * from "./keys.ts";
export * from "./usage.ts";
export * from "./members.ts";
export * from "./marketplace.ts";
export * from "./people.ts";
export * from "./prompts.ts";
export * from "./webhooks.ts";
export type {
  ExportRunsQuery,
  ListManagedRunsQuery,
  ManagedRun,
  ManagedRunRow,
  NamesOfRun,
  RunMoment,
} from "./runs.ts";
export type * from "./system.ts";
