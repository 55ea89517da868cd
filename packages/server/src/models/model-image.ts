import type { LoadedImage } from "../files/index.ts";

/** An image of a caller, as a model takes it. */
export interface ModelImage extends LoadedImage {
  /** It says what of the others may change. */
  readonly isMask?: boolean;
}
