import type { Endpoints } from "../http/endpoint.ts";
import type { Catalogue } from "./catalogue.ts";

/** GET /v1/resources. A client that names the current hash in If-None-Match gets 304 without a body. */
export function modelsRoutes(catalogue: Catalogue): Pick<Endpoints, "getResources"> {
  return {
    getResources: async (_input, context) => {
      const data = catalogue.resources();
      const headers = { etag: `"${data.hash}"`, "cache-control": "private, no-cache" };
      const isKnown = namesHash(context.header("if-none-match"), data.hash);
      return { status: isKnown ? 304 : 200, data, headers };
    },
  };
}

/** Weak comparison (RFC 9110, section 13.1.2): `W/` does not matter, `*` names every version. */
function namesHash(ifNoneMatch: string | null, hash: string): boolean {
  if (ifNoneMatch === null) return false;
  const tags = ifNoneMatch.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(`"${hash}"`);
}
