export * from "./access.ts";
export * from "./endpoints.ts";
export * from "./grants.ts";
export * from "./keys.ts";
export * from "./people.ts";
export * from "./usage.ts";
