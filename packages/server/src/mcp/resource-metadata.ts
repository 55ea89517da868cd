/** What an OAuth client reads about /mcp before it signs anybody in (RFC 9728). */
import { ownEndpoint, type Endpoint } from "../http/endpoint.ts";

const METADATA_PATH = "/.well-known/oauth-protected-resource";
export const MCP_PATH = "/mcp";

/** How a 401 from /mcp tells clients where to authorize. */
export function challengeOf(publicUrl: string): string {
  return `Bearer resource_metadata="${publicUrl}${METADATA_PATH}${MCP_PATH}"`;
}

/**
 * The document is served at the address that belongs to /mcp, and at the address for the whole server, which older
 * clients use.
 */
export function metadataEndpoints(publicUrl: () => string): Endpoint[] {
  const handle: Endpoint["handle"] = async () => ({ status: 200, text: JSON.stringify(metadataOf(publicUrl())) });
  return ([`${METADATA_PATH}${MCP_PATH}`, METADATA_PATH] as const).map((path) =>
    ownEndpoint({ method: "GET", path, handle }),
  );
}

/** The server authorizes programs itself: the token they get is an API key of the account. */
function metadataOf(publicUrl: string) {
  return {
    resource: `${publicUrl}${MCP_PATH}`,
    resource_name: "promptd",
    authorization_servers: [publicUrl],
    bearer_methods_supported: ["header"],
    resource_documentation: `${publicUrl}/docs/mcp`,
  };
}
