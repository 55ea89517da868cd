import { readData } from "./call-endpoint.ts";
import type { Retries } from "./retry.ts";
import { protocolError, readAnswer, type Exchange, type Failed, type RawRequest } from "./transport.ts";

/** The text of a response as it arrives. @throws PromptdError for an error envelope, PromptdProtocolError otherwise. */
export async function openStream(
  exchange: Exchange,
  request: RawRequest,
  retries: Retries,
): Promise<AsyncIterable<string>> {
  const silence = createSilence();
  let isOpen = false;
  try {
    const answer = await exchange(request, silence.signal, async (response, failed) => {
      isOpen = isStream(response);
      return isOpen ? readPieces(response, silence, failed) : readAnswer(response);
    });
    if (Symbol.asyncIterator in answer) return answer;
    readData(retries.heard(answer));
    throw protocolError("The server sent an envelope instead of a stream.", answer);
  } finally {
    if (!isOpen) silence.end();
  }
}

/** The server sends an event every ten seconds, and reads a page of results much faster. */
const SILENCE_MS_MAX = 30_000;

/** Aborts when this much time has passed since it started: a stream has no fixed length. */
function createSilence() {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = () => clearTimeout(timer);
  const begin = () => {
    end();
    timer = setTimeout(() => controller.abort(), SILENCE_MS_MAX);
  };
  begin();
  return { signal: controller.signal, begin, end };
}

/** Events, and results of a batch as lines. */
function isStream({ status, headers }: Response): boolean {
  const types = /^(text\/event-stream|application\/x-ndjson|text\/csv)\b/i;
  return status === 200 && types.test(headers.get("content-type") ?? "");
}

async function* readPieces(
  { body }: Response,
  silence: ReturnType<typeof createSilence>,
  failed: Failed,
): AsyncGenerator<string> {
  const pieces = body?.pipeThrough(new TextDecoderStream());
  const reader = pieces?.getReader();
  try {
    for (;;) {
      silence.begin();
      const piece = await reader?.read();
      silence.end(); // the caller may take any time to process the data
      if (piece?.done !== false) return;
      yield piece.value;
    }
  } catch (error) {
    throw failed(error);
  } finally {
    silence.end();
    await reader?.cancel().catch(() => {}); // it has already failed, or the caller stopped reading
  }
}
