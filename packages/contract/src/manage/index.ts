export * from "./access.ts";
export * from "./endpoints.ts";
export * from "./people.ts";
