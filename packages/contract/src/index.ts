export * from "./accounts.ts";
export * from "./batches/batches.ts";
export * from "./endpoints.ts";
export * from "./errors.ts";
export * from "./models.ts";
export * from "./prompts.ts";
export * from "./quote.ts";
export * from "./runs.ts";
