/**
 * What a real provider would have answered instead of a result. The wrapper turns it into the SDK's own error, so
 * that the call policy (retries, breaker, error items) is exercised exactly as with a provider.
 * - `status`: an HTTP answer with `httpStatus`, `code` and perhaps Retry-After
 * - `reset`: the connection broke before any header of the answer; `httpStatus` is null
 * - `garbled`: HTTP 200 whose body is broken JSON
 * - `directive`: the prompt holds a directive that is not one; a 400 whose `message` the caller is meant to see
 */
export class SandboxFailure extends Error {
  override readonly name = "SandboxFailure";
  readonly kind: "status" | "reset" | "garbled" | "directive";
  readonly httpStatus: number | null;
  /** The provider's machine-readable word, such as `insufficient_quota`; null when it gave none. */
  readonly code: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(
    kind: SandboxFailure["kind"],
    message: string,
    details: { httpStatus: number | null; code?: string | null; retryAfterSeconds?: number | null },
  ) {
    super(message);
    this.kind = kind;
    this.httpStatus = details.httpStatus;
    this.code = details.code ?? null;
    this.retryAfterSeconds = details.retryAfterSeconds ?? null;
  }

  /** Headers as the answer would have carried them. */
  get responseHeaders(): Record<string, string> {
    return this.retryAfterSeconds === null ? {} : { "retry-after": String(this.retryAfterSeconds) };
  }

  /** Body as the answer would have carried it, in the form of OpenAI's errors. */
  get responseBody(): string {
    if (this.kind === "garbled") return '{"id":"sandbox","choices":[{"mess';
    return JSON.stringify({ error: { message: this.message, code: this.code } });
  }
}
