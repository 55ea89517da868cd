/** Takes the bytes of an answer in; it may be asked again when the connection broke on the way. */
type TakeBytes<Kept> = (pieces: AsyncIterable<Uint8Array>) => Promise<Kept>;

export interface TakeLimits<Kept> {
  readonly bytesMax: number;
  readonly take: TakeBytes<Kept>;
}

/** The taker's own failure (a full disk), its cause: no fault of the network, so it must not be taken for one. */
export class TakeFault extends Error {
  override readonly name = "TakeFault";
}

/**
 * Hands a body on piece by piece and counts it.
 * @throws TakeFault; `tooLarge()` when there are more bytes; whatever reading the body threw.
 */
export async function takeCounted<Kept>(
  body: AsyncIterable<Uint8Array>,
  { bytesMax, take }: TakeLimits<Kept>,
  tooLarge: () => Error,
): Promise<Kept> {
  const reading = { error: null as unknown };
  try {
    return await take(countPieces(body, { bytesMax, tooLarge, reading }));
  } catch (error) {
    throw error === reading.error ? error : new TakeFault("The bytes could not be kept.", { cause: error });
  }
}

interface Counting {
  readonly bytesMax: number;
  readonly tooLarge: () => Error;
  /** Keeps what reading threw, so that it can be told from what the taker throws. */
  readonly reading: { error: unknown };
}

async function* countPieces(
  body: AsyncIterable<Uint8Array>,
  { bytesMax, tooLarge, reading }: Counting,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const piece of body) {
      bytes += piece.byteLength;
      if (bytes > bytesMax) throw tooLarge();
      yield piece;
    }
  } catch (error) {
    reading.error = error;
    throw error;
  }
}

/** The taker for answers that fit into memory. */
export async function collectBytes(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}
