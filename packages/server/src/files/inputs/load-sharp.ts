/** Loads the image library, restricted to the formats decoded here. */
type Sharp = (typeof import("sharp"))["default"];

let loading: Promise<Sharp> | null = null;

/** Loaded with the first image: its native code would cost time and memory at startup. */
export function loadSharp(): Promise<Sharp> {
  return (loading ??= load());
}

async function load(): Promise<Sharp> {
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
}
