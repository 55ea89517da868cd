export { createMcp, type Mcp, type McpOptions } from "./mcp-endpoints.ts";
