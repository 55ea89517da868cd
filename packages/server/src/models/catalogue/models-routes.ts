import type { Handlers, ManageHandlers } from "../../http/endpoint.ts";
import { namesEntityTag } from "../../http/response/entity-tag.ts";
import type { Catalogue } from "./catalogue.ts";
import { listModels } from "./models-report.ts";

/** GET /v1/resources. A client that names the current hash in If-None-Match gets 304 without a body. */
export function modelsRoutes(catalogue: Catalogue): Pick<Handlers, "getResources"> {
  return {
    getResources: async (_input, context) => {
      const data = catalogue.resources();
      const etag = `"${data.hash}"`;
      const headers = { etag, "cache-control": "private, no-cache" };
      const isKnown = namesEntityTag(context.header("if-none-match"), etag);
      return { status: isKnown ? 304 : 200, data, headers };
    },
  };
}

/** Every model, enabled or not, with what it costs; no name of a key. */
export function modelsManageRoutes(catalogue: Catalogue): Pick<ManageHandlers, "listModels"> {
  return {
    listModels: async () => {
      const models = listModels(catalogue).map((line) => ({
        model: line.model,
        modality: line.modality,
        provider: line.provider,
        status: line.status,
        retiresAt: line.retiresAt,
        successor: line.successor,
        enabled: line.enabled,
        price: line.price,
      }));
      return { data: { models } };
    },
  };
}
