export { createHttpMcp, type HttpCall, type HttpMcp, type HttpMcpOptions } from "./http.ts";
export type { McpSource } from "./source.ts";
