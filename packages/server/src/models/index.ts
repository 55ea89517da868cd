export { createModelCaller, createTestCall, RunGone, type LimitChange, type ModelCaller } from "./calls/call-model.ts";
export { createAbandonedJobsTick } from "./calls/abandoned-jobs.ts";
export { CatalogueError, loadCatalogue, meetsNeeds, requireEntry } from "./catalogue/catalogue.ts";
export type { Catalogue, CatalogueEntry, CatalogueOptions, RoleNeeds } from "./catalogue/catalogue.ts";
export { availability, isSimulated, unavailableSentence, type Availability } from "./catalogue/availability.ts";
export { openAdapter } from "./ai-sdk/open-adapter.ts";
export { faultOfEmbeddingsModel } from "./catalogue/embeddings-model.ts";
export { createEnabledModels, type RunLimit } from "./catalogue/enabled-models.ts";
export { callDirectly, featuresOf, readJsonAnswer, schemaFault, wholeInstructions } from "./text-rules.ts";
export {
  wholePrompt,
  type DirectAnswer,
  type DirectRequest,
  type TextSettings,
  type WebSearchChoice,
} from "./text-rules.ts";
export { CountedCall, createProviderCallsTick, firstCallOf, type FirstCall } from "./calls/provider-calls.ts";
export { checkOverlay, listModels, type ModelLine, type OverlayReport } from "./catalogue/models-report.ts";
export { modelsManageRoutes, modelsRoutes } from "./catalogue/models-routes.ts";
export { outputTokensOf, priceCeiling, priceEstimate, settlePrice, uncappedPrice } from "./pricing/price-plan.ts";
export { reasoningShortage, type PriceSnapshot, type StepPlan, type StepUsage } from "./pricing/price-plan.ts";
