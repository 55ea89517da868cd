/**
 * Receives the answer to one request from undici. Its `request` puts a stream around every body, which took a third of
 * the CPU of an exchange (measured 2026-11), and nearly every answer is read whole.
 */

export interface AnswerHead {
  readonly status: number;
  /** Repeated headers are joined, as HTTP allows. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ReceivedAnswer extends AnswerHead {
  readonly body: Buffer<ArrayBuffer> | ReadableStream<Uint8Array>;
}

export interface ReceiveOptions {
  /** True: the body is passed on as it arrives; false: it is collected. Throws to refuse the answer. */
  readonly isStream: (head: AnswerHead) => boolean;
  /** Called with the size of the body so far. Throws to refuse the rest. */
  readonly checkSize: (bytes: number) => void;
  /** Turns the error that ends a stream into what its reader gets. */
  readonly failureOf: (error: unknown) => unknown;
  readonly signal: AbortSignal;
}

/** The part of undici's controller that is used. */
interface Controller {
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
}

/** A streamed body that nobody reads holds at most this, then its connection waits. */
const UNREAD_BYTES_MAX = 65_536;

/** @param dispatch hands the request to undici, which calls the receiver; what the receiver throws ends the request. */
export function receiveAnswer(
  dispatch: (receiver: AnswerReceiver) => void,
  options: ReceiveOptions,
): Promise<ReceivedAnswer> {
  return new Promise((resolve, reject) => dispatch(new AnswerReceiver(options, resolve, reject)));
}

class AnswerReceiver {
  readonly #options: ReceiveOptions;
  readonly #resolve: (answer: ReceivedAnswer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #abort = (): void => this.#controller?.abort(this.#options.signal.reason as Error);
  #controller: Controller | null = null;
  #head: AnswerHead = { status: 0, headers: {} };
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Null: the body is collected. */
  #stream: ReadableStreamDefaultController<Uint8Array> | null = null;

  constructor(options: ReceiveOptions, resolve: (answer: ReceivedAnswer) => void, reject: (error: unknown) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart(controller: Controller): void {
    const { signal } = this.#options;
    this.#controller = controller;
    if (signal.aborted) this.#abort();
    else signal.addEventListener("abort", this.#abort, { once: true });
  }

  onResponseStart(
    controller: Controller,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) return; // another head follows
    this.#head = { status, headers: flatten(headers) };
    if (!this.#options.isStream(this.#head)) return;
    const strategy = new ByteLengthQueuingStrategy({ highWaterMark: UNREAD_BYTES_MAX });
    const source = {
      start: (stream: ReadableStreamDefaultController<Uint8Array>) => void (this.#stream = stream),
      pull: () => controller.resume(),
      cancel: () => controller.abort(new Error("nobody reads the answer any longer")),
    };
    this.#resolve({ ...this.#head, body: new ReadableStream(source, strategy) });
  }

  onResponseData(controller: Controller, piece: Buffer): void {
    this.#bytes += piece.byteLength;
    this.#options.checkSize(this.#bytes);
    if (this.#stream === null) {
      this.#pieces.push(piece);
      return;
    }
    this.#stream.enqueue(piece);
    if ((this.#stream.desiredSize ?? 0) <= 0) controller.pause();
  }

  onResponseEnd(): void {
    this.#stopListening();
    if (this.#stream === null) this.#resolve({ ...this.#head, body: Buffer.concat(this.#pieces) });
    else this.#stream.close();
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#stopListening();
    if (this.#stream === null) this.#reject(error);
    else this.#stream.error(this.#options.failureOf(error));
  }

  #stopListening(): void {
    this.#options.signal.removeEventListener("abort", this.#abort);
  }
}

/** The framing header means nothing once the bytes are read. */
export function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && name !== "transfer-encoding")
      flat[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return flat;
}
