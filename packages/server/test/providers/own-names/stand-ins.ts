/** Every provider at its own host name, over TLS and HTTP/2, in one process that records what each is sent. */
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import {
  chatAnswer,
  falQueued,
  geminiAnswer,
  messagesAnswer,
  MP4,
  openaiImages,
  PNG,
  replicatePrediction,
  responsesAnswer,
} from "../provider-answers.ts";

export interface Sent {
  readonly method: string;
  /** Host and path as the provider sees them. */
  readonly to: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Hosts for files that providers link to. */
export const FILE_HOSTS = ["v3.fal.media", "replicate.delivery"];

type Request = Http2ServerRequest | IncomingMessage;

const HOP = /^(?::|host$|connection$|content-length$|transfer-encoding$|accept|user-agent$|sec-)/;

export async function startStandIns(
  address: string,
  certificate: { readonly key: string; readonly cert: string },
): Promise<readonly Sent[]> {
  const sent: Sent[] = [];
  const handle = (scheme: string) => async (request: Request, response: Http2ServerResponse | ServerResponse) => {
    const host = String(request.headers[":authority"] ?? request.headers.host);
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    const text = Buffer.concat(pieces).toString("utf8");
    const headers = Object.entries(request.headers).filter(([name]) => !HOP.test(name));
    const { method = "", url: path = "" } = request;
    sent.push({
      method,
      to: `${host}${path}`,
      headers: Object.fromEntries(headers.map(([name, value]) => [name, String(value)])),
      body: text === "" ? null : (JSON.parse(text) as unknown),
    });
    const answer = answerOf(`${scheme}://${host}`, method, path);
    response.statusCode = answer.status ?? 200;
    response.setHeader("content-type", answer.bytes === undefined ? "application/json" : "application/octet-stream");
    (response as ServerResponse).end(answer.bytes ?? JSON.stringify(answer.json));
  };
  const secure = createSecureServer({ ...certificate, allowHTTP1: true }, (request, response) => {
    void handle("https")(request, response);
  });
  const plain = createServer((request, response) => void handle("http")(request, response));
  await new Promise<void>((resolve) => secure.listen(443, address, resolve));
  await new Promise<void>((resolve) => plain.listen(11_434, "127.0.0.1", resolve)); // where Ollama listens
  return sent;
}

interface Answer {
  readonly status?: number;
  readonly json?: unknown;
  readonly bytes?: Buffer;
}

function answerOf(origin: string, method: string, path: string): Answer {
  const isVideo = /video|ray-2/.test(path);
  if (FILE_HOSTS.some((host) => origin.endsWith(host))) return { bytes: isVideo ? MP4 : PNG };
  if (path.endsWith("/models")) return { json: { object: "list", data: [{ id: "llama3.2:latest", object: "model" }] } };
  if (path.endsWith("/chat/completions")) return { json: chatAnswer() };
  if (path.endsWith("/responses")) return { json: responsesAnswer() };
  if (path.endsWith("/messages")) return { json: messagesAnswer() };
  if (path.includes("/images/")) return { json: openaiImages() };
  if (path.includes(":generateContent")) return { json: geminiAnswer({ isImage: /image|banana/.test(path) }) };
  if (origin.endsWith("queue.fal.run")) return falAnswer(origin, method, path);
  const kind = isVideo ? "video" : "picture";
  const get = `${origin}/v1/predictions/${kind}`;
  if (method === "POST") return { status: 201, json: replicatePrediction(get, "starting", null) };
  return { json: replicatePrediction(get, "succeeded", `https://replicate.delivery/${path.split("/").at(-1)}`) };
}

function falAnswer(origin: string, method: string, path: string): Answer {
  const isVideo = path.includes("ray-2") || path.endsWith("/video") || path.includes("/video/");
  const job = `${origin}/fal-ai/requests/${isVideo ? "video" : "picture"}`;
  if (method === "POST") return { json: falQueued(job) };
  if (path.endsWith("/status")) return { json: { status: "COMPLETED", request_id: "1" } };
  const file = { url: `https://v3.fal.media/files/${isVideo ? "video" : "picture"}`, content_type: "x/y" };
  return { json: isVideo ? { video: file } : { images: [file], has_nsfw_concepts: [false] } };
}
