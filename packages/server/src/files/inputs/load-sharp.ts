/** The library that decodes images, restricted to what is decoded here. */
type Sharp = (typeof import("sharp"))["default"];

let loading: Promise<Sharp> | null = null;

/** Loaded when the first image comes: its native code takes time and memory of a start. */
export function loadSharp(): Promise<Sharp> {
  return (loading ??= load());
}

async function load(): Promise<Sharp> {
  const { default: sharp } = await import("sharp");
  // Without this SVG, PDF and more are decoded too, and file names and addresses inside them are followed.
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
  sharp.cache(false); // no image comes twice
  return sharp;
}
