import { imageBytesAtMost, type LoadedImage, type StoredImage } from "../../files/index.ts";
import type { LiveVersion } from "../../prompts/index.ts";
import type { ExecuteRunPorts } from "./execute-run.ts";

type StepImages =
  | {
      readonly kind: "loaded";
      /** By model: models differ in what they take, so images are fitted per model. */
      readonly bySlot: ReadonlyMap<string, readonly LoadedImage[]>;
      /** Gives their memory back; to be called when the run holds them no more. */
      release(): void;
    }
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "later"; readonly delayMs: number };

interface RunImages {
  readonly version: LiveVersion;
  readonly images: readonly StoredImage[];
}

type LoadPorts = Pick<ExecuteRunPorts, "findModel" | "holdImages" | "loadImages">;

const MEMORY_AGAIN_MS = 2_000;

/**
 * Loads a run's images once per model that takes some. Memory for them is taken first: a worker may have claimed
 * hundreds of runs of 20 MiB each, and what has been read cannot be refused any more.
 */
export async function loadStepImages(run: RunImages, ports: LoadPorts, signal: AbortSignal): Promise<StepImages> {
  const takers = run.images.length === 0 ? [] : modelsThatTakeImages(run.version, ports);
  if (takers.length === 0) return { kind: "loaded", bySlot: new Map(), release: () => {} };
  const memory = await ports.holdImages(imageBytesAtMost(run.images) * takers.length, signal);
  if (memory === null) return { kind: "later", delayMs: MEMORY_AGAIN_MS };
  let isKept = false;
  try {
    const bySlot = new Map<string, readonly LoadedImage[]>();
    for (const { model, limits } of takers) {
      const loaded = await ports.loadImages(run.images, limits, signal);
      if (loaded.kind === "refused") return loaded;
      bySlot.set(model, loaded.images);
    }
    memory.resize([...bySlot.values()].flat().reduce((sum, image) => sum + image.bytes.byteLength, 0));
    isKept = true;
    return { kind: "loaded", bySlot, release: () => memory.release() };
  } finally {
    if (!isKept) memory.release();
  }
}

function modelsThatTakeImages(version: LiveVersion, ports: Pick<LoadPorts, "findModel">) {
  const models = new Set(version.definition.steps.filter((step) => step.images.length > 0).map((step) => step.model));
  return [...models].flatMap((model) => {
    const limits = ports.findModel(model)?.entry.inputs?.images;
    return limits === undefined ? [] : [{ model, limits: { bytesMax: limits.bytes, sideMax: limits.maxSide } }];
  });
}
