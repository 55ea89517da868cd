/** Type and size of an image as its header says; the sandbox never decodes what it is given. */
export interface ImageHeader {
  readonly type: "png" | "jpeg";
  readonly width: number;
  readonly height: number;
}

/** @returns null when the bytes are no PNG or JPEG, or end before the size. */
export function readImageHeader(bytes: Uint8Array): ImageHeader | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.byteLength >= 24 && view.getUint32(0) === 0x89504e47) {
    return { type: "png", width: view.getUint32(16), height: view.getUint32(20) };
  }
  if (view.byteLength >= 4 && view.getUint16(0) === 0xffd8) return readJpegFrame(view);
  return null;
}

/** Walks the segments to the first start-of-frame marker (C0 to CF without DHT, JPG and DAC). */
function readJpegFrame(view: DataView): ImageHeader | null {
  let at = 2;
  while (at + 9 <= view.byteLength && view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { type: "jpeg", height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    const isPadding = marker === 0xff;
    at += isPadding ? 1 : 2 + view.getUint16(at + 2);
  }
  return null;
}
