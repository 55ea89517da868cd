/** A provider's network in a test: each address responds as its provider would, and requests are recorded. */
import { featuresOf } from "../../src/models/index.ts";
import type { CatalogueEntry } from "../../src/models/catalogue/catalogue.ts";
import type { Transport } from "../../src/models/providers/transport.ts";
import {
  chatAnswer,
  falQueued,
  geminiAnswer,
  messagesAnswer,
  openaiImages,
  PNG,
  replicatePrediction,
  responsesAnswer,
} from "./provider-answers.ts";

export interface Captured {
  readonly request: string;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

export function captureTransport(captured: Captured[]): Transport {
  return {
    fetchWithin: () => async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      const method = init?.method ?? "GET";
      if (method === "POST") {
        captured.push({
          request: `POST ${url.href}`,
          headers: shownHeaders(init?.headers),
          body: await shownBody(init),
        });
      }
      return answer(url);
    },
    fetchFile: async () => {
      throw new Error("nothing is finished here");
    },
    close: async () => {},
  };
}

function answer(url: URL): Response {
  if (url.pathname.endsWith("/chat/completions")) return Response.json(chatAnswer());
  if (url.pathname.endsWith("/images/generations")) return Response.json(openaiImages());
  if (url.host === "api.openai.com") {
    if (url.pathname.includes("/images/")) return Response.json(openaiImages());
    return Response.json(responsesAnswer());
  }
  if (url.host === "api.anthropic.com") return Response.json(messagesAnswer());
  if (url.pathname.endsWith(":predictLongRunning")) return Response.json({ name: "models/veo/operations/1" });
  if (url.pathname.endsWith(":generateContent"))
    return Response.json(geminiAnswer({ isImage: /image|banana/.test(url.pathname) }));
  if (url.host === "queue.fal.run") return Response.json(falQueued(`${url.href}/requests/1`));
  return Response.json(replicatePrediction("https://api.replicate.com/v1/predictions/p1", "starting", null));
}

const SHOWN_HEADERS = ["content-type", "idempotency-key", "cancel-after", "x-fal-request-timeout", "anthropic-version"];

function shownHeaders(headers: RequestInit["headers"]): Record<string, string> {
  const all = new Headers(headers);
  const shown = SHOWN_HEADERS.flatMap((name) => {
    const value = all.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  const key = [...all.entries()].find(([, value]) => value.includes("secret-key"));
  return { ...Object.fromEntries(shown), ...(key === undefined ? {} : { [key[0]]: key[1] }) };
}

async function shownBody(init: RequestInit | undefined): Promise<unknown> {
  const body = init?.body ?? null;
  if (typeof body === "string") return shorten(JSON.parse(body));
  if (!(body instanceof FormData)) return null;
  const fields = [...body.entries()].map(async ([name, value]): Promise<[string, unknown]> => [
    name,
    value instanceof Blob ? `${value.type}, ${(await value.arrayBuffer()).byteLength} bytes` : value,
  ]);
  return Object.fromEntries(await Promise.all(fields));
}

/** Image bytes as their length, so that a golden file stays readable. */
function shorten(value: unknown): unknown {
  if (typeof value === "string")
    return value.includes(PNG.toString("base64"))
      ? value.replace(/[A-Za-z0-9+/=]{60,}/, `<${PNG.length} bytes>`)
      : value;
  if (Array.isArray(value)) return value.map(shorten);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shorten(member)]));
}

/** Every setting that publishing accepts for a text model. */
export function acceptedSettings(entry: CatalogueEntry) {
  const features = featuresOf(entry);
  if (features === null) throw new Error("A model for text has features.");
  return {
    ...(features.temperatureMax === null ? {} : { temperature: 0.25 }),
    ...(features.topP && (features.both || features.temperatureMax === null) ? { topP: 0.75 } : {}),
    ...(features.seed ? { seed: 4_711 } : {}),
    ...(features.stopMax === 0 ? {} : { stop: ["THE END"] }),
  };
}
