export { createAiSdkAdapter } from "./adapter.ts";
export type { AdapterOptions } from "./adapter-context.ts";
