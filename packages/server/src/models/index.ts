export { createModelCaller } from "./call-model.ts";
export { CatalogueError, loadCatalogue, type Catalogue, type CatalogueEntry } from "./catalogue.ts";
export { createEnabledModels } from "./enabled-models.ts";
export type { ModelCaller, ModelOutcome, ModelRequest } from "./model-call.ts";
export { checkOverlay, listModels, type ModelLine, type OverlayReport } from "./models-report.ts";
export { modelsRoutes } from "./models-routes.ts";
export { priceCeiling, priceEstimate, settlePrice, uncappedPrice } from "./price-plan.ts";
export type { PriceSnapshot, StepPlan, StepUsage } from "./price-plan.ts";
