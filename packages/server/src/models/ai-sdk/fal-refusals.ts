/**
 * fal answers a question about a job that it declined or that broke with a list under `detail`, and the SDK, which looks
 * for `error.message` there, then passes on no word of it. The list is put where the SDK looks, so that a refusal can
 * be told from a failure; the words go no further than that.
 */
const WORDS_MAX = 4_096;

export function withFalRefusals(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const answer = await fetch(input, init);
    if (answer.ok) return answer;
    const text = await answer.text();
    // A job that is not finished has one sentence there, which the SDK knows.
    if (!/"detail"\s*:\s*\[/.test(text)) return new Response(text, answer);
    return Response.json({ error: { message: text.slice(0, WORDS_MAX), code: answer.status } }, answer);
  };
}
