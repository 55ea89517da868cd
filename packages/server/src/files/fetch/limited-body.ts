/** Reads a response body up to a limit. `read` may be called again if the connection broke halfway. */
export interface BodyReader<Result> {
  readonly bytesMax: number;
  readonly read: (chunks: AsyncIterable<Uint8Array>) => Promise<Result>;
}

/** Wraps an error of the reader itself, such as a full disk, which must not count as a network failure. */
export class ReaderFault extends Error {
  override readonly name = "ReaderFault";
}

/**
 * Passes a body on chunk by chunk and counts its bytes.
 * @throws ReaderFault; `tooLarge()` if there are more bytes than allowed; whatever the body itself throws.
 */
export async function readLimited<Result>(
  body: AsyncIterable<Uint8Array>,
  { bytesMax, read }: BodyReader<Result>,
  tooLarge: () => Error,
): Promise<Result> {
  let bodyError: unknown = null;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    try {
      for await (const chunk of body) {
        bytes += chunk.byteLength;
        if (bytes > bytesMax) throw tooLarge();
        yield chunk;
      }
    } catch (error) {
      bodyError = error;
      throw error;
    }
  };
  try {
    return await read(counted());
  } catch (error) {
    throw error === bodyError ? error : new ReaderFault("The bytes could not be processed.", { cause: error });
  }
}

/** The reader for responses that fit in memory. */
export async function collectBytes(chunks: AsyncIterable<Uint8Array>): Promise<Buffer<ArrayBuffer>> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}
