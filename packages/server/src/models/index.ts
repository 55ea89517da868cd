export { CatalogueError, loadCatalogue, resolveMapping, type Catalogue, type CatalogueEntry } from "./catalogue.ts";
export { createModelCaller, type ModelCallerOptions } from "./call-model.ts";
export type { ModelCaller, ModelImage, ModelOutcome, ModelRequest } from "./model-call.ts";
export { modelsRoutes } from "./models-routes.ts";
export { priceCeiling, priceEstimate, settlePrice, uncappedPrice } from "./price-plan.ts";
export type { PriceSnapshot, StepPlan, StepUsage, Usage } from "./price-plan.ts";
export { createEnabledModels, type EnabledModels, type EnabledModelsOptions } from "./enabled-models.ts";
