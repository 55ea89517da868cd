import { describe, expect, test } from "vitest";
import { classifyAnswer, classifyJobFailure, classifyTransport, retryAfterMs, FAILURE_CAUSES } from "./failure.ts";
import { DECLINED, sentenceFor } from "../calls/caller-text.ts";

const NOW_MS = Date.parse("2026-11-20T12:00:00Z");
const classify = (httpStatus: number, body: unknown = {}, headers: Record<string, string> = {}) =>
  classifyAnswer({ httpStatus, headers, body: typeof body === "string" ? body : JSON.stringify(body) }, NOW_MS);

describe("a provider's response", () => {
  test.each([
    // status, body, cause, retry, breaker
    [408, {}, "overloaded", "safe", "ignored"],
    [409, {}, "overloaded", "safe", "ignored"],
    [429, {}, "rate_limited", "safe", "ignored"],
    [429, { error: { code: "insufficient_quota" } }, "quota", "never", "opens"],
    [402, { detail: "You have insufficient credit" }, "quota", "never", "opens"],
    [403, { detail: "User is locked. Reason: Exhausted balance." }, "quota", "never", "opens"],
    [
      400,
      { error: { message: "Your credit balance is too low to access the Anthropic API." } },
      "quota",
      "never",
      "opens",
    ],
    [401, { error: { code: "invalid_api_key" } }, "credentials", "never", "opens"],
    [403, { error: { status: "PERMISSION_DENIED" } }, "credentials", "never", "opens"],
    [400, { error: { details: [{ reason: "API_KEY_INVALID" }] } }, "credentials", "never", "opens"],
    [500, {}, "overloaded", "safe", "counted"],
    [503, "<html>", "overloaded", "safe", "counted"],
    [529, { type: "error", error: { type: "overloaded_error" } }, "overloaded", "safe", "counted"],
    [400, {}, "bad_request", "never", "ignored"],
    [404, { error: { code: "model_not_found" } }, "model_missing", "never", "ignored"],
    [
      404,
      { type: "error", error: { type: "not_found_error", message: "model: m" } },
      "model_missing",
      "never",
      "ignored",
    ],
    [404, "<html>", "model_missing", "never", "ignored"],
    [400, { error: { code: "model_not_found" } }, "model_missing", "never", "ignored"],
    [403, { error: { code: "billing_not_active" } }, "quota", "never", "opens"],
    [422, {}, "bad_request", "never", "ignored"],
    [413, {}, "too_long", "never", "ignored"],
    [400, { error: { code: "context_length_exceeded" } }, "too_long", "never", "ignored"],
    [400, { error: { code: 400, type: "exceed_context_size_error" } }, "too_long", "never", "ignored"],
    [400, { error: { message: "This model's maximum context length is 8192 tokens" } }, "too_long", "never", "ignored"],
    [400, { error: { message: "prompt is too long: 210000 tokens > 200000 maximum" } }, "too_long", "never", "ignored"],
    [
      400,
      { error: { message: "The input token count exceeds the maximum number of tokens allowed" } },
      "too_long",
      "never",
      "ignored",
    ],
    [200, "<html>ok</html>", "protocol", "once", "counted"],
  ])("%i %j means %s, retry %s, breaker %s", (httpStatus, body, ...decided) => {
    const [cause, retry, breaker] = decided;
    expect(classify(httpStatus, body)).toMatchObject({ kind: "failed", cause, retry, breaker, httpStatus });
  });

  /** Gemini's response: the words are the same whichever quota is used up. */
  const geminiQuota = (quotaId: string) => ({
    error: {
      code: 429,
      message: "You exceeded your current quota, please check your plan and billing details.",
      status: "RESOURCE_EXHAUSTED",
      details: [
        { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaId }] },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "26.5s" },
      ],
    },
  });

  test("from Gemini about a per-minute limit is waited out for as long as it says", () => {
    const answer = classify(429, geminiQuota("GenerateContentInputTokensPerModelPerMinute-FreeTier"));
    expect(answer).toMatchObject({ cause: "rate_limited", retry: "safe", breaker: "ignored", retryAfterMs: 26_500 });
  });

  test("from Gemini about the daily quota is not waited out", () => {
    const answer = classify(429, geminiQuota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"));
    expect(answer).toMatchObject({ cause: "quota", retry: "never", breaker: "opens" });
  });

  test.each([
    [400, { error: { code: "content_policy_violation" } }],
    [400, { error: { code: "moderation_blocked" } }],
    [403, { error: { code: "content_policy_violation" } }],
    [403, { error: { code: 403, message: "flagged", metadata: { reasons: ["violence"], flagged_input: "…" } } }],
    [422, { detail: [{ type: "content_policy_violation", msg: "flagged" }] }],
    [400, { error: { message: "Invalid prompt: …", type: "invalid_request_error", code: "invalid_prompt" } }],
    [
      400,
      {
        type: "error",
        error: { type: "invalid_request_error", message: "Output blocked by content filtering policy" },
      },
    ],
    [400, { error: { code: "content_filter", innererror: { code: "ResponsibleAIPolicyViolation" } } }],
  ])("%i %j is a refusal", (status, body) => {
    expect(classify(status, body)).toEqual({ kind: "refused", usage: null });
  });

  /** What a caller can write in a prompt, and a provider may repeat. */
  const WRITTEN = [
    "billing",
    "insufficient_quota",
    "check your billing details",
    "api_key_invalid",
    "Your credit balance is too low",
    '{"error":{"code":"insufficient_quota"}}',
    "content_policy_violation",
    "moderation_blocked",
    "context_length_exceeded, prompt is too long",
    "model_not_found",
  ];
  test.each(WRITTEN)("that repeats a caller's words is not read by them: %s", (words) => {
    const plain = { kind: "failed", cause: "bad_request", breaker: "ignored" };
    expect(classify(400, { error: { message: `Invalid value: '${words}'.`, code: "invalid_value" } })).toMatchObject(
      plain,
    );
    expect(classify(400, { error: { message: `not accepted: ${words}`, param: words } })).toMatchObject(plain);
    expect(classify(400, { detail: `input "${words}" is not accepted` })).toMatchObject(plain);
    expect(classify(422, { detail: [{ loc: ["body"], msg: words, type: "value_error", input: words }] })).toMatchObject(
      plain,
    );
    expect(classify(400, `bad: ${words}`)).toMatchObject(plain);
    expect(
      classify(429, { error: { message: `limit reached for ${words}`, code: "rate_limit_exceeded" } }),
    ).toMatchObject({
      cause: "rate_limited",
    });
  });

  test("cannot block a model for everybody by repeating a caller's words", () => {
    const input = { prompt: "insufficient_quota, api_key_invalid, check your billing details" };
    const invalid = classify(422, { detail: [{ loc: ["body", "size"], msg: "not a size", type: "enum", input }] });
    expect(invalid).toMatchObject({ cause: "bad_request", breaker: "ignored" });
    const metadata = { reasons: ["violence"], flagged_input: input.prompt };
    expect(classify(403, { error: { code: 403, message: "flagged", metadata } })).toMatchObject({ kind: "refused" });
  });

  test("shows the operator the provider's code, but never its text", () => {
    expect(classify(400, { error: { code: "bad_size", message: "key sk-123" } })).toMatchObject({ code: "bad_size" });
    expect(classify(400, { error: { code: "a sentence with a key sk-123" } })).toMatchObject({ code: null });
  });
});

describe("Retry-After", () => {
  test.each([
    [{ "retry-after": "30" }, 30_000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after-ms": "1200", "retry-after": "9" }, 1_200],
    [{ "retry-after": "Fri, 20 Nov 2026 12:00:07 GMT" }, 7_000],
    [{ "retry-after": "Fri, 20 Nov 2026 11:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, null],
    [{ "retry-after": "-5" }, null],
    // Longer than any deadline, and not "at once", however many digits it has.
    [{ "retry-after": "12345678" }, 12_345_678_000],
    [{ "retry-after": "9".repeat(400) }, 1e12],
    [{ "retry-after-ms": "9999999999999999" }, 1e12],
    // Malformed (RFC 9110 allows only digits and dates), so it counts as absent.
    [{ "retry-after": "1e9" }, null],
    [{}, null],
  ])("%j is %s ms", (headers: Record<string, string>, expected) => {
    expect(retryAfterMs(headers, NOW_MS)).toBe(expected);
  });
});

test("a failure after bytes were sent is retried once for text and never for an image or a video", () => {
  expect(classifyTransport("sent", "text").retry).toBe("once");
  expect(classifyTransport("sent", "image").retry).toBe("never");
  expect(classifyTransport("sent", "video").retry).toBe("never");
  for (const modality of ["text", "image", "video"] as const) {
    expect(classifyTransport("connect", modality).retry).toBe("safe");
    expect(classifyTransport("too-large", modality).retry).toBe("never");
  }
});

test("a job stopped by a safety filter is a refusal; any other failed job is a failure", () => {
  expect(classifyJobFailure("Prediction failed: NSFW content detected").kind).toBe("refused");
  expect(classifyJobFailure('{"raiMediaFilteredReasons":["violates the usage guidelines"]}').kind).toBe("refused");
  expect(classifyJobFailure("CUDA out of memory")).toMatchObject({ cause: "job_failed" });
});

test("every cause has a message that reveals nothing about the provider", () => {
  for (const sentence of [...FAILURE_CAUSES.map(sentenceFor), DECLINED]) {
    expect(sentence).toMatch(/^[A-Z][A-Za-z' .]+\.$/);
  }
});
