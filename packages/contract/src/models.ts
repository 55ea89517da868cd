import type { Modality } from "./prompts.ts";

export interface ModelEntry {
  readonly model: string;
  readonly modality: Modality;
  /** Empty when the model accepts no options. */
  readonly availableRunOptions: readonly { readonly key: string; readonly options: readonly string[] }[];
}

export interface Resources {
  /** Base64url SHA-256 (43 characters) of the RFC 8785 form of `resources`: a client can verify it. */
  readonly hash: string;
  readonly resources: { readonly models: readonly ModelEntry[] };
}
