/**
 * Gemini tells of a refused picture or video inside an answer that counts as a success, and the SDK then only sees that
 * nothing came. The answer is turned into the error that other providers give, so that callers are told the truth.
 */
const STOPPED =
  /"(?:finishReason|blockReason)"\s*:\s*"(?:SAFETY|IMAGE_SAFETY|PROHIBITED_CONTENT|IMAGE_PROHIBITED_CONTENT|BLOCKLIST|SPII|RECITATION|IMAGE_RECITATION)"|"raiMediaFilteredReasons"\s*:\s*\[\s*"/;
const DELIVERED = /"inlineData"|"generatedSamples"/;

/** An answer without a result is short; a longer one holds one. */
const BYTES_MAX = 65_536;

export function withGeminiRefusals(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const answer = await fetch(input, init);
    if (!answer.ok || Number(answer.headers.get("content-length") ?? 0) > BYTES_MAX) return answer;
    const bytes = await answer.arrayBuffer();
    const text = bytes.byteLength > BYTES_MAX ? "" : Buffer.from(bytes).toString("utf8");
    if (!STOPPED.test(text) || DELIVERED.test(text)) return new Response(bytes, answer);
    const error = { code: 400, status: "content_policy_violation", message: "stopped by a filter of the provider" };
    return Response.json({ error }, { status: 400 });
  };
}
