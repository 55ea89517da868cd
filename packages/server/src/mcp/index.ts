export { createMcp, type Mcp } from "./mcp-endpoints.ts";
