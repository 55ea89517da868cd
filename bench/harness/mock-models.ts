/** A server with the OpenAI chat API that always returns the same answer, at once or after MOCK_DELAY_MS. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { MOCK_ANSWER, MOCK_MODEL } from "./mock-answer.ts";

const about = { id: "chat-1", created: 1, model: MOCK_MODEL };
const usage = { prompt_tokens: 12, completion_tokens: 10, total_tokens: 22 };
const whole = JSON.stringify({
  ...about,
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: MOCK_ANSWER }, finish_reason: "stop" }],
  usage,
});
const models = JSON.stringify({ object: "list", data: [{ id: MOCK_MODEL, object: "model" }] });
const piece = (delta: object, finish_reason: string | null, more: object = {}) =>
  `data: ${JSON.stringify({ ...about, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`;
const stream =
  piece({ role: "assistant", content: MOCK_ANSWER }, null) + piece({}, "stop", { usage }) + "data: [DONE]\n\n";

const delayMs = Number(process.env["MOCK_DELAY_MS"] ?? 0);

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (bytes: Buffer) => pieces.push(bytes));
  request.on("end", () => {
    if (request.method === "GET") send(response, models, "application/json");
    else if (/"stream"\s*:\s*true/.test(Buffer.concat(pieces).toString())) send(response, stream, "text/event-stream");
    else send(response, whole, "application/json");
  });
});

function send(response: ServerResponse, text: string, type: string): void {
  const answer = () =>
    response.writeHead(200, { "content-type": type, "content-length": Buffer.byteLength(text) }).end(text);
  if (delayMs > 0) setTimeout(answer, delayMs);
  else answer();
}

server.keepAliveTimeout = 60_000; // connections must not close while a peer uses them
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once("SIGTERM", () => process.exit());
