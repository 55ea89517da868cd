import { ownEndpoint, type Endpoint, type TextAnswer } from "../../http/endpoint.ts";
import type { Sessions } from "./sessions.ts";
import type { AuditAuth } from "./sign-in-audit.ts";

const METHODS = ["GET", "POST"] as const;
const BODY_BYTES_MAX = 64 * 1024;
/** These describe the connection, not the request; Node sets its own. */
const HOP_HEADERS = new Set(["connection", "transfer-encoding", "content-length", "keep-alive", "upgrade", "expect"]);

/**
 * Everything under /manage/auth in better-auth's own form: its paths, statuses, and bodies, which are not envelopes.
 * Pages sign in and out here; everything a signed-in person does is under /manage/v1.
 */
export function authEndpoint(
  { sessions, auditAuth }: { readonly sessions: Pick<Sessions, "handle">; readonly auditAuth: AuditAuth },
  publicUrl: () => string,
): Endpoint {
  return ownEndpoint({
    method: METHODS,
    path: "/manage/auth/*",
    bodyBytesMax: BODY_BYTES_MAX,
    takesBytes: true,
    handle: async ({ body }, context): Promise<TextAnswer> => {
      const { method = "GET", url = "", headers } = context.request;
      const sent = new Headers();
      for (const [name, value] of Object.entries(headers)) {
        if (HOP_HEADERS.has(name)) continue;
        for (const one of [value ?? []].flat()) sent.append(name, one);
      }
      const hasBody = method === "POST" && body instanceof Uint8Array;
      const request = new Request(new URL(url, publicUrl()), {
        method: method === "HEAD" ? "GET" : method,
        headers: sent,
        ...(hasBody ? { body: Uint8Array.from(body) } : {}),
      });
      const { address, requestId } = context;
      const answer = () => sessions.handle(request, address);
      return toAnswer(await auditAuth({ request, address, requestId }, answer));
    },
  });
}

async function toAnswer(response: Response): Promise<TextAnswer> {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of response.headers) if (!HOP_HEADERS.has(name)) headers[name] = value;
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) headers["set-cookie"] = cookies;
  const text = await response.text();
  const isJson = headers["content-type"]?.toString().startsWith("application/json") === true;
  return { status: response.status, text: isJson ? withoutTokens(text) : text, headers };
}

/** A session's token is only in its cookie, which no script of a page can read. */
function withoutTokens(json: string): string {
  if (json === "") return json;
  return JSON.stringify(JSON.parse(json), (name, value) => (name === "token" ? undefined : value));
}
