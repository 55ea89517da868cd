export type { SearchDocument } from "./document-terms.ts";
export { indexDocument, indexDocuments, removeDocument } from "./index-document.ts";
export { vacuumIndex } from "./housekeeping.ts";
export { createSearch } from "./search.ts";
export type { EmbeddingsModel } from "./remote-embedder.ts";
export type { Search, SearchOptions } from "./search.ts";
