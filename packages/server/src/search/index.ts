export type { SearchDocument } from "./index/document-terms.ts";
export { indexDocument, indexDocuments, removeDocument } from "./index/index-document.ts";
export { vacuumIndex } from "./index/housekeeping.ts";
export { createSearch } from "./query/search.ts";
export type { EmbeddingsModel } from "./meaning/remote-embedder.ts";
export type { Search, SearchOptions } from "./query/search.ts";
