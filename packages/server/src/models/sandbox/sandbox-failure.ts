/**
 * What a real provider would have sent instead of a result. It is read like a provider's own error, so that the call
 * policy (retries, breaker, error items) is exercised exactly as with a provider.
 * - `status`: an HTTP response with `httpStatus`, `code`, and perhaps Retry-After
 * - `reset`: the connection broke before any response header; `httpStatus` is null
 * - `garbled`: HTTP 200 with broken JSON in the body
 * - `directive`: the prompt has an invalid directive; a 400 whose `message` the caller sees
 */
export class SandboxFailure extends Error {
  override readonly name = "SandboxFailure";
  readonly kind: "status" | "reset" | "garbled" | "directive";
  readonly httpStatus: number | null;
  /** The provider's machine-readable code, such as `insufficient_quota`; null if there is none. */
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

  /** The headers that the response would have had. */
  get responseHeaders(): Record<string, string> {
    return this.retryAfterSeconds === null ? {} : { "retry-after": String(this.retryAfterSeconds) };
  }

  /** The body that the response would have had, in OpenAI's error format. */
  get responseBody(): string {
    if (this.kind === "garbled") return '{"id":"sandbox","choices":[{"mess';
    return JSON.stringify({ error: { message: this.message, code: this.code } });
  }
}
