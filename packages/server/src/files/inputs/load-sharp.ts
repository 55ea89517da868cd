/** Loads the image library, restricted to the formats decoded here. */
import { loadOnce } from "../../platform/resilience/load-once.ts";

type Sharp = (typeof import("sharp"))["default"];

/** Loaded with the first image: its native code would cost time and memory at startup. */
export const loadSharp: () => Promise<Sharp> = loadOnce(async () => {
  const { default: sharp } = await import("sharp");
  // Otherwise SVG, PDF, and more would be decoded too, and file names and addresses inside them would be followed.
  sharp.block({ operation: ["VipsForeignLoad"] });
  sharp.unblock({
    operation: [
      "VipsForeignLoadJpegBuffer",
      "VipsForeignLoadPngBuffer",
      "VipsForeignLoadWebpBuffer",
      "VipsForeignLoadNsgifBuffer",
    ],
  });
  sharp.concurrency(1); // one thread per image: a semaphore decides how many images are decoded at once
  sharp.cache(false); // no image is decoded twice
  return sharp;
});
