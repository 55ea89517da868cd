export type { SearchDocument } from "./indexing/document-terms.ts";
export { indexDocuments, removeDocument } from "./indexing/index-document.ts";
export type { IndexedVersion } from "./indexing/verify-index-store.ts";
export { vacuumIndex } from "./indexing/index-store.ts";
export type { Popularity } from "./query/fusion.ts";
export { createSearch } from "./query/search.ts";
export type { RemoteEmbedder } from "./meaning/remote-embedder.ts";
export type { Search, SearchOptions } from "./query/search.ts";
