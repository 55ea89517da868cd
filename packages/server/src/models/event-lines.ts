/** Transforms a streamed response line by line. Incomplete lines are held until the rest arrives. */
export function changeLines(body: ReadableStream<Uint8Array>, change: (line: string) => string) {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = "";
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (piece, controller) => {
        const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        if (lines.length > 0) controller.enqueue(encoder.encode(lines.map((line) => `${change(line)}\n`).join("")));
      },
      flush: (controller) => {
        if (rest !== "") controller.enqueue(encoder.encode(change(rest)));
      },
    }),
  );
}
