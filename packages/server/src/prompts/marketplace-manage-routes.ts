import type { ManageHandlers } from "../http/endpoint.ts";
import { Problem } from "../platform/problem.ts";
import { printable } from "@promptd/contract";
import { findBySlug, listBrowsed } from "./marketplace-store.ts";
import { promptsRoutes, searchRow, type PromptsRoutesOptions } from "./prompts-routes.ts";
import { findSearchRows } from "./prompts-store.ts";

export { promptsRoutes };

const BROWSED_MAX = 50;

/** The marketplace as pages show it: found as under /v1, and listed without a query. */
export function marketplaceManageRoutes(
  options: PromptsRoutesOptions,
): Pick<ManageHandlers, "searchMarketplace" | "getMarketplacePrompt"> {
  const { db, catalogue } = options;
  const { searchPrompts } = promptsRoutes(options);
  return {
    searchMarketplace: async ({ params, query: { q, sort = "popular" } }, context) => {
      if (q !== undefined) return searchPrompts({ params, query: { q }, body: undefined }, context);
      const found = await findSearchRows(db, await listBrowsed(db, sort, 2 * BROWSED_MAX));
      const rows = found.flatMap((prompt) => searchRow(prompt, catalogue) ?? []);
      return { data: { rows: rows.slice(0, BROWSED_MAX) } };
    },
    getMarketplacePrompt: async ({ params: { slug } }) => {
      const found = await findBySlug(db, slug);
      const row = found === null ? null : searchRow(found.prompt, catalogue);
      if (found === null || row === null) {
        throw new Problem("NOT_FOUND_ERROR", `No published prompt has the slug ${printable(slug)}.`);
      }
      const { author, tags } = found;
      return { data: { ...row, author, tags } };
    },
  };
}
