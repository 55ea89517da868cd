/**
 * All providers at one address, for whole processes that reach it through their base URL settings. Videos, Gemini images,
 * and Replicate follow the providers' documentation; everything else is passed to a mock, if one is given.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { json, type Received } from "./own-server.ts";
import { falQueued, geminiAnswer, MP4, PNG, replicatePrediction } from "./provider-answers.ts";

export interface ProviderDouble {
  readonly url: string;
  readonly received: readonly Received[];
  /** Submitted jobs, by number from 1. */
  readonly submissions: readonly number[];
  /** State requests, by job number. */
  readonly polls: readonly number[];
  /** Canceled jobs, one entry per request, with the authorization. */
  readonly cancels: readonly Cancel[];
  /** Finishes jobs from now on; until then they are in progress. */
  finishJobs(): void;
  /** Answers this many state requests with 503. */
  failPolls(count: number): void;
  /** Answers every request with 401 and this message, until null. */
  refuseAll(words: string | null): void;
  close(): Promise<void>;
}

export interface Cancel {
  readonly number: number;
  readonly method: string;
  readonly authorization: string | undefined;
}

export interface ProviderDoubleOptions {
  /** Handles interfaces that this double does not support. */
  readonly mockUrl?: string;
  /** The content of every video. */
  readonly video?: () => Readable;
}

export async function startProviderDouble(options: ProviderDoubleOptions = {}): Promise<ProviderDouble> {
  const received: Received[] = [];
  const state: State = {
    url: "",
    submissions: [],
    polls: [],
    cancels: [],
    isFinished: false,
    failing: 0,
    refusal: null,
  };
  const server = createServer((request, response) => {
    void read(request)
      .then((seen) => {
        received.push(seen);
        return answer(seen, response, { ...options, state });
      })
      .catch(() => response.destroy()); // the other side hung up
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: state.url,
    received,
    submissions: state.submissions,
    polls: state.polls,
    cancels: state.cancels,
    finishJobs: () => void (state.isFinished = true),
    failPolls: (count) => void (state.failing = count),
    refuseAll: (words) => void (state.refusal = words),
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function read(request: IncomingMessage): Promise<Received> {
  const { method = "", url: path = "", headers } = request;
  return { method, path, headers, body: Buffer.concat((await request.toArray()) as Buffer[]).toString("utf8") };
}

interface State {
  url: string;
  submissions: number[];
  polls: number[];
  cancels: Cancel[];
  isFinished: boolean;
  failing: number;
  refusal: string | null;
}

interface Context extends ProviderDoubleOptions {
  readonly state: State;
}

async function answer(request: Received, response: ServerResponse, context: Context): Promise<void> {
  const { path, method } = request;
  const { state } = context;
  if (state.refusal !== null) return json(response, { error: { message: state.refusal } }, 401);
  if (path.includes("/files/")) return sendFile(path, response, context);
  const job = /jobs\/(\d+)/.exec(path)?.[1];
  if (job !== undefined && path.endsWith("/cancel")) {
    state.cancels.push({ number: Number(job), method, authorization: request.headers.authorization });
    return json(response, { status: "CANCELLATION_REQUESTED" }, 202);
  }
  if (job !== undefined) {
    state.polls.push(Number(job));
    if (state.failing > 0) {
      state.failing -= 1;
      return json(response, { error: "busy" }, 503);
    }
    return sendState(path, response, { number: Number(job), ...state });
  }
  if (isStart(request)) {
    const number = state.submissions.push(state.submissions.length + 1);
    return sendStarted(path, response, { number, ...state });
  }
  if (/gemini-[^/]*(?:image|banana)[^/]*:generateContent/.test(path))
    return json(response, geminiAnswer({ isImage: true }));
  if (method === "GET" && path === "/v1/models") {
    return json(response, { object: "list", data: [{ id: "llama3.2:latest", object: "model" }] });
  }
  if (context.mockUrl === undefined) return json(response, { error: "unknown" }, 404);
  return passOn(request, response, context.mockUrl);
}

function isStart({ method, path, headers }: Received): boolean {
  if (method !== "POST") return false;
  return /\/predictions$|:predictLongRunning$/.test(path) || headers["x-fal-target-host"] === "queue.fal.run";
}

/** A picture's state has a different address, since the response must link to its file. */
function kindOf(path: string): "image" | "video" {
  return /video|wan|luma|ray-2/.test(path) ? "video" : "image";
}

interface Job {
  readonly number: number;
  readonly url: string;
  readonly isFinished: boolean;
}

function sendStarted(path: string, response: ServerResponse, { number, url }: Job): void {
  const name = `jobs/${number}/${kindOf(path)}`;
  if (path.endsWith(":predictLongRunning")) json(response, { name: `jobs/${number}` });
  else if (path.endsWith("/predictions")) {
    json(response, replicatePrediction(`${url}/v1/${name}`, "starting", null), 201);
  } else json(response, falQueued(`${url}/fal/${name}`));
}

function sendState(path: string, response: ServerResponse, { number, url, isFinished }: Job): void {
  if (path.startsWith("/v1beta/")) {
    const uri = `${url}/v1beta/files/${number}.mp4:download?alt=media`;
    const done = { done: true, response: { generateVideoResponse: { generatedSamples: [{ video: { uri } }] } } };
    return json(response, { name: `jobs/${number}`, ...(isFinished ? done : {}) });
  }
  const isVideo = path.includes("/video");
  const file = `files/${number}.${isVideo ? "mp4" : "png"}`;
  if (path.startsWith("/fal/")) {
    if (path.endsWith("/status"))
      return json(response, { status: isFinished ? "COMPLETED" : "IN_PROGRESS" }, isFinished ? 200 : 202);
    const made = { url: `${url}/fal/${file}`, content_type: isVideo ? "video/mp4" : "image/png" };
    return json(response, isVideo ? { video: made } : { images: [made], has_nsfw_concepts: [false] });
  }
  const [status, output] = isFinished ? ["succeeded", `${url}/${file}`] : ["processing", null];
  json(response, replicatePrediction(`${url}${path}`, status ?? "", output ?? null));
}

async function sendFile(path: string, response: ServerResponse, { video }: Context): Promise<void> {
  if (path.includes(".png")) return void response.end(PNG);
  await pipeline(video?.() ?? Readable.from([MP4]), response);
}

async function passOn({ method, path, headers, body }: Received, response: ServerResponse, to: string): Promise<void> {
  const kept = Object.entries(headers).filter(
    ([name]) => !/^(host|connection|content-length|transfer-encoding)$/.test(name),
  );
  const answered = await fetch(to + path, {
    method,
    headers: kept.map(([name, value]): [string, string] => [name, String(value)]),
    body: body === "" ? null : body,
  });
  const type = answered.headers.get("content-type") ?? "application/json";
  response.writeHead(answered.status, { "content-type": type }).end(Buffer.from(await answered.arrayBuffer()));
}
