import { imageBytesAtMost, type LoadedImage, type StoredImage } from "../../files/index.ts";
import type { Catalogue } from "../../models/index.ts";
import type { LiveVersion } from "../../prompts/index.ts";
import type { ItemContext } from "./execute-output.ts";
import type { Postponed } from "./run-outcome.ts";

type StepImages =
  | {
      readonly kind: "loaded";
      /** By model: models accept different images, so images are fitted per model. */
      readonly bySlot: ReadonlyMap<string, readonly LoadedImage[]>;
      /** Releases their memory; call it when the run no longer needs them. */
      release(): void;
    }
  | { readonly kind: "refused"; readonly message: string; readonly detail?: string | undefined }
  | Postponed;

interface RunImages {
  readonly accountId: string;
  readonly version: LiveVersion;
  readonly images: readonly StoredImage[];
}

const MEMORY_RETRY_MS = 2_000;

/**
 * Loads a run's images once for each model that accepts images. Memory for them is reserved first: a worker may have
 * claimed hundreds of runs of 20 MiB each, and images that have been read can no longer be refused.
 */
export async function loadStepImages(
  run: RunImages,
  { catalogue, caller, files }: ItemContext,
  signal: AbortSignal,
): Promise<StepImages> {
  const takers = run.images.length === 0 ? [] : modelsThatTakeImages(run.version, catalogue);
  if (takers.length === 0) return { kind: "loaded", bySlot: new Map(), release: () => {} };
  const { accountId } = run;
  const memory = await caller.reserveImages({ bytes: imageBytesAtMost(run.images) * takers.length, accountId }, signal);
  if (memory === null) return { kind: "postponed", delayMs: MEMORY_RETRY_MS };
  let isLoaded = false;
  try {
    const bySlot = new Map<string, readonly LoadedImage[]>();
    for (const { model, limits } of takers) {
      const loaded = await files.loadImages(run.images, { ...limits, accountId }, signal);
      if (loaded.kind === "refused") return loaded;
      bySlot.set(model, loaded.images);
    }
    memory.resize([...bySlot.values()].flat().reduce((sum, image) => sum + image.bytes.byteLength, 0));
    isLoaded = true;
    return { kind: "loaded", bySlot, release: () => memory.release() };
  } finally {
    if (!isLoaded) memory.release();
  }
}

function modelsThatTakeImages(version: LiveVersion, catalogue: Catalogue) {
  const models = new Set(version.definition.steps.filter((step) => step.images.length > 0).map((step) => step.model));
  return [...models].flatMap((model) => {
    const limits = catalogue.find(model)?.inputs?.images;
    return limits === undefined ? [] : [{ model, limits: { bytesMax: limits.bytes, sideMax: limits.maxSide } }];
  });
}
