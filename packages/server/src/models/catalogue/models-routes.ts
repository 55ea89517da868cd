import type { ManagedModel, ModelTest } from "@promptd/contract/manage";
import type { Handlers, ManageHandlers } from "../../http/endpoint.ts";
import { namesEntityTag } from "../../http/response/entity-tag.ts";
import type { Catalogue, CatalogueEntry } from "./catalogue.ts";
import type { Database } from "../../platform/database/database.ts";
import { invalid, notFound, orNotFound } from "../../platform/problem.ts";
import { listSwitchedOff, switchModel } from "./enabled-models-store.ts";
import { listModels, type ModelLine } from "./models-report.ts";

/** GET /v1/resources. A client that sends the current hash in If-None-Match gets 304 without a body. */
export function modelsRoutes(catalogue: Catalogue) {
  return {
    getResources: async (_input, context) => {
      const data = catalogue.resources();
      const etag = `"${data.hash}"`;
      const headers = { etag, "cache-control": "private, no-cache" };
      const isKnown = namesEntityTag(context.header("if-none-match"), etag);
      return { status: isKnown ? 304 : 200, data, headers };
    },
  } satisfies Partial<Handlers>;
}

export interface ModelsManageOptions {
  readonly catalogue: Catalogue;
  readonly db: Database;
  /** Makes this process adopt what is enabled now; other processes follow by themselves. */
  readonly refresh: () => Promise<void>;
  readonly testCall: (entry: CatalogueEntry) => Promise<ModelTest>;
}

/** Lists every model, enabled or not, with its price, but never the name of a key. */
export function modelsManageRoutes({ catalogue, db, refresh, testCall }: ModelsManageOptions) {
  return {
    listModels: async () => {
      const off = await listSwitchedOff(db);
      return { data: { models: listModels(catalogue, off).map(toManaged) } };
    },
    switchModel: async ({ body: { model, isOff } }) => {
      orNotFound(catalogue.find(model), "model", model);
      await switchModel(db, model, isOff);
      await refresh();
      const line = listModels(catalogue, new Set(isOff ? [model] : [])).find((each) => each.model === model);
      if (line === undefined) throw notFound("model", model);
      return { data: toManaged(line) };
    },
    testModel: async ({ body: { model } }) => {
      const entry = orNotFound(catalogue.find(model), "model", model);
      if (entry.modality === "video") {
        const message = "Videos cost too much for a test. Run a prompt that uses the model instead.";
        throw invalid([{ path: ["body", "model"], code: "invalid_value", message }]);
      }
      if (!catalogue.enabledHere().includes(model)) {
        const message = `The process that handled this request cannot call ${model}: it has no key for the provider, or the model is retired.`;
        throw invalid([{ path: ["body", "model"], code: "invalid_value", message }]);
      }
      return { data: await testCall(entry) };
    },
  } satisfies Partial<ManageHandlers>;
}

function toManaged(line: ModelLine): ManagedModel {
  const { model, modality, provider, status, retiresAt, successor, enabled, isOff, price } = line;
  return { model, modality, provider, status, retiresAt, successor, enabled, isOff, price };
}
